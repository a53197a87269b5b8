/*
 * strtod and strtoull accept too much (blanks, signs, "inf", hexadecimal floats, the decimal point of the locale), and
 * overflow is easy to miss. Options must be exact: a capacity of 1e19 is not 2^64 - 1, and 0.1% must be the same double
 * as 0.001.
 */
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SHARE    64
#define LARGEST_EXPONENT 400
#define LEAST_SHARE      1e-6  /* that is written as a percentage */
#define LEAST_PERCENTAGE 1e-5  /* of rates */
#define LEAST_RATE       1e-15 /* that is written */
#define RATE_DIGITS      3

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* digits [. digits] [e [sign] digits], from the front of a text; value = digits * 10^exponent. */
struct decimal {
    const char *mantissa_end, *end;
    uint64_t digits;
    int exponent, written_exponent; /* with and without the digits behind the decimal point */
    bool fits;                      /* the digits, in 64 bits */
};

static void take_digit(struct decimal *decimal, char c)
{
    uint64_t digit = (uint64_t)(c - '0');
    decimal->fits = decimal->fits && !__builtin_mul_overflow(decimal->digits, 10u, &decimal->digits) &&
                    !__builtin_add_overflow(decimal->digits, digit, &decimal->digits);
}

static bool read_mantissa(struct decimal *decimal, const char **text)
{
    int seen = 0;
    for (; is_digit(**text); ++*text, seen++)
        take_digit(decimal, **text);
    if (**text == '.')
        for (++*text; is_digit(**text); ++*text, seen++, decimal->exponent--)
            take_digit(decimal, **text);
    decimal->mantissa_end = *text;
    return seen > 0;
}

static bool read_exponent(struct decimal *decimal, const char **text)
{
    if (**text != 'e' && **text != 'E')
        return true;
    int sign = (*text)[1] == '-' ? -1 : 1, exponent = 0;
    *text += (*text)[1] == '-' || (*text)[1] == '+' ? 2 : 1;
    if (!is_digit(**text))
        return false;
    for (; is_digit(**text); ++*text)
        exponent = exponent < LARGEST_EXPONENT ? exponent * 10 + (**text - '0') : exponent;
    decimal->written_exponent = sign * exponent;
    decimal->exponent += decimal->written_exponent;
    return true;
}

static bool read_decimal(struct decimal *decimal, const char *text)
{
    *decimal = (struct decimal){.fits = true};
    bool fine = read_mantissa(decimal, &text) && read_exponent(decimal, &text);
    decimal->end = text;
    return fine;
}

static bool take_suffix(struct decimal *decimal)
{
    switch (*decimal->end) {
    case 'k':
    case 'K':
        decimal->exponent += 3;
        break;
    case 'M':
        decimal->exponent += 6;
        break;
    case 'G':
        decimal->exponent += 9;
        break;
    default:
        return *decimal->end == '\0';
    }
    return decimal->end[1] == '\0';
}

bool parse_count(uint64_t *count, const char *text)
{
    struct decimal decimal;
    if (!read_decimal(&decimal, text) || !take_suffix(&decimal) || !decimal.fits)
        return false;
    for (; decimal.exponent > 0 && decimal.digits > 0; decimal.exponent--)
        if (__builtin_mul_overflow(decimal.digits, 10u, &decimal.digits))
            return false;
    for (; decimal.exponent < 0 && decimal.digits > 0; decimal.exponent++) {
        if (decimal.digits % 10 != 0)
            return false;
        decimal.digits /= 10;
    }
    *count = decimal.digits;
    return true;
}

/* A percent sign moves the decimal point in the text, before anything is rounded. */
bool parse_share(double *share, const char *text)
{
    struct decimal decimal;
    char shifted[LONGEST_SHARE + 32];
    bool well_formed = read_decimal(&decimal, text);
    bool percent = well_formed && *decimal.end == '%';
    if (!well_formed || decimal.end[percent] != '\0' || decimal.mantissa_end - text > LONGEST_SHARE)
        return false;
    int size = (int)(decimal.mantissa_end - text);
    snprintf(shifted, sizeof shifted, "%.*se%d", size, text, decimal.written_exponent - (percent ? 2 : 0));
    *share = strtod(shifted, NULL);
    return true;
}

static const struct time_unit {
    const char *name;
    uint64_t microseconds;
} time_units[] = {{"d", UINT64_C(86400000000)},
                  {"h", UINT64_C(3600000000)},
                  {"m", 60000000},
                  {"s", 1000000},
                  {"ms", 1000},
                  {"us", 1},
                  {"", 1000000}};
#define TIME_UNITS (sizeof time_units / sizeof *time_units)

static uint64_t time_unit(const char *name)
{
    for (size_t i = 0; i < TIME_UNITS; i++)
        if (strcmp(time_units[i].name, name) == 0)
            return time_units[i].microseconds;
    return 0;
}

