/* Numbers of elements are estimates, and are reported as whole ones. */
#include "elements.h"

#include <math.h>
#include <stdio.h>

#include "numbers.h"

void print_elements(const roost_filter *filter)
{
    char elements[THINGS_ROOM];
    roost_info info;
    roost_filter_info(filter, &info);
    format_things(elements, (uint64_t)llround(info.elements), "element");
    printf("about %s", elements);
    if (!info.promise_holds)
        printf(", more%s than it was made for: the promised rate no longer holds",
               roost_filter_config(filter)->scalable ? " writers" : "");
    printf("\n");
}

void json_elements(struct json *json, const roost_filter *filter)
{
    roost_info info;
    roost_filter_info(filter, &info);
    json_count(json, "elements", (uint64_t)llround(info.elements));
    json_bool(json, "promise_holds", info.promise_holds);
}
