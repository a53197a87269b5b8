/*
 * The slot of a key is its CRC16 (the variant of XMODEM: polynomial 0x1021, nothing inverted) modulo 16,384. If the key
 * has braces, only what is between the first { and the next } counts, unless that is empty: so
 *
 *     {user1000}.seen    {user1000}.blocked    foo{user1000}{zap}
 *
 * are in one slot.
 *
 * CLUSTER SLOTS replies with an array of ranges, each [first, last, primary, replica, ...], a server being [host, port,
 * id, ...]. A host that is empty, null or "?" is the server that replied.
 */
#include "cluster_slots.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#define HIGHEST_PORT   65535
#define MOST_ADDRESSES ((size_t)4 * CLUSTER_SLOTS) /* addresses in a map: a range for each slot, with three replicas */

static uint16_t crc16(roost_bytes bytes)
{
    const uint8_t *data = bytes.data;
    uint16_t crc = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        crc = (uint16_t)(crc ^ (uint16_t)(data[i] << 8));
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

unsigned cluster_slot(roost_bytes key)
{
    const uint8_t *data = key.data, *open = key.size ? memchr(data, '{', key.size) : NULL;
    const uint8_t *end = data + key.size, *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
    if (close && close > open + 1)
        key = (roost_bytes){open + 1, (size_t)(close - open - 1)};
    return crc16(key) % CLUSTER_SLOTS;
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

static bool is_text(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING && strlen(reply->str) == (size_t)reply->len;
}

bool read_server_address(struct server_address *server, const struct redisReply *entry)
{
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements < 2)
        return false;
    const struct redisReply *host = entry->element[0], *port = entry->element[1];
    bool given = is_text(host) && *host->str && strcmp(host->str, "?") != 0;
    long long number = port->type == REDIS_REPLY_INTEGER ? port->integer : is_text(port) ? atoll(port->str) : 0;
    const char *id = entry->elements > 2 && is_text(entry->element[2]) ? entry->element[2]->str : NULL;
    *server = (struct server_address){given ? host->str : NULL, (int)number, id};
    return (host->type == REDIS_REPLY_NIL || is_text(host)) && number > 0 && number <= HIGHEST_PORT;
}

static bool is_slot(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 && reply->integer < CLUSTER_SLOTS;
}

static bool is_range(const struct redisReply *entry)
{
    struct server_address server;
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements < 3 || !is_slot(entry->element[0]) ||
        !is_slot(entry->element[1]) || entry->element[0]->integer > entry->element[1]->integer)
        return false;
    for (size_t i = 2; i < entry->elements; i++)
        if (!read_server_address(&server, entry->element[i]))
            return false;
    return true;
}

bool is_slot_map(const struct redisReply *reply)
{
    bool fine = reply->type == REDIS_REPLY_ARRAY && reply->elements <= CLUSTER_SLOTS;
    size_t addresses = 0;
    for (size_t i = 0; fine && i < reply->elements; i++) {
        fine = is_range(reply->element[i]);
        addresses += fine ? reply->element[i]->elements - 2 : 0;
    }
    return fine && addresses <= MOST_ADDRESSES;
}

struct slot_range slot_range_at(const struct redisReply *map, size_t i)
{
    const struct redisReply *entry = map->element[i];
    struct slot_range range = {
        .first = (unsigned)entry->element[0]->integer, .last = (unsigned)entry->element[1]->integer, .entry = entry};
    read_server_address(&range.primary, entry->element[2]);
    return range;
}

size_t slot_range_replicas(const struct slot_range *range)
{
    return range->entry->elements - 3;
}

struct server_address slot_range_replica(const struct slot_range *range, size_t i)
{
    struct server_address server;
    read_server_address(&server, range->entry->element[3 + i]);
    return server;
}

/* ---- redirections ------------------------------------------------------------------------------------------------ */

char *read_redirection(const char *text, unsigned *slot, int *port)
{
    const char *number = strchr(text, ' '), *place = number ? strchr(number + 1, ' ') : NULL;
    const char *colon = place ? strrchr(place, ':') : NULL;
    if (!colon)
        return NULL;
    *slot = (unsigned)strtoul(number + 1, NULL, 10);
    *port = atoi(colon + 1);
    if (*slot >= CLUSTER_SLOTS || *port < 1 || *port > HIGHEST_PORT)
        return NULL;
    return strndup(place + 1, (size_t)(colon - place - 1));
}
