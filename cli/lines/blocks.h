/* Lines in blocks, which several threads work on. */
#ifndef CLI_LINES_BLOCKS_H
#define CLI_LINES_BLOCKS_H

#include "roost.h"

/* All zero is empty. A block keeps its memory for the lines that come next. */
struct line_block {
    char *bytes;        /* lines with their terminators; the last line of an input may have none */
    size_t size, room;  /* of the bytes; at least one byte is left */
    roost_bytes *lines; /* in `bytes`, in order and not adjacent: between two of them is room for a terminator */
    roost_hash *hashes; /* of the lines, if they were asked for */
    bool *marks;        /* one for each line, for whoever works on them */
    size_t count, lines_room;
    bool is_split;     /* `lines` are there already */
    bool no_memory;    /* `lines` are not */
    size_t printed;    /* bytes at the front that are the output */
    uint64_t selected; /* how many lines that is */
    bool is_done;
};

void line_block_release(struct line_block *block);
/* Makes room for so many bytes and one more; what was there stays. False without memory. */
bool line_block_reserve(struct line_block *block, size_t bytes);
/* The same for lines. */
bool line_block_reserve_lines(struct line_block *block, size_t count);
/* Finds the lines, unless they are there. */
void line_block_split(struct line_block *block, char terminator);
/* Replaces the bytes by the lines whose mark is `wanted`, each with the terminator: block->printed, block->selected. */
void line_block_select(struct line_block *block, bool wanted, char terminator);

/* What is done with all blocks of an input. */
struct block_work {
    /* Reads the next block, in the thread of the caller; it stays empty at the end. False: an error, of which
       `complain` tells once the blocks before it are finished. */
    bool (*read)(void *source, struct line_block *block);
    void (*complain)(void *source);
    /* Whether a read would not wait. */
    bool (*is_ready)(void *source);
    void *source;
    /* Does the part of the work that needs no order, in any thread: several at a time. It must not print. */
    void (*prepare)(void *context, struct line_block *block);
    /* Does the rest, in the thread of the caller and in the order of the input. False: stop, after a message. */
    bool (*finish)(void *context, struct line_block *block);
    /* Whether enough was read; NULL: never. */
    bool (*is_enough)(void *context);
    void *context;
    uint64_t threads; /* 0: one for each processor, up to 8 */
};

/* Returns false after an error or a signal. What was read before an error is finished first. */
bool work_on_blocks(const struct block_work *work);

/* Calls `task` for the numbers below `count`, by several threads, in no order. After a signal, or once a task has
   returned false, the others are left out; returns false then. */
bool work_in_parallel(uint64_t threads, size_t count, bool (*task)(void *context, size_t number), void *context);

/* The option, for the tables of verbs. */
#define THREADS_OPTION(place_of, before)                                                                               \
    {                                                                                                                  \
        .name = "threads", .type = OPTION_COUNT, .place = &(place_of), .value = "N", .least = 1, .most = 64,           \
        .help = before "use N threads (default: one for each processor, up to 8); the result is the same"              \
    }

#endif
