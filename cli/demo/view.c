/*
 * Each replica is a bar: what it holds, what only others hold, and what has not been added yet. Replicas that agree
 * have the same colour and letter, so that a partition shows as two colours and its end as one. All of it is read from
 * the filters and the network; the clock only paces the drawings.
 */
#include "view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/numbers.h"

#define COLUMNS             78
#define LINES_AROUND        11 /* lines of a drawing besides those of replicas */
#define BAR                 34
#define DIGEST_PREFIX       8
#define TICK_NANOSECONDS    28000000
#define HURRIED_NANOSECONDS 4000000
#define UNHURRIED_TICKS     200

/* ---- terminal -------------------------------------------------------------------------------------------------- */

static bool names_utf8(const char *locale)
{
    return locale && (strstr(locale, "UTF-8") || strstr(locale, "utf8") || strstr(locale, "UTF8"));
}

static bool speaks_unicode(void)
{
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *locale = getenv(names[i]);
        if (locale && *locale)
            return names_utf8(locale);
    }
    return false;
}

static bool has_colours(void)
{
    const char *refusal = getenv("NO_COLOR");
    return !refusal || !*refusal;
}

static bool fits_terminal(uint32_t lines)
{
    struct winsize size;
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
           ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= COLUMNS && size.ws_row > lines;
}

static int64_t nanoseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_for(int64_t nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)nanoseconds}, NULL); /* a signal ends it early, on purpose */
}

/* ---- drawing --------------------------------------------------------------------------------------------------- */

enum colour { PLAIN = 0, BOLD = 1, DIM = 2, RED = 31, GREEN = 32 };
static const int group_colours[] = {36, 33, 35, 34, 31};
#define GROUP_COLOURS (sizeof group_colours / sizeof *group_colours)

static void set_colour(const struct demo_view *view, int colour)
{
    if (view->colours)
        printf("\033[%dm", colour);
}

__attribute__((format(printf, 3, 4))) static void print_coloured(const struct demo_view *view, int colour,
                                                                 const char *format, ...)
{
    va_list values;
    set_colour(view, colour);
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    set_colour(view, PLAIN);
}

static void end_line(struct demo_view *view)
{
    fputs("\033[K\n", stdout);
    view->lines++;
}

static void repeat(const char *glyph, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fputs(glyph, stdout);
}

static const char *glyph(const struct demo_view *view, const char *unicode, const char *ascii)
{
    return view->unicode ? unicode : ascii;
}

static uint32_t cells(double share, uint32_t width)
{
    double rounded = round(share * width);
    return rounded <= 0 ? 0 : rounded >= width ? width : (uint32_t)rounded;
}

static void draw_bar(const struct demo_view *view, int colour, double held, double added)
{
    uint32_t solid = cells(held, BAR), known = cells(added, BAR);
    uint32_t shaded = known > solid ? known - solid : 0;
    set_colour(view, colour);
    repeat(glyph(view, "█", "#"), solid);
    repeat(glyph(view, "▒", "+"), shaded);
    set_colour(view, PLAIN);
    set_colour(view, DIM);
    repeat(glyph(view, "·", "."), BAR - solid - shaded);
    set_colour(view, PLAIN);
}

static void draw_title(struct demo_view *view, const struct demo *demo)
{
    char capacity[THINGS_ROOM], rate[NUMBER_ROOM], loss[NUMBER_ROOM], doubling[NUMBER_ROOM];
    format_things(capacity, demo->config.capacity, "element");
    format_percent(rate, demo->config.fpr, 3);
    format_percent(loss, demo->network.loss, 3);
    format_percent(doubling, demo->network.doubling, 3);
    print_coloured(view, BOLD, " %s, %u replicas, a bad network", demo->act->title, demo->replicas.count);
    end_line(view);
    printf(" created for %s and %s false positives", capacity, rate);
    end_line(view);
    printf(" %s of messages are lost, %s doubled, all delayed by 1 to %u ticks", loss, doubling,
           demo->network.longest_delay);
    end_line(view);
    end_line(view);
}

static void draw_round(struct demo_view *view, const struct demo *demo, uint32_t groups)
{
    const struct demo_round *round = &demo->act->rounds[demo->round];
    printf(" tick %-5llu round %u of %u: ", (unsigned long long)demo->network.now, demo->round + 1,
           demo->act->round_count);
    print_coloured(view, round->cut ? RED : PLAIN, "%s", round->title);
    if (groups == 1)
        print_coloured(view, GREEN, "   all %u agree", demo->replicas.count);
    end_line(view);
    end_line(view);
}

static void draw_header(struct demo_view *view)
{
    set_colour(view, DIM);
    printf("    %s here  %s elsewhere%*s %9s   %-10s %9s", glyph(view, "█", "#"), glyph(view, "▒", "+"), BAR - 19, "",
           "elements", "digest", "sent");
    set_colour(view, PLAIN);
    end_line(view);
}

static void draw_replica(struct demo_view *view, const struct demo *demo, uint32_t index,
                         const struct replica_state *state, uint32_t groups)
{
    const struct replica *replica = &demo->replicas.all[index];
    roost_info info;
    char elements[COUNT_ROOM], sent[COUNT_ROOM], letter[] = {(char)('A' + state->group % 26), '\0'};
    int colour = groups == 1 ? GREEN : group_colours[state->group % GROUP_COLOURS];
    roost_filter_get_info(replica->filter, &info);
    format_count(elements, (uint64_t)llround(info.elements));
    format_bytes(sent, replica->bytes_sent);
    printf(" %2u ", index + 1);
    draw_bar(view, colour, info.elements / (double)demo->elements.total,
             (double)elements_alive(&demo->elements) / (double)demo->elements.total);
    printf(" %9s  ", elements);
    print_coloured(view, colour, "%s %.*s", groups == 1 ? glyph(view, "✓", "=") : letter, DIGEST_PREFIX, state->digest);
    printf(" %10s", sent);
    end_line(view);
}

