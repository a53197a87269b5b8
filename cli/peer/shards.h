/*
 * A filter in servers that have the module: one key, or many keys that hold a part of the elements each (shards), in a
 * server, in a primary with replicas or in a cluster. docs/module.md has the rule that says which shard has an element.
 */
#ifndef CLI_PEER_SHARDS_H
#define CLI_PEER_SHARDS_H

#include "cli/base/options.h"
#include "server_key.h"

#define MOST_SHARDS 16384

struct shards_options {
    struct server_options server;
    uint64_t count; /* 0: the filter is one key, with the very name in the URL */
};

/* For the option tables of verbs. */
#define SHARDS_OPTIONS(options)                                                                                        \
    {.name = "shards",                                                                                                 \
     .type = OPTION_COUNT,                                                                                             \
     .place = &(options).count,                                                                                        \
     .value = "N",                                                                                                     \
     .help = "of a filter in servers: it is spread over the N keys {KEY:0}, {KEY:1} ...",                              \
     .least = 1,                                                                                                       \
     .most = MOST_SHARDS},                                                                                             \
        CONNECTION_OPTIONS((options).server.connection, (options).server.password_file)

/* Whether the options go with this operand of a verb, a URL or a file. Complains if not. */
bool shards_options_fit(const struct shards_options *options, const char *operand);

/* What the shards hold together. */
struct shards_facts {
    roost_config config; /* of each of them */
    uint64_t capacity, inserted, bytes_memory;
    uint64_t shards, missing; /* keys that should be there, and how many of them are not */
    uint64_t first_missing;   /* the least number among these */
    uint64_t nodes;           /* primaries that have them */
    bool imported;            /* some hold filters of RedisBloom */
    /* of a whole look only */
    double elements, most_elements; /* most_elements: of one shard */
    double fpr_now, worst_fpr;      /* fpr_now: the mean, since each shard gets as many questions as any other */
    bool promise_holds;
};

struct shards;

/* The URL is redis://[user[:password]@]host[:port]/KEY, or rediss://. Complains if it fails; close it in any case.
   Nothing is sent before the first call. */
bool shards_open(struct shards **shards, const char *url, const struct shards_options *options);
void shards_close(struct shards *shards); /* NULL is fine */

/* For messages: without user and password. */
const char *shards_name(const struct shards *shards);

/* Reads what the shards are and hold; `whole`: also what takes longer to count. False, with a message, if they cannot
   be read, have different configurations, or there are more of them. */
bool shards_look(struct shards *shards, struct shards_facts *facts, bool whole);
/* The same; complains also if any is missing. */
bool shards_look_at_all(struct shards *shards, struct shards_facts *facts, bool whole);

/* Creates those that are missing, with a capacity for their part of the elements. `config` is that of the whole. If
   others hold elements already, only with `force`. */
bool shards_create(struct shards *shards, const roost_config *config, bool force);

/*
 * Sends a command about these elements (ROOST.ADD, ROOST.EXISTS ...) to the shards that have them, all at once, and
 * waits for the replies: marks[i] is what the server said of keys[i]. After a connection is lost the command is sent
 * again, if that is harmless (`repeatable`), for a minute. False, with a message, if any was not answered.
 */
bool shards_call(struct shards *shards, const char *command, bool repeatable, bool *marks, const roost_bytes *keys,
                 size_t count);

#endif
