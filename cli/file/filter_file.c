/* The library does the work (src/file/); this file says in one line what went wrong, and what to do. */
#include "filter_file.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "cli/base/interrupt.h"
#include "cli/base/machine.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/base/server_name.h"
#include "cli/base/threads.h"

/* How far the clock of another machine may be ahead of this one. */
#define MOST_AHEAD (24 * 3600 * ROOST_SECOND)

roost_environment filter_environment(void)
{
    roost_environment environment = {.memory_limit = machine_memory(), .executor = program_executor()};
    if (getrandom(&environment.random_seed, sizeof environment.random_seed, 0) < 0)
        environment.random_seed = 0; /* only speed depends on it */
    return environment;
}

roost_status filter_like(roost_filter **filter, const roost_filter *other)
{
    roost_environment environment = filter_environment();
    roost_config config = *roost_filter_get_config(other);
    if (config.scalable && config.kind == ROOST_CUCKOO)
        config.fingerprint_bits = 0; /* derived, cannot be asked for */
    return roost_filter_new(filter, &config, &environment);
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* What to do about a file that the library refuses, behind its text. */
static const char *remedy(roost_status status)
{
    switch (status) {
    case ROOST_TRUNCATED:
    case ROOST_CORRUPT:
        return "; replace it by a backup, or by a copy of another replica";
    case ROOST_UNSUPPORTED_VERSION:
        return "; install that version";
    default:
        return "";
    }
}

bool complain_of_status(const char *name, roost_status status)
{
    if (status == ROOST_TOO_LARGE) {
        char memory[COUNT_ROOM];
        format_bytes(memory, machine_memory());
        return complain(name, "too large for the memory of this machine (%s)", memory);
    }
    if (status == ROOST_FULL)
        return complain(name, "full: one more key would break the promised rate; create a filter with a larger "
                              "--capacity");
    if (status == ROOST_CLOCK)
        return complain(name, "the time is older than the window, or far ahead of the newest entry; check the clocks");
    return complain(name, "%s", roost_status_text(status));
}

bool complain_of_file(const char *name, const roost_file *file, roost_status status)
{
    if (status == ROOST_TOO_LARGE)
        return complain_of_status(name, status);
    return complain(name, "%s%s", roost_file_get_error(file), remedy(status));
}

/* A copy becomes a new replica without a message: that is the normal case. */
static void report_replica(const struct filter_file *file)
{
    switch (roost_file_get_replica_status(file->handle)) {
    case ROOST_REPLICA_NEW:
    case ROOST_REPLICA_RESTORED:
    case ROOST_REPLICA_COPY:
        break;
    case ROOST_REPLICA_LATER:
        complain(file->name, "a later version of Roost wrote its replica section; it becomes a new replica");
        break;
    case ROOST_REPLICA_DAMAGED:
        complain(file->name, "its replica section is damaged, the filter is not; it becomes a new replica");
        break;
    }
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static bool is_interrupted(void *context)
{
    (void)context;
    return interrupted();
}

roost_file *file_object(const char *name)
{
    roost_file *file;
    roost_environment environment = filter_environment();
    if (is_server_name(name))
        return complain(name, "is a URL where a file is needed; roost sync FILE URL merges a file and a server's key"),
               NULL;
    if (roost_file_new(&file, name, &environment) != ROOST_OK)
        return complain_of_status(name, ROOST_NO_MEMORY), NULL;
    roost_file_set_interrupt(file, is_interrupted, NULL);
    return file;
}

/* A window takes in nothing from far in the future: one wrong clock elsewhere would make it drop everything it
   holds. */
static void distrust_the_future(roost_filter *filter)
{
    roost_kind kind = roost_filter_get_config(filter)->kind;
    if (kind == ROOST_WINDOW || kind == ROOST_COUNTER)
        roost_window_set_latest(filter, machine_time() + MOST_AHEAD);
}

roost_filter *filter_file_read(const char *name)
{
    roost_filter *filter = NULL;
    roost_file *file = file_object(name);
    roost_status status = file ? roost_file_read(file, &filter) : ROOST_OK;
    if (status != ROOST_OK)
        complain_of_file(name, file, status);
    if (filter)
        distrust_the_future(filter);
    roost_file_free(file);
    return filter;
}

static bool name_file(struct filter_file *file, const char *name)
{
    file->name = name;
    if (!file->handle)
        file->handle = file_object(name);
    return file->handle != NULL;
}

bool filter_file_refresh(struct filter_file *file)
{
    bool reread;
    roost_status status = roost_file_load(file->handle, &reread);
    file->filter = roost_file_get_filter(file->handle);
    if (status != ROOST_OK)
        return complain_of_file(file->name, file->handle, status);
    if (reread) {
        report_replica(file);
        distrust_the_future(file->filter);
    }
    return true;
}

bool filter_file_look(struct filter_file *file, const char *name)
{
    return name_file(file, name) && filter_file_refresh(file);
}

/* ---- locked ---------------------------------------------------------------------------------------------------- */

bool filter_file_lock(struct filter_file *file, const char *name)
{
    if (!name_file(file, name))
        return false;
    roost_status status = roost_file_lock(file->handle, ROOST_LOCK_EXCLUSIVE);
    return status == ROOST_OK || complain_of_file(name, file->handle, status);
}

void filter_file_unlock(struct filter_file *file)
{
    if (file->handle)
        roost_file_unlock(file->handle);
}

bool filter_file_exists(const struct filter_file *file)
{
    return roost_file_exists(file->handle);
}

bool filter_file_open(struct filter_file *file, const char *name)
{
    if (!filter_file_lock(file, name))
        return false;
    if (!filter_file_exists(file))
        return complain(name, "%s; roost create makes a filter", strerror(ENOENT));
    return filter_file_refresh(file);
}

bool filter_file_put(struct filter_file *file, const char *name, roost_filter *filter)
{
    if (!filter || !name_file(file, name))
        return roost_filter_free(filter), false;
    roost_file_set_filter(file->handle, filter);
    file->filter = filter;
    return true;
}

bool filter_file_save(struct filter_file *file)
{
    roost_status status = roost_file_save(file->handle);
    if (status != ROOST_OK)
        return complain_of_file(file->name, file->handle, status);
    interrupt_release();
    return true;
}

void filter_file_close(struct filter_file *file)
{
    roost_file_free(file->handle);
    *file = (struct filter_file){0};
}
