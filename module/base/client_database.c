/* See client_database.h. */
#include "client_database.h"

#include <string.h>
#include <strings.h>

#include "arguments.h"
#include "context.h"

#define UNKNOWN (-1)
#define FEW     16

/* The SELECTs of transactions that are being queued. A client whose place another one takes is not known. */
static struct transaction {
    uint64_t client;
    unsigned selects;
    int database; /* of the last one */
} transactions[FEW];
static int database = UNKNOWN; /* of the client that executes a command; */
static int source = UNKNOWN;   /* of the MOVE that is being executed; */
static int debugger = UNKNOWN; /* of the client that gave the last DEBUG, which may be RELOAD */

static struct transaction *transaction_of(uint64_t client)
{
    struct transaction *transaction = &transactions[client % FEW];
    return transaction->client == client ? transaction : NULL;
}

static int database_of(uint64_t client)
{
    RedisModuleClientInfo info = {.version = REDISMODULE_CLIENTINFO_VERSION};
    return RedisModule_GetClientInfoById(&info, client) == REDISMODULE_OK ? info.db : UNKNOWN;
}

static bool is_in_script(void)
{
    return RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_LUA;
}

static void note_select(RedisModuleCommandFilterCtx *filter, uint64_t client)
{
    struct transaction *transaction = transaction_of(client);
    long long number = UNKNOWN;
    if (is_in_script())
        database = UNKNOWN;
    if (!transaction || RedisModule_CommandFilterArgsCount(filter) != 2)
        return;
    if (!argument_number(RedisModule_CommandFilterArgGet(filter, 1), &number, 0, INT32_MAX))
        return;
    transaction->selects++;
    transaction->database = (int)number;
}

static int database_of_transaction(uint64_t client)
{
    const struct transaction *transaction = transaction_of(client);
    if (!transaction || transaction->selects > 1)
        return UNKNOWN;
    return transaction->selects ? transaction->database : database_of(client);
}

enum word { MULTI, SELECT, EXEC, DEBUG, COPY_OR_SCRIPT, ANOTHER };

/* For each command of the server, so it is fast for all others: most differ in length, or in their first letter. */
static enum word word_of(const RedisModuleString *name)
{
    static const struct {
        const char *text;
        size_t size;
        enum word word;
    } words[] = {{"MULTI", 5, MULTI},          {"SELECT", 6, SELECT},       {"EXEC", 4, EXEC},
                 {"COPY", 4, COPY_OR_SCRIPT},  {"EVAL", 4, COPY_OR_SCRIPT}, {"EVALSHA", 7, COPY_OR_SCRIPT},
                 {"FCALL", 5, COPY_OR_SCRIPT}, {"DEBUG", 5, DEBUG}};
    roost_bytes bytes = argument_bytes(name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (bytes.size == words[i].size && strncasecmp(bytes.data, words[i].text, bytes.size) == 0)
            return words[i].word;
    return ANOTHER;
}

void client_database_note_command(RedisModuleCommandFilterCtx *filter, const RedisModuleString *name)
{
    enum word word = newer.command_filter_client ? word_of(name) : ANOTHER;
    if (word == ANOTHER)
        return;
    uint64_t client = newer.command_filter_client(filter);
    if (word == MULTI)
        transactions[client % FEW] = (struct transaction){.client = client};
    else if (word == SELECT)
        note_select(filter, client);
    else if (word == EXEC)
        database = database_of_transaction(client);
    else if (word == DEBUG)
        debugger = database_of(client);
    else if (!is_in_script()) /* a script has a client of its own, in the database of its caller */
        database = database_of(client);
}

void client_database_restore(RedisModuleCtx *ctx, const char *event)
{
    if (!newer.command_filter_client)
        return;
    if (strcmp(event, "move_from") == 0)
        source = RedisModule_GetSelectedDb(ctx);
    int right = strcmp(event, "move_to") == 0                    ? source
                : strcmp(event, "loaded") == 0                   ? debugger
                : strcmp(event, "copy_to") == 0 && !is_loading() ? database
                                                                 : UNKNOWN;
    if (right != UNKNOWN)
        RedisModule_SelectDb(ctx, right);
}
