/*
 * Several threads, and the output of one. The thread of the caller reads blocks of lines, some hundred kilobytes each,
 * and finishes them in the order in which it read them: it adds to filters, prints, complains. Between the two, any
 * thread prepares a block: splits it into lines, hashes them, looks them up. Where the next block to finish is not
 * ready yet and there is nothing to read, or no room for it, the caller prepares blocks, too.
 *
 *     ring      | finished | prepared | in work | in work | waiting | waiting | free |
 *                          ^ first                        ^ next              ^ end
 *
 * Results do not depend on the number of threads, because only `finish` has effects, and it is called in order. With
 * one thread, each block is read, prepared and finished before the next one.
 *
 * A slow input is answered at once: before the caller waits for input it finishes what it has read, and a block that is
 * small and alone does not go to another thread. Threads are started when the first large block comes.
 *
 * Signals interrupt the caller alone: the other threads block them.
 */
#include "blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"
#include "cli/base/threads.h"

#define BLOCKS_A_THREAD 3
#define WORTH_A_THREAD  ((size_t)64 << 10) /* bytes of a block */
#define FIRST_LINES     4096

/* ---- one block --------------------------------------------------------------------------------------------------- */

bool line_block_reserve(struct line_block *block, size_t bytes)
{
    if (bytes + 1 <= block->room)
        return true;
    char *longer = realloc(block->bytes, bytes + 1);
    if (!longer)
        return false;
    block->bytes = longer;
    block->room = bytes + 1;
    return true;
}

bool line_block_reserve_lines(struct line_block *block, size_t count)
{
    if (count <= block->lines_room)
        return true;
    roost_bytes *lines = realloc(block->lines, count * sizeof *lines);
    if (!lines)
        return false;
    block->lines = lines;
    roost_hash *hashes = realloc(block->hashes, count * sizeof *hashes);
    if (!hashes)
        return false;
    block->hashes = hashes;
    bool *marks = realloc(block->marks, count * sizeof *marks);
    if (!marks)
        return false;
    block->marks = marks;
    block->lines_room = count;
    return true;
}

void line_block_release(struct line_block *block)
{
    free(block->bytes);
    free(block->lines);
    free(block->hashes);
    free(block->marks);
}

void line_block_split(struct line_block *block, char terminator)
{
    const char *next = block->bytes, *end = block->bytes + block->size;
    if (block->is_split)
        return;
    while (next < end) {
        const char *found = memchr(next, terminator, (size_t)(end - next));
        const char *stop = found ? found : end;
        size_t room = block->lines_room ? 2 * block->lines_room : FIRST_LINES;
        if (block->count == block->lines_room && !line_block_reserve_lines(block, room)) {
            block->no_memory = true;
            return;
        }
        block->lines[block->count++] = (roost_bytes){next, (size_t)(stop - next)};
        next = stop + 1;
    }
}

/* Lines only move to the front, over bytes that are done with. */
void line_block_select(struct line_block *block, bool wanted, char terminator)
{
    char *to = block->bytes;
    for (size_t i = 0; i < block->count; i++) {
        if (block->marks[i] != wanted)
            continue;
        if (to != block->lines[i].data)
            memmove(to, block->lines[i].data, block->lines[i].size);
        to += block->lines[i].size;
        *to++ = terminator;
        block->selected++;
    }
    block->printed = (size_t)(to - block->bytes);
}

/* ---- the crew ---------------------------------------------------------------------------------------------------- */

struct crew {
    const struct block_work *work;
    struct line_block *blocks; /* the ring */
    uint64_t slots;
    uint64_t first, next, end; /* numbers of blocks, from 0 on; those from `first` to `end` are in the ring */
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_result;
    bool closing;
    pthread_t threads[MOST_THREADS];
    size_t wanted, started;
};

static struct line_block *block_of(const struct crew *crew, uint64_t number)
{
    return &crew->blocks[number % crew->slots];
}

/* The first block that waits; the lock is held, and released meanwhile. */
static void prepare_next(struct crew *crew)
{
    struct line_block *block = block_of(crew, crew->next++);
    pthread_mutex_unlock(&crew->lock);
    crew->work->prepare(crew->work->context, block);
    pthread_mutex_lock(&crew->lock);
    block->is_done = true;
    pthread_cond_signal(&crew->has_result);
}

