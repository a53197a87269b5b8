/*
 * A responder compares the leaves of a request with what the filter holds in the same ranges.
 *
 *     leaf of the peer     17    23 24    40
 *     members here         17 19    24    40 41
 *     only there                 23
 *     only here               19             41
 */
#include "differences.h"

#include "range_members.h"

#define FEW_DIFFERENCES       ((uint64_t)1 << 17)
#define BYTES_OF_A_DIFFERENCE 64 /* in a list that doubles, and what is made of it */

/*
 * Bounds. Each position that a leaf names costs the initiator at least a bit; leaves that name the missing positions
 * may add a number of positions in proportion to our own memory. The reply is at most about as long as our own memory.
 * Beyond that the whole state is as short.
 */
struct differences no_differences(const roost_filter *filter, size_t size)
{
    roost_info info;
    roost_filter_get_brief_info(filter, &info);
    struct differences none = {.filter = filter, .dots = tracks_dots(filter)};
    uint64_t limit = filter->environment.common->memory_limit / BYTES_OF_A_DIFFERENCE,
             some = FEW_DIFFERENCES + 8 * (uint64_t)size;
    uint64_t most = none.dots ? info.bytes_memory : some + info.bytes_memory / sizeof(uint64_t);
    none.here.most = most < limit ? most : limit;
    none.most = none.dots ? some + info.bytes_memory : info.bytes_memory;
    return none;
}

static roost_status resolve_there(struct differences *differences, uint64_t from, uint64_t to)
{
    if (!differences->writer) {
        differences->there += to - from;
        return differences->there <= differences->most ? ROOST_OK : ROOST_TOO_LARGE;
    }
    for (; from < to; from++) {
        write_rice(differences->writer, from - differences->next, differences->parameter);
        differences->next = from + 1;
    }
    return differences->writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static roost_status resolve_here(struct differences *differences, uint64_t from, uint64_t to)
{
    roost_status status = ROOST_OK;
    for (; !differences->writer && from < to && status == ROOST_OK; from++)
        status = list_append(&differences->here, from, differences->filter);
    return status;
}

/* Grow-only: positions that only the peer has are added here, ours are sent. Observed-remove: the other way round. */
static roost_status note_mine(struct differences *differences, uint64_t position)
{
    return (differences->dots ? resolve_here : resolve_there)(differences, position, position + 1);
}

static roost_status note_theirs(struct differences *differences, uint64_t from, uint64_t to)
{
    return (differences->dots ? resolve_there : resolve_here)(differences, from, to);
}

/* Our members of a range, the next of which is known. */
struct own_members {
    struct member_walk walk;
    uint64_t next;
    bool more;
};

static void pass_member(struct own_members *own)
{
    own->more = summary_next(&own->walk, &own->next);
}

/* Compares a row of the peer's members: those of it that are not ours are theirs alone. */
static roost_status compare_row(struct differences *differences, struct own_members *own, uint64_t from, uint64_t to)
{
    roost_status status = ROOST_OK;
    for (; status == ROOST_OK && own->more && own->next < from; pass_member(own))
        status = note_mine(differences, own->next);
    while (status == ROOST_OK && from < to) {
        bool shared = own->more && own->next < to;
        uint64_t end = shared ? own->next : to;
        status = note_theirs(differences, from, end);
        from = end + 1;
        if (shared)
            pass_member(own);
    }
    return status;
}

static roost_status compare_leaf(struct differences *differences, const struct summary *summary, uint64_t from,
                                 uint64_t to, struct bit_reader *reader)
{
    struct own_members own = {.walk = summary_walk(summary, from, to)};
    struct leaf leaf;
    roost_status status = ROOST_OK;
    pass_member(&own);
    leaf_open(&leaf, reader, from, to);
    while (status == ROOST_OK && leaf_next(&leaf, &from, &to))
        status = compare_row(differences, &own, from, to);
    if (status == ROOST_OK && leaf.failed)
        status = ROOST_CORRUPT;
    for (; status == ROOST_OK && own.more; pass_member(&own))
        status = note_mine(differences, own.next);
    return status;
}

roost_status compare_leaves(struct differences *differences, const struct summary *summary, const struct ranges *ranges,
                            struct bit_reader *reader)
{
    roost_status status = ROOST_OK;
    for (uint64_t i = 0; status == ROOST_OK && i < ranges->count; i++)
        status =
            compare_leaf(differences, summary, range_from(ranges, i), range_to(ranges, i, summary->universe), reader);
    return status == ROOST_OK && reader->failed ? ROOST_CORRUPT : status;
}

roost_status write_there(struct differences *differences, struct bit_writer *writer, const struct summary *summary,
                         const struct ranges *ranges, struct bit_reader reader)
{
    write_varint(writer, differences->there);
    differences->writer = writer;
    differences->parameter = rice_parameter(summary->universe, differences->there);
    roost_status status = compare_leaves(differences, summary, ranges, &reader);
    write_alignment(writer);
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}
