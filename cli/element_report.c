/* Numbers of elements are estimates; they are rounded to whole ones. */
#include "element_report.h"

#include <math.h>
#include <stdio.h>

#include "cli/base/messages.h"
#include "cli/base/numbers.h"

/* Then the rate is that of another program's filters. */
static bool has_imported(const roost_filter *filter)
{
    roost_imported_info imported;
    roost_filter_get_imported(filter, &imported);
    return imported.parts > 0;
}

void print_elements(const roost_filter *filter)
{
    char elements[THINGS_ROOM];
    roost_info info;
    roost_filter_get_info(filter, &info);
    format_things(elements, (uint64_t)llround(info.elements), "element");
    printf("about %s", elements);
    if (!info.promise_holds && has_imported(filter))
        printf(", with filters of RedisBloom, which promise less");
    else if (!info.promise_holds)
        printf(", more%s than it was created for: the promised rate no longer holds",
               roost_filter_get_config(filter)->scalable ? " writers" : "");
    printf("\n");
}

void warn_of_promise(const char *name, const roost_filter *filter)
{
    const roost_config *config = roost_filter_get_config(filter);
    char capacity[THINGS_ROOM], promised[NUMBER_ROOM], now[NUMBER_ROOM];
    roost_info info;
    roost_filter_get_info(filter, &info);
    if (info.promise_holds || has_imported(filter))
        return;
    format_rate(promised, config->fpr);
    format_rate(now, info.fpr_now);
    if (config->scalable) {
        complain(name, "was created for fewer writers than it has: %s false positives now, %s promised", now, promised);
        return;
    }
    format_things(capacity, config->capacity, "element");
    complain(name,
             "was created for %s and holds more: %s false positives now, %s promised; create a new filter with "
             "a larger --capacity or --scalable",
             capacity, now, promised);
}

void json_elements(struct json *json, const roost_filter *filter)
{
    roost_info info;
    roost_filter_get_info(filter, &info);
    json_count(json, "elements", (uint64_t)llround(info.elements));
    json_bool(json, "promise_holds", info.promise_holds);
}
