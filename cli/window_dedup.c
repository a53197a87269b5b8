/*
 * Copies lines from standard input to standard output, each once within the window, at the speed of the pipe: a block
 * of lines is split in place, hashed and looked up at once, and new lines are written. All lines of a block have one
 * time, by a clock that never goes back. With times in the lines, or a clock that advances by the
 * line, each line has its own time.
 *
 * Memory follows the distinct lines of one window: 9 to 32 bytes each were measured, 25 at a million, because memory
 * of expired lines is freed with a delay. Without memory dedup stops with an error; its output until then is correct.
 */
#include "window_dedup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/threads.h"
#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/lines/lines.h"
#include "cli/base/machine.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"

#define DEFAULT_CAPACITY 1000000
#define LONGEST_STAMP    40

struct deduping {
    const struct dedup_settings *settings;
    roost_filter *window;
    uint64_t time;
    uint64_t lines, passed;
    bool hashes; /* other threads have time to hash the lines */
};

static roost_status open_window(struct deduping *deduping)
{
    roost_config config = timed_config(deduping->settings->timed, ROOST_WINDOW, DEFAULT_CAPACITY);
    roost_environment environment = filter_environment();
    return roost_filter_new(&deduping->window, &config, &environment);
}

/* A clock that is set back stands still until it catches up. */
static void look_at_clock(struct deduping *deduping)
{
    uint64_t now = machine_time();
    if (now > deduping->time)
        deduping->time = now;
    roost_window_set_latest(deduping->window, deduping->time);
}

static void print_line(roost_bytes line, char terminator)
{
    fwrite_unlocked(line.data, 1, line.size, stdout);
    putc_unlocked(terminator, stdout);
}

/* How many lines from the first on are adjacent in memory, so that one write prints them. */
static size_t print_run(const roost_bytes *lines, const bool *seen, size_t count, char terminator)
{
    const char *begin = lines[0].data, *end = begin + lines[0].size;
    size_t run = 1;
    for (; run < count && !seen[run] && (const char *)lines[run].data == end + 1 && *end == terminator; run++)
        end += 1 + lines[run].size;
    print_line((roost_bytes){begin, (size_t)(end - begin)}, terminator);
    return run;
}

static bool read_stamp(roost_bytes *id, uint64_t *time, roost_bytes line)
{
    const char *blank = memchr(line.data, ' ', line.size);
    char stamp[LONGEST_STAMP];
    size_t size = blank ? (size_t)(blank - (const char *)line.data) : 0;
    if (size == 0 || size >= sizeof stamp)
        return false;
    memcpy(stamp, line.data, size);
    stamp[size] = '\0';
    *id = (roost_bytes){blank + 1, line.size - size - 1};
    return parse_duration(time, stamp);
}

static bool complain_of_line(const struct deduping *deduping, const char *what)
{
    char subject[64];
    snprintf(subject, sizeof subject, "line %llu", (unsigned long long)deduping->lines);
    return complain(subject, "%s", what);
}

/* One at a time, each with its own time. */
static bool pass_line(struct deduping *deduping, roost_bytes line)
{
    bool seen;
    roost_bytes id = line;
    deduping->lines++;
    if (deduping->settings->stamped && !read_stamp(&id, &deduping->time, line))
        return complain_of_line(deduping, "does not begin with a time in seconds and a space");
    roost_status status = roost_window_add(deduping->window, &seen, id.data, id.size, deduping->time);
    deduping->time += deduping->settings->step;
    if (status == ROOST_CLOCK)
        return complain_of_line(deduping, "its time is older than the window, or far ahead of the lines before");
    if (status != ROOST_OK)
        return complain_of_status("dedup", status);
    deduping->passed += !seen;
    if (!seen)
        print_line(line, deduping->settings->terminator);
    return true;
}

static bool has_own_times(const struct deduping *deduping)
{
    return deduping->settings->stamped || deduping->settings->step;
}

