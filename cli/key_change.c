/*
 * In a file, all keys are applied in memory; the file is saved once, at the end, or not at all.
 *
 * In servers, a block of keys is applied at a time, and the next one is sent when all replies are there: a key counts
 * when its server has confirmed it. There is no undo; after an error the user is told how many keys are confirmed.
 */
#include "key_change.h"

#include <stdio.h>

#include "element_report.h"
#include "cli/file/filter_file.h"
#include "cli/base/threads.h"
#include "cli/base/interrupt.h"
#include "cli/base/machine.h"
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
    roost_filter_set_time(file->filter, machine_time());
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

/* Reads all keys, and does the work on them. */
static bool work_on_keys(struct block_work *work, const struct key_change *change, const struct arguments *arguments,
                         const char *name)
{
    static struct key_source source;
    work->read = key_source_read;
    work->complain = key_source_complain;
    work->is_ready = key_source_is_ready;
    work->source = &source;
    key_source_open(&source, arguments, 1, &change->keys);
    progress_begin("keys", key_source_is_typed(&source), false);
    bool fine = work_on_blocks(work);
    progress_erase();
    if (fine)
        key_source_hint(&source, change->done, change->verb, name);
    key_source_close(&source);
    return fine;
}

static bool change_all(const struct key_change *change, const struct filter_file *file,
                       const struct arguments *arguments, struct tally *tally)
{
    if (change->is_possible && !change->is_possible(file->name, roost_filter_get_config(file->filter)))
        return false;
    struct changing changing = {change, file, takes_hashes(change, file->filter), tally};
    struct block_work work = {
        .prepare = hash_keys, .finish = change_block, .context = &changing, .threads = change->threads};
    return work_on_keys(&work, change, arguments, file->name);
}

static bool is_worth_saving(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    const roost_config *config = roost_filter_get_config(filter);
    bool renews = (change->renews && config->kind == ROOST_ORCUCKOO) || config->semantics != ROOST_ADD_WINS;
    return tally->effective > 0 || (renews && tally->keys > 0);
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

/* ---- in servers -------------------------------------------------------------------------------------------------- */

struct server_change {
    const struct key_change *change;
    struct shards *shards;
    bool repeatable;
    struct tally tally; /* of what servers have confirmed */
};

static void split_keys(void *context, struct line_block *block)
{
    const struct server_change *changing = context;
    line_block_split(block, key_terminator(&changing->change->keys));
}

static bool send_block(void *context, struct line_block *block)
{
    struct server_change *changing = context;
    if (block->no_memory)
        return complain_of_status(shards_name(changing->shards), ROOST_NO_MEMORY);
    if (!shards_call(changing->shards, changing->change->command, changing->repeatable, block->marks, block->lines,
                     block->count))
        return false;
    changing->tally.keys += block->count;
    for (size_t i = 0; i < block->count; i++)
        changing->tally.effective += block->marks[i];
    progress_count(changing->tally.keys);
    return true;
}

/* Keys before an error stay applied, so the user has to know how many. */
static void tell_of_part(const struct server_change *changing)
{
    char keys[THINGS_ROOM];
    const struct key_change *change = changing->change;
    format_things(keys, changing->tally.keys, "key");
    complain(shards_name(changing->shards), "the first %s of the input were %s; some of the next ones may be, too%s",
             keys, change->done, changing->repeatable ? ": you can repeat the command with all of them" : "");
}

static void warn_of_servers(const struct server_change *changing, const struct shards_facts *facts)
{
    char promised[NUMBER_ROOM], worst[NUMBER_ROOM];
    format_rate(promised, facts->config.fpr);
    format_rate(worst, facts->worst_fpr);
    if (!facts->promise_holds && !facts->imported)
        complain(shards_name(changing->shards),
                 "holds more than it was created for: %s false positives now, %s promised; create a new filter with a "
                 "larger "
                 "--capacity or --scalable",
                 worst, promised);
}

static void report_servers(const struct server_change *changing, const struct shards_facts *facts)
{
    const struct key_change *change = changing->change;
    const struct tally *tally = &changing->tally;
    char keys[THINGS_ROOM], effective[COUNT_ROOM], elements[THINGS_ROOM];
    struct json json;
    if (change->json) {
        json_begin(&json);
        json_count(&json, "keys", tally->keys);
        json_count(&json, change->effect, tally->effective);
        json_count(&json, "elements", (uint64_t)facts->elements);
        json_bool(&json, "promise_holds", facts->promise_holds);
        json_end(&json);
    } else if (change->verbose) {
        format_things(keys, tally->keys, "key");
        format_count(effective, tally->effective);
        format_things(elements, (uint64_t)facts->elements, "element");
        printf("%s, %s %s; about %s\n", keys, effective, change->effect, elements);
    }
}

static bool send_all(struct server_change *changing, const struct arguments *arguments)
{
    struct shards_facts facts;
    const struct key_change *change = changing->change;
    if (!shards_look_at_all(changing->shards, &facts, false) ||
        (change->is_possible && !change->is_possible(shards_name(changing->shards), &facts.config)))
        return false;
    changing->repeatable = change->repeatable && !facts.config.multiset;
    struct block_work work = {.prepare = split_keys, .finish = send_block, .context = changing, .threads = 1};
    if (!work_on_keys(&work, change, arguments, "URL")) {
        tell_of_part(changing);
        return false;
    }
    bool counts = change->json || change->verbose || (change->adds && !facts.config.scalable);
    if (counts && !shards_look(changing->shards, &facts, true))
        return false;
    if (counts && change->adds && changing->tally.keys > 0)
        warn_of_servers(changing, &facts);
    report_servers(changing, &facts);
    return true;
}

static bool change_servers(const struct key_change *change, const struct arguments *arguments)
{
    struct server_change changing = {.change = change};
    interrupt_catch();
    bool done =
        shards_open(&changing.shards, arguments->operands[0], &change->shards) && send_all(&changing, arguments);
    shards_close(changing.shards);
    return done;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

int change_keys(const struct key_change *change, const struct arguments *arguments)
{
    if (!shards_options_fit(&change->shards, arguments->operands[0]))
        return EXIT_ERROR;
    if (is_server_name(arguments->operands[0]))
        return change_servers(change, arguments) ? EXIT_FINE : EXIT_ERROR;
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
