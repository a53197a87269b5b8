#include "config_difference.h"

#include <stdio.h>
#include <string.h>

#include "kinds.h"

static bool differ_in_word(struct difference *difference, const char *field, const char *ours, const char *theirs)
{
    difference->field = field;
    snprintf(difference->ours, NUMBER_ROOM, "%s", ours);
    snprintf(difference->theirs, NUMBER_ROOM, "%s", theirs);
    return strcmp(ours, theirs) != 0;
}

bool differ_in_count(struct difference *difference, const char *field, uint64_t ours, uint64_t theirs)
{
    difference->field = field;
    snprintf(difference->ours, NUMBER_ROOM, "%llu", (unsigned long long)ours);
    snprintf(difference->theirs, NUMBER_ROOM, "%llu", (unsigned long long)theirs);
    return ours != theirs;
}

static bool differ_in_mode(struct difference *difference, bool ours, bool theirs)
{
    return differ_in_word(difference, "mode", ours ? "multiset" : "set", theirs ? "multiset" : "set");
}

static bool differ_in_growth(struct difference *difference, const roost_config *ours, const roost_config *theirs)
{
    return differ_in_count(difference, "writers", ours->writers, theirs->writers) ||
           differ_in_count(difference, "growth", ours->growth, theirs->growth) ||
           (ours->schedule && theirs->schedule &&
            differ_in_word(difference, "schedule", schedule_name(ours->schedule), schedule_name(theirs->schedule)));
}

static bool differ_in_rate(struct difference *difference, double ours, double theirs)
{
    difference->field = "fpr";
    format_shortest(difference->ours, ours);
    format_shortest(difference->theirs, theirs);
    return ours != theirs;
}

static bool differ_in_seed(struct difference *difference, uint64_t ours, uint64_t theirs)
{
    difference->field = "seed";
    snprintf(difference->ours, NUMBER_ROOM, "0x%llx", (unsigned long long)ours);
    snprintf(difference->theirs, NUMBER_ROOM, "0x%llx", (unsigned long long)theirs);
    return ours != theirs;
}

static bool differ_in_time(struct difference *difference, uint64_t ours, uint64_t theirs)
{
    difference->field = "window";
    format_exact_duration(difference->ours, ours);
    format_exact_duration(difference->theirs, theirs);
    return ours != theirs;
}

bool config_difference(struct difference *difference, const roost_config *ours, const roost_config *theirs)
{
    const roost_config *a = ours, *b = theirs;
    return differ_in_word(difference, "kind", kind_name(a->kind), kind_name(b->kind)) ||
           differ_in_word(difference, "size", a->scalable ? "scalable" : "fixed", b->scalable ? "scalable" : "fixed") ||
           (a->layout && b->layout &&
            differ_in_word(difference, "layout", layout_name(a->layout), layout_name(b->layout))) ||
           differ_in_count(difference, "capacity", a->capacity, b->capacity) ||
           differ_in_rate(difference, a->fpr, b->fpr) || differ_in_seed(difference, a->seed, b->seed) ||
           differ_in_time(difference, a->window, b->window) ||
           differ_in_count(difference, "number of past slots", a->past, b->past) ||
           differ_in_mode(difference, a->multiset, b->multiset) ||
           differ_in_word(difference, "semantics", semantics_name(a->semantics), semantics_name(b->semantics)) ||
           (a->entry_bits && b->entry_bits && differ_in_count(difference, "entry", a->entry_bits, b->entry_bits)) ||
           (a->scalable && differ_in_growth(difference, a, b)) ||
           differ_in_count(difference, "bits", a->fingerprint_bits, b->fingerprint_bits) ||
           differ_in_count(difference, "bucket", a->bucket_size, b->bucket_size);
}
