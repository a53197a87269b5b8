/* What roost add and roost remove have in common. */
#ifndef CLI_KEY_CHANGE_H
#define CLI_KEY_CHANGE_H

#include "cli/lines/keys.h"
#include "cli/peer/shards.h"
#include "roost.h"

struct key_change {
    /* Whether this filter supports it, before any key is read; NULL: always. Complains if not. */
    bool (*is_possible)(const char *name, const roost_config *config);
    /* Applies it to these keys, and sets `changed` for those that made a difference. Complains if it fails. */
    bool (*apply)(const char *name, roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count);
    /* The same for the hashes of keys; NULL: it needs the keys. */
    bool (*apply_hashes)(const char *name, roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count);
    const char *command;     /* the same in a server */
    bool repeatable;         /* the command changes nothing the second time; never where copies are counted */
    const char *verb, *done; /* "add", "added" */
    const char *effect;      /* how a report calls keys that made a difference */
    const char *no_effect;   /* and keys that did not; NULL: left out */
    bool renews;             /* in an observed-remove filter, even a key without effect changes what has to be saved;
                                in one that records removals that is so for both */
    bool adds;               /* warns if the promised rate no longer holds then */
    bool verbose, json;
    uint64_t threads; /* of work_on_blocks */
    struct key_options keys;
    struct shards_options shards; /* of a filter in servers */
};

/* Applies the keys, the operands from the second on (keys.h), to the file of the first, all of them or none; or to the
   filter in servers, where those before an error stay applied. Returns an exit status. */
int change_keys(const struct key_change *change, const struct arguments *arguments);

#endif
