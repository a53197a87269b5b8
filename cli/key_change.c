/* All keys are applied in memory; the file is saved once, at the end, or not at all. */
#include "key_change.h"

#include <stdio.h>

#include "element_report.h"
#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/base/progress.h"

struct tally {
    uint64_t keys, effective;
};

struct changing {
    const struct key_change *change;
    const struct filter_file *file;
    bool hashes; /* other threads have time to hash the keys */
    struct tally *tally;
};

/* Imported parts of a filter have hashes of their own. */
static bool takes_hashes(const struct key_change *change, const roost_filter *filter)
{
    roost_imported_info imported;
    roost_filter_get_imported(filter, &imported);
    return change->apply_hashes && imported.parts == 0 && thread_count(change->threads) > 1;
}

static void hash_keys(void *context, struct line_block *block)
{
    const struct changing *changing = context;
    line_block_split(block, key_terminator(&changing->change->keys));
    for (size_t i = 0; changing->hashes && !block->no_memory && i < block->count; i++)
        block->hashes[i] = roost_filter_hash(changing->file->filter, block->lines[i].data, block->lines[i].size);
}

static bool apply_to_block(const struct changing *changing, struct line_block *block)
{
    const struct key_change *change = changing->change;
    const struct filter_file *file = changing->file;
    if (block->no_memory)
        return complain_of_status(file->name, ROOST_NO_MEMORY);
    if (changing->hashes)
        return change->apply_hashes(file->name, file->filter, block->marks, block->hashes, block->count);
    return change->apply(file->name, file->filter, block->marks, block->lines, block->count);
}

static bool change_block(void *context, struct line_block *block)
{
    const struct changing *changing = context;
    if (!apply_to_block(changing, block))
        return false;
    changing->tally->keys += block->count;
    for (size_t i = 0; i < block->count; i++)
        changing->tally->effective += block->marks[i];
    progress_count(changing->tally->keys);
    return true;
}

static bool change_all(const struct key_change *change, const struct filter_file *file,
                       const struct arguments *arguments, struct tally *tally)
{
    static struct key_source source;
    if (change->is_possible && !change->is_possible(file->name, file->filter))
        return false;
    struct changing changing = {change, file, takes_hashes(change, file->filter), tally};
    const struct block_work work = {.read = key_source_read,
                                    .complain = key_source_complain,
                                    .is_ready = key_source_is_ready,
                                    .source = &source,
                                    .prepare = hash_keys,
                                    .finish = change_block,
                                    .context = &changing,
                                    .threads = change->threads};
    key_source_open(&source, arguments, 1, &change->keys);
    progress_begin("keys", key_source_is_typed(&source), false);
    bool fine = work_on_blocks(&work);
    progress_erase();
    if (fine)
        key_source_hint(&source, change->done, change->verb, file->name);
    key_source_close(&source);
    return fine;
}

static bool is_worth_saving(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    bool renewed = change->renews && tally->keys > 0 && roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
    return tally->effective > 0 || renewed;
}

static void report_json(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    struct json json;
    json_begin(&json);
    json_count(&json, "keys", tally->keys);
    json_count(&json, change->effect, tally->effective);
    json_elements(&json, filter);
    json_end(&json);
}

static void report_text(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    char keys[THINGS_ROOM], effective[COUNT_ROOM], others[COUNT_ROOM];
    format_things(keys, tally->keys, "key");
    format_count(effective, tally->effective);
    format_count(others, tally->keys - tally->effective);
    printf("%s, %s %s", keys, effective, change->effect);
    if (change->no_effect)
        printf(", %s %s", others, change->no_effect);
    printf("; ");
    print_elements(filter);
}

int change_keys(const struct key_change *change, const struct arguments *arguments)
{
    struct filter_file file = {0};
    struct tally tally = {0};
    interrupt_catch();
    bool done = filter_file_open(&file, arguments->operands[0]) && change_all(change, &file, arguments, &tally) &&
                (!is_worth_saving(change, file.filter, &tally) || filter_file_save(&file));
    if (done && change->adds && tally.keys > 0)
        warn_of_promise(file.name, file.filter);
    if (done && change->json)
        report_json(change, file.filter, &tally);
    else if (done && change->verbose)
        report_text(change, file.filter, &tally);
    filter_file_close(&file);
    return done ? EXIT_FINE : EXIT_ERROR;
}
