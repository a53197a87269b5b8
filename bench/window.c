/*
 * What a window costs a stream of short ids, as `roost window dedup` uses it: batches of ids as bytes, hashed, looked
 * up in every slot and added, at a rate that fills the window to its capacity.
 *
 * Ids never repeat, which is the worst case: each is looked for in all slots. The window is filled once before the
 * clock starts. Time passes with the ids, so that slots are begun and forgotten on the way, as in a stream.
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

#define IDS_AT_ONCE 4096
#define ID_BYTES    12
#define LENGTH      (600 * ROOST_SECOND)
#define BEGIN       (1700000000 * ROOST_SECOND)

struct stream {
    roost_filter *window;
    uint64_t capacity, next; /* ids in one window; the next one */
    char ids[IDS_AT_ONCE][ID_BYTES];
    roost_bytes keys[IDS_AT_ONCE];
    bool seen[IDS_AT_ONCE];
    uint64_t passed;
};

static void write_ids(struct stream *stream)
{
    for (size_t i = 0; i < IDS_AT_ONCE; i++) {
        uint64_t id = mix(stream->next + i);
        for (size_t digit = 0; digit < ID_BYTES; digit++, id >>= 5)
            stream->ids[i][digit] = "0123456789abcdefghijklmnopqrstuv"[id & 31];
        stream->keys[i] = (roost_bytes){stream->ids[i], ID_BYTES};
    }
}

/* Seconds spent inside the window. */
static double pass(struct stream *stream, uint64_t count)
{
    double spent = 0;
    for (uint64_t done = 0; done < count; done += IDS_AT_ONCE) {
        write_ids(stream);
        uint64_t time = BEGIN + (uint64_t)((double)stream->next / (double)stream->capacity * (double)LENGTH);
        double begin = seconds();
        must(roost_window_add_many(stream->window, stream->seen, NULL, stream->keys, IDS_AT_ONCE, time), "dedup");
        spent += seconds() - begin;
        for (size_t i = 0; i < IDS_AT_ONCE; i++)
            stream->passed += !stream->seen[i];
        stream->next += IDS_AT_ONCE;
    }
    return spent;
}

void bench_window(uint64_t capacity)
{
    double times[MOST_ROUNDS];
    struct stream *stream = calloc(1, sizeof *stream);
    must(stream ? ROOST_OK : ROOST_NO_MEMORY, "a stream");
    roost_config config = roost_window_config_default(ROOST_WINDOW, LENGTH);
    config.capacity = stream->capacity = capacity;
    stream->window = make(&config);
    pass(stream, capacity + capacity / 4);
    uint64_t count = capacity < 2000000 ? 2000000 : capacity / 4;
    count = (count + IDS_AT_ONCE - 1) / IDS_AT_ONCE * IDS_AT_ONCE;
    for (int round = 0; round < rounds; round++)
        times[round] = pass(stream, count) / (double)count * 1e9;
    roost_info info;
    roost_filter_get_info(stream->window, &info);
    report_times("window 1e-6", capacity, "dedup an id", times, 0);
    report_plain("window 1e-6", capacity, "memory", (double)info.bytes_memory * 8 / (double)capacity, "bits/id");
    if (!info.promise_holds || stream->next - stream->passed > 5 + stream->next / 100000)
        must(ROOST_CORRUPT, "the window erred too often");
    roost_filter_free(stream->window);
    free(stream);
}
