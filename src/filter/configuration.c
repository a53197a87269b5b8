#include "configuration.h"

#include <assert.h>
#include <string.h>

#include "../base/binary64.h"
#include "../base/entropy.h"
#include "../base/hash.h"

/* Beside the kind: it grows, by tables or in one table of prefixes. */
#define SERIES   0x10
#define PREFIXES 0x20
/* And an observed-remove set whose semantics are not add-wins. */
#define SEMANTICS 0x80

roost_environment environment_or_default(const roost_environment *environment)
{
    roost_environment complete = environment ? *environment : (roost_environment){0};
    complete.allocator = allocator_or_default(complete.allocator);
    if (complete.memory_limit == 0)
        complete.memory_limit = SIZE_MAX / 8; /* positions of bits are sizes: matters where addresses have 32 bits */
    if (complete.kicks == 0)
        complete.kicks = ROOST_DEFAULT_KICKS;
    complete.entropy = entropy_or_default(complete.entropy);
    return complete;
}

roost_config roost_config_default(void)
{
    return (roost_config){
        .kind = ROOST_BLOOM, .layout = ROOST_BLOCKED, .fpr = 0.01, .seed = ROOST_DEFAULT_SEED, .bucket_size = 4};
}

void write_configuration(const roost_filter *filter, struct bit_writer *writer)
{
    const roost_config *config = filter->config;
    uint8_t form = filter->kind->has_prefixes ? PREFIXES : config->scalable ? SERIES : 0;
    form |= config->semantics ? SEMANTICS : 0;
    write_byte(writer, (uint8_t)config->kind | form);
    write_byte(writer, (uint8_t)config->layout);
    write_varint(writer, config->capacity);
    write_fixed64(writer, bits_of_double(config->fpr));
    write_varint(writer, config->seed ^ ROOST_DEFAULT_SEED);
    write_byte(writer, (uint8_t)config->fingerprint_bits);
    write_byte(writer, (uint8_t)config->bucket_size);
    if (config->scalable) {
        write_varint(writer, config->writers);
        write_byte(writer, (uint8_t)config->growth);
        write_byte(writer, (uint8_t)config->schedule);
    }
    if (config->semantics)
        write_byte(writer, (uint8_t)config->semantics);
    filter->kind->encoding.write_geometry(filter, writer);
}

roost_config read_configuration(struct bit_reader *reader, bool *has_prefixes)
{
    roost_config config = {0};
    uint8_t kind = read_byte(reader), form = kind & (SERIES | PREFIXES), semantics = kind & SEMANTICS;
    config.kind = kind & ~form & ~semantics;
    config.scalable = form != 0;
    *has_prefixes = form == PREFIXES;
    reader->failed |= form == (SERIES | PREFIXES) || (semantics && form != PREFIXES);
    config.layout = read_byte(reader);
    config.capacity = read_varint(reader);
    config.fpr = double_of_bits(read_fixed64(reader));
    config.seed = read_varint(reader) ^ ROOST_DEFAULT_SEED;
    config.fingerprint_bits = read_byte(reader);
    config.bucket_size = read_byte(reader);
    if (config.scalable) {
        uint64_t writers = read_varint(reader);
        config.writers = writers <= UINT32_MAX ? (uint32_t)writers : 0;
        config.growth = read_byte(reader);
        config.schedule = read_byte(reader);
    }
    if (semantics) {
        config.semantics = read_byte(reader);
        reader->failed |= config.semantics == ROOST_ADD_WINS; /* which has a form without */
    }
    return config;
}

size_t configuration_bytes(const roost_filter *filter, uint8_t bytes[CONFIGURATION_ROOM])
{
    struct bit_writer writer = bit_writer_over(bytes, CONFIGURATION_ROOM);
    write_configuration(filter, &writer);
    assert(!writer.failed);
    return writer.buffer.size;
}

bool same_configuration(const roost_filter *filter, const roost_filter *other)
{
    uint8_t bytes[CONFIGURATION_ROOM], other_bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(filter, bytes);
    return size == configuration_bytes(other, other_bytes) && memcmp(bytes, other_bytes, size) == 0;
}

roost_hash configuration_hash(const roost_filter *filter)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(filter, bytes);
    return hash_bytes(filter->config->seed, bytes, size);
}
