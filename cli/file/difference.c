/* A message about two filters that do not merge names the option in which they differ. */
#include "difference.h"

#include "filter_file.h"
#include "cli/base/config_difference.h"
#include "cli/base/messages.h"

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

static bool complain_of_difference(const char *name, const char *into, const struct difference *difference)
{
    return complain(name, "does not merge into %s: its %s is %s, not %s", into, difference->field, difference->theirs,
                    difference->ours);
}

bool complain_of_other_config(const char *name, const roost_config *theirs, const char *into, const roost_config *ours)
{
    struct difference difference;
    if (!config_difference(&difference, ours, theirs))
        return complain_of_status(name, ROOST_MISMATCH);
    return complain_of_difference(name, into, &difference);
}

bool complain_of_mismatch(const char *name, const roost_filter *theirs, const char *into, const roost_filter *ours)
{
    struct difference difference;
    if (!config_difference(&difference, roost_filter_get_config(ours), roost_filter_get_config(theirs)) &&
        !differ_in_size(&difference, ours, theirs))
        return complain_of_status(name, ROOST_MISMATCH);
    return complain_of_difference(name, into, &difference);
}
