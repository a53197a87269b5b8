/* A message about two filters that do not merge names the option in which they differ. */
#include "difference.h"

#include <stdio.h>
#include <string.h>

#include "filter_file.h"
#include "cli/base/kinds.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"

/* The first field in which two configurations differ, with both values as text. */
struct difference {
    const char *field;
    char ours[NUMBER_ROOM], theirs[NUMBER_ROOM];
};

static bool differ_in_word(struct difference *difference, const char *field, const char *ours, const char *theirs)
{
    difference->field = field;
    snprintf(difference->ours, NUMBER_ROOM, "%s", ours);
    snprintf(difference->theirs, NUMBER_ROOM, "%s", theirs);
    return strcmp(ours, theirs) != 0;
}

static bool differ_in_count(struct difference *difference, const char *field, uint64_t ours, uint64_t theirs)
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
           differ_in_word(difference, "schedule", schedule_name(ours->schedule), schedule_name(theirs->schedule));
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

/* Sizes derive from the configuration, but another version of the library may derive other ones. Those of scalable
   filters also follow what they hold. */
static bool differ_in_size(struct difference *difference, const roost_filter *ours, const roost_filter *theirs)
{
    roost_info a, b;
    if (roost_filter_get_config(ours)->scalable)
        return false;
    roost_filter_get_info(ours, &a);
    roost_filter_get_info(theirs, &b);
    return differ_in_count(difference, "size in bits", a.bits, b.bits) ||
           differ_in_count(difference, "number of probes", a.probes, b.probes) ||
           differ_in_count(difference, "number of buckets", a.buckets, b.buckets);
}

static bool find_difference(struct difference *difference, const roost_filter *ours, const roost_filter *theirs)
{
    const roost_config *a = roost_filter_get_config(ours), *b = roost_filter_get_config(theirs);
    return differ_in_word(difference, "kind", kind_name(a->kind), kind_name(b->kind)) ||
           differ_in_word(difference, "size", a->scalable ? "scalable" : "fixed", b->scalable ? "scalable" : "fixed") ||
           differ_in_word(difference, "layout", layout_name(a->layout), layout_name(b->layout)) ||
           differ_in_count(difference, "capacity", a->capacity, b->capacity) ||
           differ_in_rate(difference, a->fpr, b->fpr) || differ_in_seed(difference, a->seed, b->seed) ||
           differ_in_count(difference, "window in microseconds", a->window, b->window) ||
           differ_in_count(difference, "number of past slots", a->past, b->past) ||
           differ_in_mode(difference, a->multiset, b->multiset) ||
           differ_in_count(difference, "entry", a->entry_bits, b->entry_bits) ||
           (a->scalable && differ_in_growth(difference, a, b)) ||
           differ_in_count(difference, "bits", a->fingerprint_bits, b->fingerprint_bits) ||
           differ_in_count(difference, "bucket", a->bucket_size, b->bucket_size) ||
           differ_in_size(difference, ours, theirs);
}

bool complain_of_mismatch(const char *name, const roost_filter *theirs, const char *into, const roost_filter *ours)
{
    struct difference difference;
    if (!find_difference(&difference, ours, theirs))
        return complain_of_status(name, ROOST_MISMATCH);
    return complain(name, "does not merge into %s: its %s is %s, not %s", into, difference.field, difference.theirs,
                    difference.ours);
}
