#include "line_side.h"

#include <stdlib.h>

#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/machine.h"
#include "cli/base/messages.h"
#include "cli/base/progress.h"

#define RECORDS_AT_ONCE   ((size_t)1 << 20)
#define FIRST_DIFFERENCES 64

roost_environment line_environment(void)
{
    return (roost_environment){.memory_limit = machine_memory()};
}

bool complain_of_session(const char *name, roost_status status)
{
    switch (status) {
    case ROOST_PROTOCOL:
        return complain(name, "the peer uses another version of roost's reconcile protocol, or sends too much");
    case ROOST_CORRUPT:
    case ROOST_TRUNCATED:
        return complain(name, "received an invalid message (%s); try again", roost_status_text(status));
    default:
        return complain(name, "%s", roost_status_text(status));
    }
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

bool line_side_open(struct line_side *side, const char *name)
{
    *side = (struct line_side){.file.descriptor = -1};
    return line_file_open(&side->file, name);
}

void line_side_close(struct line_side *side)
{
    roost_reconcile_free(side->session);
    free(side->differences);
    line_picker_close(&side->picker);
    line_union_close(&side->united);
    line_file_close(&side->file);
    side->session = NULL;
    side->differences = NULL;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static void hash_lines(void *context, struct line_block *block)
{
    const struct line_side *side = context;
    line_block_split(block, '\n');
    for (size_t i = 0; !block->no_memory && i < block->count; i++)
        block->hashes[i] = roost_reconcile_hash(side->session, block->lines[i].data, block->lines[i].size);
}

static bool add_lines(void *context, struct line_block *block)
{
    struct line_side *side = context;
    roost_status status = block->no_memory ? ROOST_NO_MEMORY : ROOST_OK;
    for (size_t i = 0; status == ROOST_OK && i < block->count; i++)
        status = roost_reconcile_add_hash(side->session, block->hashes[i], 1);
    if (status == ROOST_TOO_LARGE)
        return complain(side->file.name, "has too many lines to reconcile");
    side->loaded += block->count;
    progress_count(side->loaded);
    return status == ROOST_OK || complain_of_session(side->file.name, status);
}

bool line_side_load(struct line_side *side)
{
    return line_file_work(
        &side->file,
        (struct block_work){.prepare = hash_lines, .finish = add_lines, .context = side, .threads = side->threads});
}

/* ---- differences ------------------------------------------------------------------------------------------------ */

bool line_side_conclude(struct line_side *side)
{
    side->count = roost_reconcile_get_result(side->session).only_here;
    side->differences = malloc((side->count + 1) * sizeof *side->differences);
    if (!side->differences)
        return complain_of_session(side->file.name, ROOST_NO_MEMORY);
    roost_reconcile_get_differences(side->session, side->differences);
    return line_side_begin(side);
}

bool line_side_append(struct line_side *side, roost_difference difference)
{
    if (side->count == side->room) {
        size_t room = side->room ? 2 * side->room : FIRST_DIFFERENCES;
        roost_difference *longer = realloc(side->differences, room * sizeof *longer);
        if (!longer)
            return false;
        side->differences = longer;
        side->room = room;
    }
    side->differences[side->count++] = difference;
    return true;
}

bool line_side_begin(struct line_side *side)
{
    return side->count == 0 || line_picker_open(&side->picker, &side->file);
}

bool line_side_has_more(const struct line_side *side)
{
    return side->next < side->count;
}

bool line_side_next(struct line_side *side, roost_difference *difference, roost_bytes *line)
{
    *difference = side->differences[side->next++];
    if (!line_picker_take(&side->picker, line, difference->index))
        return false;
    return line_side_has_more(side) || line_file_is_unchanged(&side->file);
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

bool line_side_write(struct line_side *side, struct byte_buffer *message)
{
    bool multiset = roost_reconcile_get_config(side->session)->multiset;
    size_t before = message->size;
    while (line_side_has_more(side) && message->size - before < RECORDS_AT_ONCE && !interrupted()) {
        roost_difference difference;
        roost_bytes line;
        if (!line_side_next(side, &difference, &line))
            return false;
        if (multiset) {
            append_varint(message, difference.count_here);
            append_varint(message, difference.count_there);
        }
        append_sized(message, line.data, line.size);
    }
    return (!message->failed || complain_of_session(side->file.name, ROOST_NO_MEMORY)) && !interrupted();
}

bool take_record(struct byte_reader *reader, struct line_record *record, bool multiset)
{
    *record = (struct line_record){.there = 1};
    if (reader->left == 0)
        return false;
    if (multiset) {
        record->there = take_varint(reader);
        record->here = take_varint(reader);
        reader->failed = reader->failed || record->there == 0;
    }
    record->line = take_sized(reader);
    return !reader->failed;
}

bool line_side_take(struct line_side *side, const struct line_record *record)
{
    uint64_t here = roost_reconcile_count(side->session, record->line.data, record->line.size);
    if (record->there <= here)
        return true;
    return line_union_append(&side->united, &side->file, record->line, record->there - here);
}