bool parse_duration(uint64_t *microseconds, const char *text)
{
    struct decimal decimal;
    if (!read_decimal(&decimal, text) || !decimal.fits)
        return false;
    unsigned __int128 value = (unsigned __int128)decimal.digits * time_unit(decimal.end);
    if (time_unit(decimal.end) == 0)
        return false;
    for (; decimal.exponent > 0 && value > 0 && value <= UINT64_MAX; decimal.exponent--)
        value *= 10;
    for (; decimal.exponent < 0 && value > 0; decimal.exponent++)
        value /= 10;
    *microseconds = (uint64_t)value;
    return value <= UINT64_MAX;
}

bool parse_amount(int64_t *amount, const char *text)
{
    uint64_t count;
    bool negative = *text == '-';
    if (!parse_count(&count, text + (*text == '-' || *text == '+')) || count > (uint64_t)INT64_MAX)
        return false;
    *amount = negative ? -(int64_t)count : (int64_t)count;
    return true;
}

static int digit_value(char c)
{
    const char *digits = "0123456789abcdef";
    char lower = c >= 'A' && c <= 'F' ? (char)(c + 32) : c;
    const char *found = lower ? strchr(digits, lower) : NULL;
    return found ? (int)(found - digits) : 16;
}

bool parse_seed(uint64_t *seed, const char *text)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    int base = hexadecimal ? 16 : 10;
    text += hexadecimal ? 2 : 0;
    *seed = 0;
    const char *begin = text;
    for (; *text; text++) {
        int value = digit_value(*text);
        if (value >= base || __builtin_mul_overflow(*seed, (unsigned)base, seed) ||
            __builtin_add_overflow(*seed, (unsigned)value, seed))
            return false;
    }
    return text != begin;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

void format_count(char text[COUNT_ROOM], uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    for (int i = 0; i < size; i++) {
        *text++ = digits[i];
        if (i + 1 < size && (size - i - 1) % 3 == 0)
            *text++ = ',';
    }
    *text = '\0';
}

void format_things(char text[THINGS_ROOM], uint64_t count, const char *thing)
{
    char number[COUNT_ROOM];
    size_t stem = strlen(thing);
    const char *ending = "s";
    format_count(number, count);
    if (count == 1)
        ending = "";
    else if (thing[stem - 1] == 'x')
        ending = "es";
    else if (thing[stem - 1] == 'y' && !strchr("aeiou", thing[stem - 2]))
        ending = "ies", stem--;
    snprintf(text, THINGS_ROOM, "%s %.*s%s", number, (int)stem, thing, ending);
}

void format_duration(char text[COUNT_ROOM], uint64_t microseconds)
{
    const struct time_unit *unit = time_units;
    while (unit->microseconds > 1 && microseconds < unit->microseconds)
        unit++;
    snprintf(text, COUNT_ROOM, "%.6g %s", (double)microseconds / (double)unit->microseconds, unit->name);
}

void format_exact_duration(char text[COUNT_ROOM], uint64_t microseconds)
{
    const struct time_unit *unit = time_units;
    while (microseconds % unit->microseconds != 0)
        unit++;
    snprintf(text, COUNT_ROOM, "%llu %s", (unsigned long long)(microseconds / unit->microseconds), unit->name);
}

void format_bytes(char text[COUNT_ROOM], uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, COUNT_ROOM, "%.*f %s", decimals, value, units[unit]);
}

void format_shortest(char text[NUMBER_ROOM], double number)
{
    char tried[NUMBER_ROOM];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(tried, sizeof tried, "%.*g", digits, number);
        if (strtod(tried, NULL) == number)
            break;
    }
    strcpy(text, tried);
}

void format_percent(char text[NUMBER_ROOM], double share, int digits)
{
    if (share > 0 && share < LEAST_SHARE)
        snprintf(text, NUMBER_ROOM, "under 0.0001 %%");
    else
        snprintf(text, NUMBER_ROOM, "%.*g %%", digits, share * 100);
}

/* The number of "1 in so many" is rounded to as many digits as a percentage has. */
void format_rate(char text[NUMBER_ROOM], double rate)
{
    char count[COUNT_ROOM];
    double unit = 1;
    if (rate == 0 || rate >= LEAST_PERCENTAGE) {
        format_percent(text, rate, RATE_DIGITS);
        return;
    }
    if (rate < LEAST_RATE) {
        snprintf(text, NUMBER_ROOM, "under 1 in 10^15");
        return;
    }
    while (1 / rate / unit >= 999.5)
        unit *= 10;
    format_count(count, (uint64_t)(1 / rate / unit + 0.5) * (uint64_t)unit);
    snprintf(text, NUMBER_ROOM, "1 in %.26s", count);
}