static void hash_lines(void *context, struct line_block *block)
{
    const struct deduping *deduping = context;
    line_block_split(block, deduping->settings->terminator);
    for (size_t i = 0; deduping->hashes && !block->no_memory && i < block->count; i++)
        block->hashes[i] = roost_filter_hash(deduping->window, block->lines[i].data, block->lines[i].size);
}

static roost_status add_block(struct deduping *deduping, struct line_block *block)
{
    if (!deduping->settings->timed->time)
        look_at_clock(deduping);
    if (deduping->hashes)
        return roost_window_add_many_hash(deduping->window, block->marks, NULL, block->hashes, block->count,
                                          deduping->time);
    return roost_window_add_many(deduping->window, block->marks, NULL, block->lines, block->count, deduping->time);
}

static bool pass_lines(struct deduping *deduping, const struct line_block *block)
{
    for (size_t i = 0; i < block->count; i++)
        if (!pass_line(deduping, block->lines[i]))
            return false;
    return finish_output();
}

static bool pass_block(void *context, struct line_block *block)
{
    struct deduping *deduping = context;
    if (block->no_memory)
        return complain_of_status("dedup", ROOST_NO_MEMORY);
    if (has_own_times(deduping))
        return pass_lines(deduping, block);
    roost_status status = add_block(deduping, block);
    if (status != ROOST_OK)
        return complain_of_status("dedup", status);
    deduping->lines += block->count;
    for (size_t i = 0; i < block->count;) {
        const bool *seen = block->marks + i;
        size_t run = *seen ? 0 : print_run(block->lines + i, seen, block->count - i, deduping->settings->terminator);
        deduping->passed += run;
        i += run ? run : 1;
    }
    return finish_output();
}

static bool read_lines(void *reader, struct line_block *block)
{
    return line_reader_fill(reader, block);
}

static void complain_of_reading(void *reader)
{
    line_reader_complain(reader);
}

static bool is_ready(void *reader)
{
    return wait_for_input(((struct line_reader *)reader)->descriptor, 0);
}

static bool pass_all(struct deduping *deduping)
{
    struct line_reader reader;
    const struct block_work work = {.read = read_lines,
                                    .complain = complain_of_reading,
                                    .is_ready = is_ready,
                                    .source = &reader,
                                    .prepare = hash_lines,
                                    .finish = pass_block,
                                    .context = deduping,
                                    .threads = deduping->settings->threads};
    deduping->hashes = !has_own_times(deduping) && thread_count(deduping->settings->threads) > 1;
    line_reader_open(&reader, STDIN_FILENO);
    reader.terminator = deduping->settings->terminator;
    bool fine = work_on_blocks(&work);
    line_reader_close(&reader);
    return fine;
}

/* On standard error, because standard output has the lines. */
static void report(const struct deduping *deduping)
{
    roost_info info;
    char rate[NUMBER_ROOM];
    if (!deduping->settings->json)
        return;
    roost_filter_get_info(deduping->window, &info);
    format_shortest(rate, info.fpr_now);
    fprintf(stderr, "{\"lines\":%llu,\"passed\":%llu,\"fpr_now\":%s,\"promise_holds\":%s,\"bytes_memory\":%llu}\n",
            (unsigned long long)deduping->lines, (unsigned long long)deduping->passed, rate,
            info.promise_holds ? "true" : "false", (unsigned long long)info.bytes_memory);
}

bool dedup(const struct dedup_settings *settings)
{
    struct deduping deduping = {.settings = settings, .time = settings->timed->time};
    if (!settings->timed->window)
        return complain("window dedup", "--window is missing; give a time, as --window 10m");
    roost_status status = open_window(&deduping);
    if (status == ROOST_INVALID)
        return complain("dedup", "cannot run: --fpr or --window is out of range");
    if (status != ROOST_OK)
        return complain_of_status("dedup", status);
    if (settings->step && deduping.time == 0)
        deduping.time = machine_time();
    bool fine = pass_all(&deduping);
    if (fine)
        report(&deduping);
    roost_filter_free(deduping.window);
    return fine;
}
