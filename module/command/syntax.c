/* See syntax.h. The lines are ours, so they are right: nothing is checked here but in tests/module/commands.py. */
#include "syntax.h"

#include <ctype.h>
#include <string.h>

#define MOST_ARGUMENTS 24 /* side by side; the last one is empty, which ends the array */

struct line {
    RedisModuleCtx *ctx;
    char *next; /* what is left of the text, which is cut into words */
    int keys;   /* so far: each has a key specification of its own */
};

static char *pool_text(RedisModuleCtx *ctx, const char *text, size_t size)
{
    char *copy = RedisModule_PoolAlloc(ctx, size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static RedisModuleCommandArg *pool_arguments(RedisModuleCtx *ctx)
{
    RedisModuleCommandArg *arguments = RedisModule_PoolAlloc(ctx, MOST_ARGUMENTS * sizeof *arguments);
    memset(arguments, 0, MOST_ARGUMENTS * sizeof *arguments);
    return arguments;
}

/* "NONSCALING" is named "nonscaling". */
static const char *lower(RedisModuleCtx *ctx, const char *text)
{
    char *copy = pool_text(ctx, text, strlen(text));
    for (char *letter = copy; *letter; letter++)
        *letter = (char)tolower((unsigned char)*letter);
    return copy;
}

/* A word, or a bracket; NULL at the end. */
static char *next_word(struct line *line)
{
    line->next += strspn(line->next, " ");
    size_t size = strchr("[]", *line->next) && *line->next ? 1 : strcspn(line->next, " []");
    if (size == 0)
        return NULL;
    char *word = pool_text(line->ctx, line->next, size);
    line->next += size;
    return word;
}

static bool is_token(const char *word)
{
    return isupper((unsigned char)*word);
}

static RedisModuleCommandArg pure_token(struct line *line, const char *word)
{
    return (RedisModuleCommandArg){
        .name = lower(line->ctx, word), .type = REDISMODULE_ARG_TYPE_PURE_TOKEN, .key_spec_index = -1, .token = word};
}

static RedisModuleCommandArg one_of(struct line *line, const char *words, const char *token)
{
    RedisModuleCommandArg argument = {.name = token ? lower(line->ctx, token) : "choice",
                                      .type = REDISMODULE_ARG_TYPE_ONEOF,
                                      .key_spec_index = -1,
                                      .token = token,
                                      .subargs = pool_arguments(line->ctx)};
    for (size_t count = 0; *words; count++) {
        size_t size = strcspn(words, "|");
        argument.subargs[count] = pure_token(line, pool_text(line->ctx, words, size));
        words += size + (words[size] == '|');
    }
    return argument;
}

static RedisModuleCommandArgType type_of(char *word)
{
    char *colon = strchr(word, ':');
    char letter = colon ? colon[1] : 's';
    if (colon)
        *colon = '\0';
    return strcmp(word, "key") == 0 || letter == 'k' ? REDISMODULE_ARG_TYPE_KEY
           : letter == 'i'                           ? REDISMODULE_ARG_TYPE_INTEGER
           : letter == 'd'                           ? REDISMODULE_ARG_TYPE_DOUBLE
                                                     : REDISMODULE_ARG_TYPE_STRING;
}

static RedisModuleCommandArg named(struct line *line, char *word, const char *token)
{
    size_t size = strlen(word);
    bool many = size > 3 && strcmp(word + size - 3, "...") == 0;
    if (many)
        word[size - 3] = '\0';
    if (strchr(word, '|'))
        return one_of(line, word, token);
    RedisModuleCommandArg argument = {
        .type = type_of(word), .token = token, .flags = many ? REDISMODULE_CMD_ARG_MULTIPLE : 0};
    argument.name = word;
    argument.key_spec_index = argument.type == REDISMODULE_ARG_TYPE_KEY ? line->keys++ : -1;
    return argument;
}

static RedisModuleCommandArg *read_group(struct line *line, size_t *count);

/* A group of one argument is that argument. */
static RedisModuleCommandArg optional(struct line *line)
{
    size_t count = 0;
    RedisModuleCommandArg *arguments = read_group(line, &count), argument = arguments[0];
    if (count > 1)
        argument = (RedisModuleCommandArg){
            .name = arguments[0].name, .type = REDISMODULE_ARG_TYPE_BLOCK, .key_spec_index = -1, .subargs = arguments};
    argument.flags |= REDISMODULE_CMD_ARG_OPTIONAL;
    return argument;
}

/* The word behind a token, if it is its argument. */
static char *value_of_token(struct line *line)
{
    struct line ahead = *line;
    char *word = next_word(&ahead);
    if (!word || strchr("[]", *word) || is_token(word))
        return NULL;
    *line = ahead;
    return word;
}

static RedisModuleCommandArg read_argument(struct line *line, char *word)
{
    if (*word == '[')
        return optional(line);
    if (!is_token(word) || strchr(word, '|'))
        return named(line, word, NULL);
    char *value = value_of_token(line);
    return value ? named(line, value, word) : pure_token(line, word);
}

/* Up to the bracket that closes it, or to the end. */
static RedisModuleCommandArg *read_group(struct line *line, size_t *count)
{
    RedisModuleCommandArg *arguments = pool_arguments(line->ctx);
    for (char *word; (word = next_word(line)) && *word != ']' && *count < MOST_ARGUMENTS - 1;)
        arguments[(*count)++] = read_argument(line, word);
    return arguments;
}

RedisModuleCommandArg *syntax_arguments(RedisModuleCtx *ctx, const char *syntax)
{
    size_t count = 0;
    struct line line = {.ctx = ctx, .next = pool_text(ctx, syntax, strlen(syntax))};
    return read_group(&line, &count);
}
