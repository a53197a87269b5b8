/* What bench/python.py compares the Python package with: the same calls in C, nanoseconds of processor a key.
   Usage: python-calls KIND KEYS ROUNDS; prints "what nanoseconds" lines, the least of the rounds. */
#include <roost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double least(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t count = strtoull(argv[2], NULL, 10);
    int rounds = atoi(argv[3]);
    double one_add = 0, one_contains = 0, many_add = 0, many_contains = 0;
    roost_config config = roost_config_default();
    config.kind = strcmp(argv[1], "bloom") == 0 ? ROOST_BLOOM : ROOST_CUCKOO;
    config.capacity = config.kind == ROOST_BLOOM ? count : 0;
    config.scalable = config.kind != ROOST_BLOOM;
    char(*texts)[16] = calloc(count, 16);
    uint64_t *numbers = calloc(count, sizeof *numbers);
    roost_bytes *keys = calloc(count, sizeof *keys), *words = calloc(count, sizeof *words);
    bool answers[1024];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = i;
        keys[i] = (roost_bytes){texts[i], (size_t)snprintf(texts[i], 16, "key %zu", i)};
        words[i] = (roost_bytes){&numbers[i], 8};
    }
    for (int round = 0; round < rounds; round++) {
        roost_filter *filter;
        if (roost_filter_new(&filter, &config, NULL))
            return 1;
        double begin = now();
        for (size_t i = 0; i < count; i++)
            if (roost_filter_add(filter, NULL, keys[i].data, keys[i].size))
                return 1;
        one_add = least(one_add, now() - begin);
        begin = now();
        for (size_t i = 0; i < count; i++)
            found += roost_filter_contains(filter, keys[i].data, keys[i].size);
        one_contains = least(one_contains, now() - begin);
        roost_filter_free(filter);
        if (roost_filter_new(&filter, &config, NULL))
            return 1;
        begin = now();
        for (size_t i = 0; i < count; i += 1024) {
            size_t done, some = count - i < 1024 ? count - i : 1024;
            if (roost_filter_add_many(filter, answers, &done, words + i, some))
                return 1;
        }
        many_add = least(many_add, now() - begin);
        begin = now();
        for (size_t i = 0; i < count; i += 1024) {
            roost_filter_contains_many(filter, answers, words + i, count - i < 1024 ? count - i : 1024);
            found += answers[0];
        }
        many_contains = least(many_contains, now() - begin);
        roost_filter_free(filter);
    }
    printf("add %f\ncontains %f\nupdate %f\ncontains_many %f\n", one_add / (double)count, one_contains / (double)count,
           many_add / (double)count, many_contains / (double)count);
    return found < count;
}
