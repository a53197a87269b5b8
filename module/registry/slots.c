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

/* ---- CLUSTER NODES ---------------------------------------------------------------------------------------------- */

enum { OURS = 1, LEAVING = 2, ARRIVING = 4 };
static uint8_t states[SLOTS];

/* "7", "5-9", "[7->-..." for one that is on its way to another node, and "[7-<-..." for one that comes from there. */
static void read_token(const char *token)
{
    bool moves = *token == '[';
    char *rest;
    unsigned long first = strtoul(token + moves, &rest, 10), last = first;
    if (rest == token + moves)
        return;
    uint8_t state = !moves ? OURS : strncmp(rest, "->-", 3) == 0 ? LEAVING : ARRIVING;
    if (!moves && *rest == '-')
        last = strtoul(rest + 1, NULL, 10);
    for (unsigned long slot = first; slot <= last && slot < SLOTS; slot++)
        states[slot] |= state;
}

/* Slots follow eight other words. */
static void read_line(char *line)
{
    char *place = NULL, *word = strtok_r(line, " ", &place);
    for (int i = 0; word; i++, word = strtok_r(NULL, " ", &place))
        if (i >= 8)
            read_token(word);
}

static char *our_line(char *nodes)
{
    char *place = NULL, *line = strtok_r(nodes, "\r\n", &place);
    while (line && !strstr(line, "myself"))
        line = strtok_r(NULL, "\r\n", &place);
    return line;
}

/* Sets the states of all slots; false: the server does not tell. */
static bool read_states(RedisModuleCtx *ctx)
{
    size_t size;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "CLUSTER", "c", "NODES");
    const char *text = reply ? RedisModule_CallReplyStringPtr(reply, &size) : NULL;
    memset(states, 0, sizeof states);
    if (text) {
        char *nodes = RedisModule_Alloc(size + 1);
        memcpy(nodes, text, size);
        nodes[size] = '\0';
        char *line = our_line(nodes);
        if (line)
            read_line(line);
        RedisModule_Free(nodes);
    }
    if (reply)
        RedisModule_FreeCallReply(reply);
    return text != NULL;
}

/* The last one: redis-cli moves the first ones first. */
unsigned slot_that_stays(RedisModuleCtx *ctx)
{
    unsigned slot = read_states(ctx) ? SLOTS : 0;
    while (slot-- > 0)
        if (states[slot] == OURS)
            return slot;
    return SLOTS;
}

bool slot_is_ours(RedisModuleCtx *ctx, unsigned slot)
{
    return !read_states(ctx) || states[slot] & (OURS | ARRIVING);
}

bool slot_takes_new_keys(RedisModuleCtx *ctx, unsigned slot)
{
    return slot_is_ours(ctx, slot) && !(states[slot] & LEAVING);
}
