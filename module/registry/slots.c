/* See slots.h. The slot of a key is the CRC16 (XMODEM: polynomial 0x1021, from 0) of its tag, modulo 16384. */
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned crc16(const char *bytes, size_t size)
{
    unsigned crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned)(uint8_t)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc;
}

unsigned slot_of(const char *key, size_t size)
{
    const char *open = memchr(key, '{', size);
    const char *close = open ? memchr(open + 1, '}', size - (size_t)(open + 1 - key)) : NULL;
    if (close && close > open + 1)
        return crc16(open + 1, (size_t)(close - open - 1)) % SLOTS;
    return crc16(key, size) % SLOTS;
}

unsigned slot_tag(unsigned slot)
{
    static unsigned tags[SLOTS]; /* plus 1; 0: not known yet */
    static unsigned tried;
    while (!tags[slot]) {
        char digits[16];
        int size = snprintf(digits, sizeof digits, "%u", tried);
        unsigned found = crc16(digits, (size_t)size) % SLOTS;
        tried++;
        if (!tags[found])
            tags[found] = tried;
    }
    return tags[slot] - 1;
}

/* "7", "5-9", and "[7-<-..." for one that is being taken over. */
static bool token_has(const char *token, unsigned slot)
{
    bool taken_over = *token == '[';
    char *rest;
    unsigned long first = strtoul(token + taken_over, &rest, 10), last = first;
    if (rest == token + taken_over)
        return false;
    if (taken_over)
        return first == slot && strncmp(rest, "-<-", 3) == 0;
    if (*rest == '-')
        last = strtoul(rest + 1, &rest, 10);
    return *rest == '\0' && first <= slot && slot <= last;
}

/* In a line of CLUSTER NODES, slots follow eight other words. */
static bool line_has(char *line, unsigned slot)
{
    char *place = NULL, *word = strtok_r(line, " ", &place);
    for (int i = 0; word; i++, word = strtok_r(NULL, " ", &place))
        if (i >= 8 && token_has(word, slot))
            return true;
    return false;
}

/* The first slot of a line; SLOTS: it has none. */
static unsigned first_of_line(char *line)
{
    char *place = NULL, *word = strtok_r(line, " ", &place);
    for (int i = 0; word; i++, word = strtok_r(NULL, " ", &place))
        if (i >= 8 && *word != '[')
            return (unsigned)strtoul(word, NULL, 10) % SLOTS;
    return SLOTS;
}

static char *our_line(char *nodes)
{
    char *place = NULL, *line = strtok_r(nodes, "\r\n", &place);
    while (line && !strstr(line, "myself"))
        line = strtok_r(NULL, "\r\n", &place);
    return line;
}

/* The reply of CLUSTER NODES, to be freed, and the line of this server in it; NULL: no reply. */
static char *ask_nodes(RedisModuleCtx *ctx, char **line)
{
    size_t size;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "CLUSTER", "c", "NODES");
    const char *text = reply ? RedisModule_CallReplyStringPtr(reply, &size) : NULL;
    char *nodes = NULL;
    if (text) {
        nodes = RedisModule_Alloc(size + 1);
        memcpy(nodes, text, size);
        nodes[size] = '\0';
        *line = our_line(nodes);
    }
    if (reply)
        RedisModule_FreeCallReply(reply);
    return nodes;
}

static unsigned first_of_ours(RedisModuleCtx *ctx)
{
    char *line = NULL, *nodes = ask_nodes(ctx, &line);
    unsigned slot = nodes && line ? first_of_line(line) : SLOTS;
    RedisModule_Free(nodes);
    return slot;
}

unsigned slot_of_ours(RedisModuleCtx *ctx)
{
    return first_of_ours(ctx) % SLOTS;
}

bool has_slots(RedisModuleCtx *ctx)
{
    return first_of_ours(ctx) < SLOTS;
}

bool slot_is_ours(RedisModuleCtx *ctx, unsigned slot)
{
    char *line = NULL, *nodes = ask_nodes(ctx, &line);
    bool ours = !nodes || (line && line_has(line, slot));
    RedisModule_Free(nodes);
    return ours;
}
