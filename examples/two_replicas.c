/* Two replicas of one filter, filled apart, merged: cc two_replicas.c $(pkg-config --cflags --libs roost) */
#include <roost.h>
#include <stdio.h>

int main(void)
{
    roost_config config = roost_config_default();
    config.capacity = 1000000;

    roost_filter *here, *there;
    if (roost_filter_new(&here, &config, NULL) != ROOST_OK || roost_filter_new(&there, &config, NULL) != ROOST_OK)
        return 1;
    roost_filter_add(here, NULL, "swift", 5);
    roost_filter_add(there, NULL, "martin", 6);
    if (roost_filter_merge(here, NULL, there) != ROOST_OK)
        return 1;
    printf("swift %d, martin %d, heron %d\n", roost_filter_contains(here, "swift", 5),
           roost_filter_contains(here, "martin", 6), roost_filter_contains(here, "heron", 5));
    roost_filter_free(here);
    roost_filter_free(there);
    return 0;
}
