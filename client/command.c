/* hiredis writes the bytes; see command.h. */
#include "command.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *format_words(struct words command, size_t *size)
{
    assert(command.count > 0);
    const char **words = malloc(command.count * sizeof *words);
    size_t *sizes = malloc(command.count * sizeof *sizes);
    char *bytes = NULL;
    for (size_t i = 0; words && sizes && i < command.count; i++) {
        words[i] = (const char *)command.words[i].data;
        sizes[i] = command.words[i].size;
    }
    int length = words && sizes ? redisFormatCommandArgv(&bytes, (int)command.count, words, sizes) : -1;
    *size = length < 0 ? 0 : (size_t)length;
    free(words);
    free(sizes);
    return length < 0 ? NULL : bytes;
}

char *format_texts(size_t *size, const char *word, ...)
{
    roost_bytes words[8];
    size_t count = 0;
    va_list more;
    va_start(more, word);
    for (; word && count < sizeof words / sizeof *words; word = va_arg(more, const char *))
        words[count++] = (roost_bytes){(const uint8_t *)word, strlen(word)};
    va_end(more);
    return format_words((struct words){words, count}, size);
}

bool is_error(const struct redisReply *reply, const char *begin)
{
    return reply && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, begin, strlen(begin)) == 0;
}
