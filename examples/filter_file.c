/*
 * Adds its arguments to a filter file, as `roost add FILE KEY...` does, and creates the file if it is missing:
 * cc filter_file.c $(pkg-config --cflags --libs roost)
 */
#include <roost.h>
#include <stdio.h>
#include <string.h>

static roost_status load_or_create(roost_file *file)
{
    if (roost_file_exists(file))
        return roost_file_load(file, NULL);
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = 1000;
    roost_filter *filter;
    roost_status status = roost_filter_new(&filter, &config, NULL);
    if (status == ROOST_OK)
        roost_file_set_filter(file, filter);
    return status;
}

static roost_status add_keys(roost_file *file, char **keys)
{
    roost_status status = roost_file_lock(file, ROOST_LOCK_EXCLUSIVE);
    if (status == ROOST_OK)
        status = load_or_create(file);
    for (; status == ROOST_OK && *keys; keys++)
        status = roost_filter_add(roost_file_get_filter(file), NULL, *keys, strlen(*keys));
    return status == ROOST_OK ? roost_file_save(file) : status;
}

int main(int count, char **arguments)
{
    roost_file *file;
    if (count < 2 || roost_file_new(&file, arguments[1], NULL) != ROOST_OK)
        return 1;
    roost_status status = add_keys(file, arguments + 2);
    if (status != ROOST_OK)
        fprintf(stderr, "%s: %s\n", arguments[1],
                *roost_file_get_error(file) ? roost_file_get_error(file) : roost_status_text(status));
    roost_file_free(file);
    return status == ROOST_OK ? 0 : 1;
}
