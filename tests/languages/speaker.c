/* The filters of same_bytes.py in C: speaker FOLDER NAME SECONDS make, or ... merge OTHER... */
#include "speaker.h"

static const char *folder, *speaker;
static uint64_t now; /* microseconds */

static void check(roost_status status)
{
    insist(status == ROOST_OK, roost_status_text(status));
}

static void leave(roost_filter *filter, const char *form, const char *stage)
{
    roost_buffer frame = {0};
    char digest[33];
    check(roost_filter_encode(filter, &frame));
    roost_digest_text(roost_filter_digest(filter), digest);
    write_stage(path_of(folder, form, speaker, stage), frame.data, frame.size, digest);
    roost_buffer_release(&frame);
}

static void add(roost_filter *filter, roost_bytes key)
{
    if (roost_filter_get_config(filter)->kind == ROOST_WINDOW)
        check(roost_window_add(filter, NULL, key.data, key.size, now));
    else
        check(roost_filter_add(filter, NULL, key.data, key.size));
}

static void add_rest(roost_filter *filter, const roost_bytes *keys, size_t count)
{
    static bool seen[MOST_KEYS];
    if (roost_filter_get_config(filter)->kind == ROOST_WINDOW)
        check(roost_window_add_many(filter, seen, NULL, keys, count, now));
    else
        check(roost_filter_add_many(filter, NULL, NULL, keys, count));
}

static void add_own(roost_filter *filter)
{
    for (int i = 0; i < OWN_KEYS; i++) {
        const char *key = own_key(speaker, i);
        add(filter, (roost_bytes){key, strlen(key)});
    }
    const char *first = own_key(speaker, 0);
    if (roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO)
        check(roost_filter_remove(filter, NULL, first, strlen(first)));
}

static void count_own(roost_filter *counter)
{
    for (int i = 0; i < OWN_IDS; i++) {
        const char *id = own_key(speaker, i);
        bool applied = false;
        check(roost_counter_increment(counter, &applied, NULL, id, strlen(id), i + 1, now));
        insist(applied, id);
    }
}

static void make(const char *form, const roost_config *config)
{
    static roost_bytes keys[MOST_KEYS];
    roost_filter *filter;
    size_t count = read_keys(folder, keys);
    check(roost_filter_new(&filter, config, NULL));
    leave(filter, form, "empty");
    if (config->kind == ROOST_COUNTER) {
        count_own(filter);
    } else {
        for (size_t i = 0; i < ONE_BY_ONE; i++)
            add(filter, keys[i]);
        add_rest(filter, keys + ONE_BY_ONE, count - ONE_BY_ONE);
        leave(filter, form, "same");
        add_own(filter);
    }
    leave(filter, form, "own");
    roost_filter_free(filter);
}

static void merge(const char *form, char **others)
{
    roost_bytes own = read_whole(path_of(folder, form, speaker, "own"));
    roost_filter *filter;
    check(roost_filter_decode(&filter, (const char *)own.data + 32, own.size - 32, NULL));
    for (; *others; others++) {
        roost_bytes other = read_whole(path_of(folder, form, *others, "own"));
        check(roost_filter_merge_frame(filter, NULL, (const char *)other.data + 32, other.size - 32));
    }
    leave(filter, form, "merged");
    roost_filter_free(filter);
}

static void speak(const char *form, const roost_config *config, char **words)
{
    if (strcmp(words[4], "make") == 0)
        make(form, config);
    else
        merge(form, words + 5);
}

int main(int count, char **words)
{
    insist(count >= 5, "usage: speaker FOLDER NAME SECONDS make|merge [OTHER...]");
    folder = words[1], speaker = words[2], now = strtoull(words[3], NULL, 10) * 1000000;
    for_each_form(folder, speak, words);
    return 0;
}
