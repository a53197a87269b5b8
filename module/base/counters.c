#include "counters.h"

#include <time.h>

static struct slow_path_count slow[SLOW_PATHS];
static uint64_t counters[COUNTERS];

uint64_t microseconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void add(uint64_t *number, uint64_t more)
{
    __atomic_add_fetch(number, more, __ATOMIC_RELAXED);
}

static uint64_t value_of(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *number, uint64_t least)
{
    uint64_t seen = value_of(number);
    while (seen < least &&
           !__atomic_compare_exchange_n(number, &seen, least, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

void count_slow(enum slow_path path, uint64_t microseconds)
{
    add(&slow[path].times, 1);
    add(&slow[path].microseconds, microseconds);
    raise_to(&slow[path].longest, microseconds);
}

struct slow_path_count slow_path_counted(enum slow_path path)
{
    const struct slow_path_count *count = &slow[path];
    return (struct slow_path_count){value_of(&count->times), value_of(&count->microseconds), value_of(&count->longest)};
}

void count_one(enum counter counter)
{
    add(&counters[counter], 1);
}

uint64_t counted(enum counter counter)
{
    return value_of(&counters[counter]);
}

void count_refusal(roost_status status)
{
    switch (status) {
    case ROOST_NO_MEMORY:
    case ROOST_TOO_LARGE:
        count_one(REFUSED_MEMORY);
        break;
    case ROOST_NOT_FRAME:
    case ROOST_UNSUPPORTED_VERSION:
    case ROOST_TRUNCATED:
    case ROOST_CORRUPT:
    case ROOST_PROTOCOL:
        count_one(REFUSED_PAYLOADS);
        break;
    default:
        break;
    }
}
