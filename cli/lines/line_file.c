/*
 * Lines are not kept in memory: a session knows a key by its hash and its line number. The few lines that differ are
 * read from the file once more. So a file of ten million lines takes no more memory than their hashes.
 */
#define _GNU_SOURCE
#include "line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "lines.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/base/progress.h"

#define LINES_AT_ONCE  4096
#define COPIED_AT_ONCE ((size_t)256 << 10)

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static int open_nameless(void)
{
    const char *directory = getenv("TMPDIR");
    char path[4096];
    if (!directory || !*directory)
        directory = "/tmp";
    int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || snprintf(path, sizeof path, "%s/roost-XXXXXX", directory) >= (int)sizeof path)
        return descriptor;
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0)
        unlink(path);
    return descriptor;
}

static void show_copied(uint64_t bytes)
{
    char size[COUNT_ROOM];
    format_bytes(size, bytes);
    progress_note("%s read", size);
}

static bool copy_all(int to, int from)
{
    uint64_t copied = 0;
    char *bytes = malloc(COPIED_AT_ONCE);
    ssize_t got = bytes ? 1 : -1;
    while (got > 0 && !interrupted()) {
        got = read(from, bytes, COPIED_AT_ONCE);
        if (got < 0 && errno == EINTR && !interrupted()) {
            got = 1;
            continue;
        }
        if (got > 0 && write(to, bytes, (size_t)got) != got)
            got = -1;
        if (got > 0)
            show_copied(copied += (uint64_t)got);
    }
    free(bytes);
    return got == 0;
}

static bool make_copy(struct line_file *file)
{
    int copy = open_nameless();
    bool fine = copy >= 0 && copy_all(copy, file->descriptor);
    if (!fine)
        complain(file->name, "cannot be copied to a temporary file: %s", strerror(errno));
    close(file->descriptor);
    file->descriptor = copy;
    file->is_copy = true;
    return fine && (fstat(copy, &file->version) == 0 || complain(file->name, "%s", strerror(errno)));
}

/* Roost's own files begin with four letters and a small number (docs/format.md), which no text does. */
static bool is_filter(const struct line_file *file)
{
    char start[5];
    return pread(file->descriptor, start, sizeof start, 0) == sizeof start && memcmp(start, "Rost", 4) == 0 &&
           start[4] > 0 && start[4] < '\t';
}

bool line_file_open(struct line_file *file, const char *name)
{
    *file = (struct line_file){.name = name, .descriptor = open(name, O_RDONLY | O_CLOEXEC)};
    if (file->descriptor < 0 || fstat(file->descriptor, &file->version) != 0)
        return complain(name, "%s", strerror(errno));
    if (S_ISDIR(file->version.st_mode))
        return complain(name, "%s", strerror(EISDIR));
    if (!S_ISREG(file->version.st_mode))
        return make_copy(file);
    return !is_filter(file) ||
           complain(name, "is a filter, not a file of lines; roost sync and roost digest compare filters");
}

void line_file_close(struct line_file *file)
{
    if (file->name && file->descriptor >= 0)
        close(file->descriptor);
    *file = (struct line_file){.descriptor = -1};
}

bool line_file_is_unchanged(const struct line_file *file)
{
    struct stat now;
    if (fstat(file->descriptor, &now) != 0)
        return complain(file->name, "%s", strerror(errno));
    const struct stat *before = &file->version;
    bool same = now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
    return same || complain(file->name, "changed while it was read; try again");
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

bool line_picker_open(struct line_picker *picker, struct line_file *file)
{
    *picker = (struct line_picker){.file = file, .reader = malloc(sizeof *picker->reader)};
    picker->lines = malloc(LINES_AT_ONCE * sizeof *picker->lines);
    if (!picker->reader || !picker->lines || lseek(file->descriptor, 0, SEEK_SET) < 0) {
        free(picker->reader);
        picker->reader = NULL;
        return complain(file->name, "%s", strerror(errno));
    }
    line_reader_open(picker->reader, file->descriptor);
    picker->reader->name = file->name;
    return true;
}

void line_picker_close(struct line_picker *picker)
{
    if (picker->reader)
        line_reader_close(picker->reader);
    free(picker->reader);
    free(picker->lines);
    *picker = (struct line_picker){0};
}

/* The next line; *line has no data at the end. */
static bool next_line(struct line_picker *picker, roost_bytes *line)
{
    if (picker->next == picker->count) {
        picker->next = 0;
        if (!line_reader_next(picker->reader, picker->lines, &picker->count, LINES_AT_ONCE))
            return false;
    }
    *line = picker->next < picker->count ? picker->lines[picker->next++] : (roost_bytes){NULL, 0};
    picker->number++;
    return true;
}

bool line_picker_take(struct line_picker *picker, roost_bytes *line, uint64_t number)
{
    do
        if (!next_line(picker, line))
            return false;
    while (line->data && picker->number <= number);
    return line->data || complain(picker->file->name, "changed while it was read; try again");
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
    (void)reader;
    return true; /* it is a regular file */
}

bool line_file_rewind(struct line_file *file)
{
    return lseek(file->descriptor, 0, SEEK_SET) == 0 || complain(file->name, "%s", strerror(errno));
}

bool line_file_work(struct line_file *file, struct block_work work)
{
    struct line_reader reader;
    if (!line_file_rewind(file))
        return false;
    line_reader_open(&reader, file->descriptor);
    reader.name = file->name;
    work.read = read_lines;
    work.complain = complain_of_reading;
    work.is_ready = is_ready;
    work.source = &reader;
    bool fine = work_on_blocks(&work);
    line_reader_close(&reader);
    return fine && line_file_is_unchanged(file);
}
