/* See timed.h. */
#include "timed.h"

#include <stdio.h>

#include "module/base/settings.h"

#define MICROSECONDS    1000 /* in a millisecond */
#define BASE_BYTES      32768
#define JOURNAL_BYTES   (256 * 17) /* a longer one only if there is room */
#define SLOT_OVERHEAD   64         /* one byte for this many bytes of bits in a slot, */
#define SLOT_BASE_BYTES 8192

roost_config timed_config(roost_kind kind, long long window)
{
    roost_config config = roost_window_config_default(kind, (uint64_t)window * MICROSECONDS);
    config.capacity = (uint64_t)settings.window_capacity;
    config.fpr = settings.window_fpr;
    return config;
}

static roost_config last; /* that was created, with all sizes */

void timed_recall_sizes(roost_config *config)
{
    if (config->window == 0 || config->capacity != last.capacity || config->fpr != last.fpr ||
        config->past != last.past || config->layout != last.layout)
        return;
    config->slot_bits = last.slot_bits;
    config->slot_probes = last.slot_probes;
}

void timed_note_sizes(const roost_config *resolved)
{
    if (resolved->window)
        last = *resolved;
}

uint64_t timed_now(void)
{
    return (uint64_t)RedisModule_Milliseconds() * MICROSECONDS;
}

/* The latest time that may be merged. */
static uint64_t latest_of(const roost_filter *filter)
{
    uint64_t ahead = (uint64_t)settings.window_ahead * MICROSECONDS, window = roost_filter_get_config(filter)->window;
    return timed_now() + (ahead < window ? ahead : window);
}

void timed_bound(roost_filter *filter, bool bounded)
{
    if (is_timed(filter))
        roost_window_set_latest(filter, bounded ? latest_of(filter) : 0);
}

bool timed_is_ahead(const roost_filter *filter)
{
    roost_window_info info;
    if (!is_timed(filter))
        return false;
    roost_window_get_info(filter, &info);
    return info.newest > latest_of(filter);
}

const char *timed_clock_error(const roost_filter *filter)
{
    static char text[160];
    roost_window_info info;
    roost_window_get_info(filter, &info);
    uint64_t now = timed_now(), ahead = info.newest > now ? (info.newest - now) / MICROSECONDS / 1000 : 0;
    snprintf(text, sizeof text,
             "ERR the clock is wrong: the key holds times that are %llu s ahead of it, which is more than its window",
             (unsigned long long)ahead);
    return text;
}

uint64_t timed_grant(const roost_filter *filter)
{
    const roost_config *config = roost_filter_get_config(filter);
    if (!is_timed(filter) || config->scalable)
        return 0;
    uint64_t bits = config->slot_bits / 8, slot = bits + bits / SLOT_OVERHEAD + SLOT_BASE_BYTES;
    return BASE_BYTES + JOURNAL_BYTES + (config->past + 3) * slot;
}

void timed_contains(const roost_filter *filter, bool *found, const roost_bytes *keys, size_t count)
{
    if (is_timed(filter)) {
        uint64_t now = timed_now();
        for (size_t i = 0; i < count; i++)
            found[i] = roost_window_contains(filter, keys[i].data, keys[i].size, now);
    } else if (count == 1) {
        *found = roost_filter_contains(filter, keys->data, keys->size);
    } else {
        roost_filter_contains_many(filter, found, keys, count);
    }
}