static void draw_cut(struct demo_view *view)
{
    set_colour(view, RED);
    fputs("    ", stdout);
    repeat(glyph(view, "╌", "-"), BAR / 2 - 4);
    fputs(" cut off ", stdout);
    repeat(glyph(view, "╌", "-"), COLUMNS - 6 - BAR / 2 - 9);
    set_colour(view, PLAIN);
    end_line(view);
}

static void draw_replicas(struct demo_view *view, const struct demo *demo, const struct replica_state *states,
                          uint32_t groups)
{
    bool cut = demo->network.cut_before > 0;
    for (uint32_t i = 0; i < demo->replicas.count; i++) {
        if (cut && i == demo->network.cut_before)
            draw_cut(view);
        draw_replica(view, demo, i, &states[i], groups);
    }
    if (!cut)
        end_line(view);
}

static void draw_bytes(struct demo_view *view, const char *label, uint64_t bytes, uint64_t scale, int colour,
                       const char *remark)
{
    char text[COUNT_ROOM];
    uint32_t width = scale ? cells((double)bytes / (double)scale, BAR) : 0;
    format_bytes(text, bytes);
    printf(" %-14s %9s ", label, text);
    set_colour(view, colour);
    repeat(glyph(view, "▬", "="), bytes && !width ? 1 : width);
    set_colour(view, PLAIN);
    fputs(remark, stdout);
    end_line(view);
}

static void draw_network(struct demo_view *view, const struct demo *demo)
{
    const struct network_counts *counts = &demo->network.counts;
    printf(" messages: %llu sent, %llu lost, %llu cut off, %llu doubled, %llu overtaken",
           (unsigned long long)counts->sent, (unsigned long long)counts->lost, (unsigned long long)counts->cut,
           (unsigned long long)counts->doubled, (unsigned long long)counts->overtaken);
    end_line(view);
    uint64_t full = demo->replicas.bytes_as_full_states;
    char times[NUMBER_ROOM];
    snprintf(times, sizeof times, " %.1f times", counts->bytes ? (double)full / (double)counts->bytes : 1.0);
    draw_bytes(view, "sent as deltas", counts->bytes, full, GREEN, "");
    draw_bytes(view, "as full states", full, full, DIM, times);
}

static void draw(struct demo_view *view, const struct demo *demo)
{
    struct replica_state states[MOST_REPLICAS];
    uint32_t groups = demo_compare_states(demo, states);
    if (view->lines > 0)
        printf("\033[%uA\r", view->lines);
    view->lines = 0;
    draw_title(view, demo);
    draw_round(view, demo, groups);
    draw_header(view);
    draw_replicas(view, demo, states, groups);
    draw_network(view, demo);
    fflush(stdout);
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* " 1 2 3 | 4 5": replicas that agree are grouped. */
static void print_groups(const struct demo *demo, const struct replica_state *states, uint32_t groups)
{
    for (uint32_t group = 0; group < groups; group++) {
        fputs(group > 0 ? " |" : "", stdout);
        for (uint32_t i = 0; i < demo->replicas.count; i++)
            if (states[i].group == group)
                printf(" %u", i + 1);
    }
}

void demo_view_round(const struct demo_view *view, const struct demo *demo)
{
    struct replica_state states[MOST_REPLICAS];
    char elements[THINGS_ROOM];
    if (view->silent || view->live)
        return;
    uint32_t groups = demo_compare_states(demo, states);
    format_things(elements, elements_alive(&demo->elements), "element");
    printf("tick %4llu %18s  agree:", (unsigned long long)demo->network.now, elements);
    print_groups(demo, states, groups);
    printf("  (%s)\n", demo->act->rounds[demo->round].title);
    fflush(stdout);
}

/* ---- view ------------------------------------------------------------------------------------------------------ */

static void print_title(const struct demo *demo)
{
    char loss[NUMBER_ROOM];
    format_percent(loss, demo->network.loss, 3);
    printf("%s, %u replicas, %s of messages are lost\n", demo->act->title, demo->replicas.count, loss);
}

void demo_view_open(struct demo_view *view, const struct demo *demo, bool silent, bool plain)
{
    *view = (struct demo_view){.silent = silent, .colours = has_colours(), .unicode = speaks_unicode()};
    view->live = !silent && !plain && fits_terminal(demo->replicas.count + LINES_AROUND);
    view->due = nanoseconds_now();
    if (view->live)
        fputs("\033[?25l", stdout); /* hides the terminal's cursor */
    else if (!silent)
        print_title(demo);
}

void demo_view_close(struct demo_view *view)
{
    if (view->live)
        fputs("\033[?25h\n", stdout);
}

void demo_view_tick(struct demo_view *view, const struct demo *demo, bool last)
{
    if (!view->live)
        return;
    view->due += demo->network.now <= UNHURRIED_TICKS ? TICK_NANOSECONDS : HURRIED_NANOSECONDS;
    int64_t early = view->due - nanoseconds_now();
    view->skipped = early <= 0 && !last && !view->skipped; /* if late, skips every other drawing */
    if (!view->skipped)
        draw(view, demo);
    if (early > 0)
        pause_for(early);
}