static void *help(void *context)
{
    struct crew *crew = context;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (crew->next == crew->end && !crew->closing)
            pthread_cond_wait(&crew->has_work, &crew->lock);
        if (crew->closing)
            break;
        prepare_next(crew);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Without any, the caller does everything. */
static void start_threads(struct crew *crew)
{
    crew->started = crew->wanted = start_quietly(crew->threads, crew->wanted, help, crew);
}

static bool open_crew(struct crew *crew, const struct block_work *work)
{
    uint64_t threads = thread_count(work->threads);
    *crew = (struct crew){.work = work, .slots = threads > 1 ? threads * BLOCKS_A_THREAD : 1, .wanted = threads - 1};
    crew->blocks = calloc(crew->slots, sizeof *crew->blocks);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->has_work, NULL);
    pthread_cond_init(&crew->has_result, NULL);
    return crew->blocks != NULL;
}

static void close_crew(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->closing = true;
    pthread_cond_broadcast(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < crew->started; i++)
        pthread_join(crew->threads[i], NULL);
    for (uint64_t i = 0; crew->blocks && i < crew->slots; i++)
        line_block_release(&crew->blocks[i]);
    free(crew->blocks);
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->has_work);
    pthread_cond_destroy(&crew->has_result);
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

struct progress_of_work {
    bool ended;  /* the input has */
    bool failed; /* reading did */
    bool stopped;
};

/* Without the lock. */
static void read_block(struct crew *crew, struct progress_of_work *progress)
{
    struct line_block *block = block_of(crew, crew->end);
    block->size = block->count = block->printed = block->selected = 0;
    block->is_split = block->no_memory = block->is_done = false;
    progress->failed = !crew->work->read(crew->work->source, block);
    progress->ended = progress->failed || (block->size == 0 && block->count == 0);
    if (progress->ended)
        return;
    bool alone = crew->end == crew->first && (block->size < WORTH_A_THREAD || crew->wanted == 0);
    if (alone)
        crew->work->prepare(crew->work->context, block);
    else if (crew->started < crew->wanted)
        start_threads(crew);
    pthread_mutex_lock(&crew->lock);
    block->is_done = alone;
    crew->next += alone;
    crew->end++;
    pthread_cond_signal(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
}

static bool may_read(const struct crew *crew, const struct progress_of_work *progress)
{
    if (progress->ended || crew->end - crew->first == crew->slots)
        return false;
    return crew->end == crew->first || crew->work->is_ready(crew->work->source);
}

/* The next thing to do, in this order: finish, read, prepare, wait. */
static void go_on(struct crew *crew, struct progress_of_work *progress)
{
    const struct block_work *work = crew->work;
    pthread_mutex_lock(&crew->lock);
    bool any = crew->first < crew->end, ready = any && block_of(crew, crew->first)->is_done;
    if (!ready && !may_read(crew, progress)) {
        if (crew->next < crew->end)
            prepare_next(crew);
        while (crew->next == crew->end && !block_of(crew, crew->first)->is_done)
            pthread_cond_wait(&crew->has_result, &crew->lock);
        pthread_mutex_unlock(&crew->lock);
        return;
    }
    pthread_mutex_unlock(&crew->lock);
    if (!ready) {
        read_block(crew, progress);
        return;
    }
    progress->stopped = !work->finish(work->context, block_of(crew, crew->first)) || interrupted();
    crew->first++;
}

bool work_on_blocks(const struct block_work *work)
{
    struct crew crew;
    struct progress_of_work progress = {0};
    bool enough = false;
    progress.stopped = !open_crew(&crew, work);
    while (!progress.stopped && !enough && !(progress.ended && crew.first == crew.end)) {
        go_on(&crew, &progress);
        enough = work->is_enough && work->is_enough(work->context);
    }
    if (!crew.blocks)
        complain_plainly("no memory for lines");
    close_crew(&crew);
    if (!progress.stopped && !enough && progress.failed)
        work->complain(work->source);
    return !progress.stopped && (enough || !progress.failed) && !interrupted();
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

struct tasks {
    bool (*task)(void *context, size_t number);
    void *context;
    size_t count;
    _Atomic size_t next;
    atomic_bool failed;
};

static void *do_tasks(void *context)
{
    struct tasks *tasks = context;
    for (size_t number; (number = tasks->next++) < tasks->count && !tasks->failed && !interrupted();)
        if (!tasks->task(tasks->context, number))
            tasks->failed = true;
    return NULL;
}

bool work_in_parallel(uint64_t threads, size_t count, bool (*task)(void *context, size_t number), void *context)
{
    struct tasks tasks = {.task = task, .context = context, .count = count};
    pthread_t others[MOST_THREADS];
    size_t wanted = (size_t)thread_count(threads) - 1;
    size_t started = start_quietly(others, wanted < count ? wanted : count, do_tasks, &tasks);
    do_tasks(&tasks);
    for (size_t i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    return !tasks.failed && !interrupted();
}
