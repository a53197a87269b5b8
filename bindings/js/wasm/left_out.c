/*
 * What core.wasm leaves out (../build.sh lists the sources), as the rest of the library sees it.
 *
 * Kinds: records that begin as those of src/filter/kind.h do, and whose configurations are all refused. The table of kinds
 * (src/frame/kinds.c) finds a kind by the code of its form of fixed size, so these two have theirs; all others have 0, which no
 * configuration has.
 *
 * Imported parts: there never are any, so the calls below get NULL, which stands for none.
 */
#include "roost/filter.h"

struct left_out_kind {
    roost_kind code;
    const char *name;
    bool has_prefixes;
    roost_status (*resolve)(roost_config *config);
    bool (*is_resolved)(const roost_config *config);
    const void *rest[200]; /* more than there are */
};

static roost_status resolve(roost_config *config)
{
    (void)config;
    return ROOST_UNSUPPORTED;
}

static bool is_resolved(const roost_config *config)
{
    (void)config;
    return false;
}

#define LEFT_OUT(kind, number)                                                                                         \
    const struct left_out_kind kind = {(roost_kind)(number), "", false, resolve, is_resolved, {0}}
LEFT_OUT(gcuckoo_kind, ROOST_CUCKOO);
LEFT_OUT(orcuckoo_kind, ROOST_ORCUCKOO);
LEFT_OUT(series_bloom_kind, 0);
LEFT_OUT(series_gcuckoo_kind, 0);
LEFT_OUT(series_orcuckoo_kind, 0);
LEFT_OUT(window_kind, 0);
LEFT_OUT(counter_kind, 0);
LEFT_OUT(growing_window_kind, 0);
LEFT_OUT(growing_counter_kind, 0);

struct imported;
struct imported_join { /* as large as that of src/imported/imported.h */
    void *mine, *joined;
    const void *removals;
    void *spent;
    bool changed;
};

void imported_free(struct imported *imported, const roost_allocator *allocator)
{
    (void)imported, (void)allocator;
}

roost_status imported_new(struct imported **imported, const roost_allocator *allocator, const void *parts, size_t count)
{
    (void)imported, (void)allocator, (void)parts, (void)count;
    return ROOST_UNSUPPORTED;
}

roost_status imported_clone(const struct imported *imported, struct imported **copy, const roost_allocator *allocator)
{
    (void)imported, (void)copy, (void)allocator;
    return ROOST_UNSUPPORTED;
}

void imported_move(struct imported **imported, const void *mover)
{
    (void)imported, (void)mover;
}

bool imported_has_bloom(const struct imported *imported)
{
    return imported != NULL;
}

bool imported_has_cuckoo(const struct imported *imported)
{
    return imported != NULL;
}

bool imported_contains(const struct imported *imported, const void *key, size_t size)
{
    (void)key, (void)size;
    return imported != NULL;
}

uint64_t imported_count(const struct imported *imported, const void *key, size_t size)
{
    (void)key, (void)size;
    return imported != NULL;
}

roost_status imported_remove(struct imported *imported, bool *changed, const void *key, size_t size, bool all,
                             const roost_allocator *allocator, const void *observer)
{
    (void)imported, (void)changed, (void)key, (void)size, (void)all, (void)allocator, (void)observer;
    return ROOST_UNSUPPORTED;
}

roost_status imported_prepare(struct imported_join *join, struct imported *mine, const struct imported *other,
                              const roost_allocator *allocator)
{
    (void)mine, (void)allocator;
    *join = (struct imported_join){0};
    return other ? ROOST_UNSUPPORTED : ROOST_OK;
}

roost_status imported_prepare_spent(struct imported_join *join, struct imported *mine, struct imported *other,
                                    const roost_allocator *allocator)
{
    return imported_prepare(join, mine, other, allocator);
}

struct imported *imported_commit(struct imported_join *join, const roost_allocator *allocator, const void *observer)
{
    (void)join, (void)allocator, (void)observer;
    return NULL;
}

void imported_abandon(struct imported_join *join, const roost_allocator *allocator)
{
    (void)join, (void)allocator;
}

int imported_compare(const struct imported *imported, const struct imported *other)
{
    (void)imported, (void)other;
    return 0; /* ROOST_EQUAL */
}

unsigned __int128 imported_digest(const struct imported *imported)
{
    (void)imported;
    return 0;
}

uint64_t imported_memory(const struct imported *imported)
{
    (void)imported;
    return 0;
}

void imported_info(const struct imported *imported, void *info)
{
    (void)imported, (void)info;
}

bool imported_check(const struct imported *imported)
{
    return imported == NULL;
}

void imported_write(const struct imported *imported, void *writer)
{
    (void)imported, (void)writer;
}

void imported_write_part(const struct imported *imported, size_t part, void *writer)
{
    (void)imported, (void)part, (void)writer;
}

roost_status imported_write_changes(const struct imported *imported, void *writer, void *changes, size_t count,
                                    const roost_allocator *allocator)
{
    (void)imported, (void)writer, (void)changes, (void)count, (void)allocator;
    return ROOST_UNSUPPORTED;
}

roost_status imported_read(struct imported **imported, void *reader, const roost_allocator *allocator)
{
    (void)reader, (void)allocator;
    *imported = NULL;
    return ROOST_UNSUPPORTED;
}
