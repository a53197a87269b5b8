/*
 * A rateless invertible Bloom look-up table: symbols are sent until the peer has enough, and their number follows the
 * difference, about 1.4 for each element of a large one.
 *
 * L. Yang, Y. Gilad and M. Alizadeh, "Practical Rateless Set Reconciliation" (2024). Symbol i sums up some of the
 * elements, each with probability 1 / (1 + i / 2), the first one all:
 *
 *     symbol    XOR of the elements' 64-bit names | XOR of 32-bit checks of these | how many
 *
 * The initiator subtracts the symbols of its own set; what both have cancels. A symbol that is left with one element
 * is known by its check; it is taken out of all the other symbols that it is in, which makes more of them known. When
 * the first symbol is empty, all is found.
 *
 * An element's next symbol is drawn from the last one, i, as i + ceil((i + 1.5) (1 / sqrt(u) - 1)) with u uniform in
 * (0, 1], which gives the probabilities above. Here it is computed in whole numbers but for one square root, which IEEE
 * 754 defines to the last bit, so that all machines draw the same.
 *
 *     initiator                               responder
 *     OPENING  nothing more              -->
 *                                        <--  SYMBOLS   number of keys | sixteen symbols
 *     WANT     how many more             -->
 *                                        <--  SYMBOLS   ...
 *     FOUND    the first 48 bits of the  -->
 *              names that are only there;
 *              weight of what is common  <--  ENDING, or AGAIN: begin again with other names
 *     SWITCH   opening of the exact method: the difference is so large that its lists are shorter
 *
 * Where we differ: counts are sent as their difference from the expectation; both sides learn the result; and there is
 * a bound on the symbols.
 *
 * The bound. How many symbols come next follows from how many there are (symbols_more), and the exact method takes over
 * once there are more than half as many as the smaller set has keys (symbols_suffice). The responder checks both: WANT
 * of another number, or beyond that bound, is refused. So what it allocates and sends follows its own set, whatever the
 * peer asks for and however many keys it claims to have.
 */
#include "reconcile.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../base/sort.h"
#include "../sync/ranges.h"

enum riblt_message {
    SYMBOLS = FIRST_OF_METHOD,
    WANT,
    FOUND,
    AGAIN,
    SWITCH,
};

#define FIRST_SYMBOLS 16
#define MOST_ATTEMPTS 4
#define NAME_BITS     48
#define SYMBOL_BITS   97 /* at least */

struct symbol {
    uint64_t names;
    uint32_t checks;
    int64_t count;
};

/* The next symbol that an element is in. */
struct orbit {
    uint64_t random;
    uint64_t next;
};

/* An element of the difference. */
struct found {
    uint64_t name;
    bool only_here;
    struct orbit place; /* beyond the symbols that are there */
};

struct riblt {
    uint32_t attempt;
    struct orbit *places; /* one for each element */
    struct symbol *symbols;
    size_t count, room;
    struct found *found;
    size_t found_count, found_room;
};

static struct riblt *riblt_of(const struct roost_reconcile *session)
{
    return session->state;
}

/* How many are asked for when there are so many: few at once, since what is too much is wasted, but not many times. */
static size_t symbols_more(size_t count)
{
    return count == 0 ? FIRST_SYMBOLS : count < 64 ? count / 2 : count / 5;
}

/* So many are never exceeded: from there on the lists of the exact method are shorter. */
static bool symbols_suffice(const struct roost_reconcile *session, size_t count)
{
    uint64_t fewer = session->set.count < session->peer_keys ? session->set.count : session->peer_keys;
    return count > FIRST_SYMBOLS + fewer / 2 || count > MOST_MESSAGE / 16;
}

/* ---- names and places ------------------------------------------------------------------------------------------- */

static struct element_key name_key(const struct roost_reconcile *session)
{
    return session_key(session, (uint64_t)riblt_of(session)->attempt << 32 | FOR_SYMBOLS);
}

static uint32_t check_of(uint64_t salt, uint64_t name)
{
    return (uint32_t)(multiply_and_fold(name ^ salt, UINT64_C(0xe7037ed1a0b428db)) >> 16);
}

static struct orbit first_orbit(uint64_t name)
{
    return (struct orbit){name, 0};
}

/*
 * With 1 / sqrt(u) as a fraction of 2^20. Both sides have to find the same place, so this is the one computation in
 * floating point that they must agree on: a conversion, a square root and a division, which IEEE 754 rounds alike
 * everywhere. (Rounding down the true value would differ for three of the 2^32 numbers.)
 */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD > 1
#error "Roost needs doubles as IEEE 754 has them: without -ffast-math, and not in wider registers"
#endif
static void next_place(struct orbit *place)
{
    place->random = place->random * UINT64_C(0xd1342543de82ef95) + UINT64_C(0x9e3779b97f4a7c15);
    uint64_t uniform = (multiply_and_fold(place->random, UINT64_C(0x9fb21c651e98df25)) >> 32) + 1;
    uint64_t root = (uint64_t)(68719476736.0 / sqrt((double)uniform));
    uint128 product = (uint128)(2 * place->next + 3) * (root - (1u << 20));
    uint64_t gap = (uint64_t)((product + (1u << 21) - 1) >> 21);
    place->next += gap ? gap : 1;
    if (place->next > UINT32_MAX)
        place->next = UINT64_MAX >> 8; /* never: no symbol has that number */
}

/* ---- symbols ---------------------------------------------------------------------------------------------------- */

static void put(struct symbol *symbol, uint64_t name, uint32_t check, int sign)
{
    symbol->names ^= name;
    symbol->checks ^= check;
    symbol->count += sign;
}

static roost_status make_room(struct roost_reconcile *session, size_t more)
{
    struct riblt *riblt = riblt_of(session);
    const roost_allocator *allocator = session_allocator(session);
    size_t wanted = riblt->count + more;
    if (wanted <= riblt->room)
        return ROOST_OK;
    size_t room = wanted + wanted / 2;
    struct symbol *larger = memory_allocate(allocator, room * sizeof *larger);
    if (!larger)
        return ROOST_NO_MEMORY;
    if (riblt->count)
        memcpy(larger, riblt->symbols, riblt->count * sizeof *larger);
    memory_release(allocator, riblt->symbols);
    riblt->symbols = larger;
    riblt->room = room;
    return ROOST_OK;
}

static roost_status make_places(struct roost_reconcile *session)
{
    struct riblt *riblt = riblt_of(session);
    struct element_key key = name_key(session);
    size_t count = session->set.count;
    if (!riblt->places)
        riblt->places = memory_allocate(session_allocator(session), (count + 1) * sizeof *riblt->places);
    if (!riblt->places)
        return ROOST_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        riblt->places[i] = first_orbit(element_hash(key, &session->set.elements[i]));
    return ROOST_OK;
}

/* Adds our elements to the symbols from riblt->count up to `end`. */
static void add_elements(struct roost_reconcile *session, size_t end, int sign)
{
    struct riblt *riblt = riblt_of(session);
    struct element_key key = name_key(session);
    for (size_t i = 0; i < session->set.count; i++) {
        struct orbit *place = &riblt->places[i];
        if (place->next >= end)
            continue;
        uint64_t name = element_hash(key, &session->set.elements[i]);
        uint32_t check = check_of(session->salt, name);
        for (; place->next < end; next_place(place))
            put(&riblt->symbols[place->next], name, check, sign);
    }
}

/* How many elements of a set of that size a symbol has, on average. */
static int64_t expected_count(uint64_t keys, size_t symbol)
{
    return (int64_t)(2 * keys / (symbol + 2));
}

/* Small numbers of either sign as numbers from 1 on. */
static uint64_t fold_sign(int64_t number)
{
    return number < 0 ? (uint64_t)(-(number + 1)) * 2 + 2 : (uint64_t)number * 2 + 1;
}

static int64_t unfold_sign(uint64_t number)
{
    return number & 1 ? (int64_t)((number - 1) / 2) : -(int64_t)(number / 2 - 1) - 1;
}

static roost_status write_symbols(struct roost_reconcile *session, struct bit_writer *writer, uint64_t more)
{
    struct riblt *riblt = riblt_of(session);
    if (more != symbols_more(riblt->count) || symbols_suffice(session, riblt->count))
        return ROOST_PROTOCOL;
    roost_status status = make_room(session, more);
    if (status != ROOST_OK)
        return status;
    size_t from = riblt->count, end = from + more;
    memset(riblt->symbols + from, 0, more * sizeof *riblt->symbols);
    add_elements(session, end, 1);
    write_byte(writer, SYMBOLS);
    if (from == 0)
        write_varint(writer, session->set.count);
    for (size_t i = from; i < end; i++) {
        const struct symbol *symbol = &riblt->symbols[i];
        write_bits(writer, symbol->names, 32);
        write_bits(writer, symbol->names >> 32, 32);
        write_bits(writer, symbol->checks, 32);
        write_gamma(writer, fold_sign(symbol->count - expected_count(session->set.count, i)));
    }
    riblt->count = end;
    return ROOST_OK;
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

static roost_status note_found(struct roost_reconcile *session, struct found found)
{
    struct riblt *riblt = riblt_of(session);
    const roost_allocator *allocator = session_allocator(session);
    if (riblt->found_count == riblt->found_room) {
        size_t room = riblt->found_room ? 2 * riblt->found_room : 64;
        struct found *larger = memory_allocate(allocator, room * sizeof *larger);
        if (!larger)
            return ROOST_NO_MEMORY;
        if (riblt->found_count)
            memcpy(larger, riblt->found, riblt->found_count * sizeof *larger);
        memory_release(allocator, riblt->found);
        riblt->found = larger;
        riblt->found_room = room;
    }
    riblt->found[riblt->found_count++] = found;
    return ROOST_OK;
}

static bool holds_one(const struct roost_reconcile *session, const struct symbol *symbol)
{
    return (symbol->count == 1 || symbol->count == -1) && check_of(session->salt, symbol->names) == symbol->checks;
}

/* The symbols that an element is in and that may hold just one now, as a stack. */
struct stack {
    size_t *symbols;
    size_t count;
    uint8_t *waiting; /* whether a symbol is on it */
};

static void push_if_one(const struct roost_reconcile *session, struct stack *stack, size_t symbol)
{
    if (stack->waiting[symbol] || !holds_one(session, &riblt_of(session)->symbols[symbol]))
        return;
    stack->waiting[symbol] = 1;
    stack->symbols[stack->count++] = symbol;
}

/* Takes the one element of a symbol out of all. */
static roost_status peel(struct roost_reconcile *session, struct stack *stack, size_t number)
{
    struct riblt *riblt = riblt_of(session);
    struct symbol symbol = riblt->symbols[number];
    struct found found = {symbol.names, symbol.count < 0, first_orbit(symbol.names)};
    for (; found.place.next < riblt->count; next_place(&found.place)) {
        put(&riblt->symbols[found.place.next], symbol.names, symbol.checks, symbol.count < 0 ? 1 : -1);
        push_if_one(session, stack, found.place.next);
    }
    return note_found(session, found);
}

/* More elements than there are symbols are never found: the peer's symbols are forged. */
static roost_status peel_all(struct roost_reconcile *session, struct stack *stack)
{
    struct riblt *riblt = riblt_of(session);
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < riblt->count; i++)
        push_if_one(session, stack, i);
    while (stack->count > 0 && status == ROOST_OK) {
        size_t number = stack->symbols[--stack->count];
        stack->waiting[number] = 0;
        if (!holds_one(session, &riblt->symbols[number]))
            continue;
        status = riblt->found_count < riblt->count ? peel(session, stack, number) : ROOST_CORRUPT;
    }
    return status;
}

static roost_status decode_symbols(struct roost_reconcile *session)
{
    struct riblt *riblt = riblt_of(session);
    const roost_allocator *allocator = session_allocator(session);
    struct stack stack = {memory_allocate(allocator, (riblt->count + 1) * sizeof *stack.symbols), 0,
                          memory_allocate(allocator, riblt->count + 1)};
    roost_status status = stack.symbols && stack.waiting ? peel_all(session, &stack) : ROOST_NO_MEMORY;
    memory_release(allocator, stack.symbols);
    memory_release(allocator, stack.waiting);
    return status;
}

/* Subtracts what is ours, and what was found, from symbols that just came. */
static void take_out_known(struct roost_reconcile *session, size_t end)
{
    struct riblt *riblt = riblt_of(session);
    add_elements(session, end, -1);
    for (size_t i = 0; i < riblt->found_count; i++) {
        struct found *found = &riblt->found[i];
        uint32_t check = check_of(session->salt, found->name);
        for (; found->place.next < end; next_place(&found->place))
            put(&riblt->symbols[found->place.next], found->name, check, found->only_here ? 1 : -1);
    }
    riblt->count = end;
}

static roost_status read_symbols(struct roost_reconcile *session, struct bit_reader *reader)
{
    struct riblt *riblt = riblt_of(session);
    size_t from = riblt->count, more = symbols_more(from);
    bool fits = from > 0 || session_know_peer(session, read_varint(reader));
    if (reader->failed || !fits || reader_bits_left(reader) / SYMBOL_BITS < more)
        return ROOST_CORRUPT;
    roost_status status = make_room(session, more);
    for (size_t i = from; i < from + more && status == ROOST_OK; i++) {
        struct symbol *symbol = &riblt->symbols[i];
        symbol->names = read_bits(reader, 32);
        symbol->names |= read_bits(reader, 32) << 32;
        symbol->checks = (uint32_t)read_bits(reader, 32);
        uint64_t folded = read_gamma(reader);
        if (reader->failed || folded > UINT64_C(1) << 34)
            return ROOST_CORRUPT;
        symbol->count = unfold_sign(folded) + expected_count(session->peer_keys, i);
    }
    if (status != ROOST_OK)
        return status;
    read_alignment(reader);
    if (reader->failed || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    take_out_known(session, from + more);
    return decode_symbols(session);
}

/* ---- what was found --------------------------------------------------------------------------------------------- */

static bool is_empty(const struct symbol *symbol)
{
    return symbol->count == 0 && symbol->names == 0 && symbol->checks == 0;
}

static bool is_listed(const uint64_t *names, size_t count, uint64_t name)
{
    size_t from = 0;
    for (size_t to = count; from < to;) {
        size_t middle = from + (to - from) / 2;
        if (names[middle] < name)
            from = middle + 1;
        else
            to = middle;
    }
    return from < count && names[from] == name;
}

/* Marks those of our elements whose names, shortened, are listed; answers how many. */
static size_t mark_listed(struct roost_reconcile *session, const uint64_t *names, size_t count)
{
    struct element_key key = name_key(session);
    size_t marked = 0;
    for (size_t i = 0; i < session->set.count; i++) {
        struct element *element = &session->set.elements[i];
        bool listed = is_listed(names, count, element_hash(key, element) >> (64 - NAME_BITS));
        element->marks = listed ? ONLY_HERE : 0;
        marked += listed;
    }
    return marked;
}

/* The shortened names of one direction, ascending, each once; NULL without memory. */
static uint64_t *names_found(struct roost_reconcile *session, bool only_here, size_t *count)
{
    struct riblt *riblt = riblt_of(session);
    const roost_allocator *allocator = session_allocator(session);
    uint64_t *names = memory_allocate(allocator, (riblt->found_count + 1) * sizeof *names);
    uint64_t *scratch = memory_allocate(allocator, (riblt->found_count + 1) * sizeof *scratch);
    *count = 0;
    for (size_t i = 0; names && scratch && i < riblt->found_count; i++)
        if (riblt->found[i].only_here == only_here)
            names[(*count)++] = riblt->found[i].name >> (64 - NAME_BITS);
    if (names && scratch)
        sort_numbers(names, scratch, *count, NAME_BITS);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || names[kept - 1] != names[i])
            names[kept++] = names[i];
    *count = kept;
    memory_release(allocator, scratch ? scratch : names);
    return scratch ? names : NULL;
}

static roost_status begin_again(struct roost_reconcile *session)
{
    struct riblt *riblt = riblt_of(session);
    if (++riblt->attempt > MOST_ATTEMPTS)
        return ROOST_CORRUPT;
    riblt->count = riblt->found_count = 0;
    return make_places(session);
}

static void write_want(struct bit_writer *writer, uint64_t more)
{
    write_byte(writer, WANT);
    write_varint(writer, more);
}

/* A hash of what is common, and of how many keys the initiator has. */
static uint64_t check_of_common(const struct roost_reconcile *session, uint64_t keys)
{
    return (uint64_t)session_common(session) + keys * UINT64_C(0x9e3779b97f4a7c15);
}

/* All is found; what is only there must be none of ours. */
static roost_status write_found(struct roost_reconcile *session, struct bit_writer *writer)
{
    const roost_allocator *allocator = session_allocator(session);
    size_t here, there;
    uint64_t *only_here = names_found(session, true, &here), *only_there = names_found(session, false, &there);
    roost_status status = only_here && only_there ? ROOST_OK : ROOST_NO_MEMORY;
    if (status == ROOST_OK &&
        (mark_listed(session, only_there, there) != 0 || mark_listed(session, only_here, here) != here)) {
        status = begin_again(session); /* two elements share a name, or the start of one */
        write_byte(writer, AGAIN);
    } else if (status == ROOST_OK) {
        session->result.only_there = there;
        write_byte(writer, FOUND);
        write_numbers(writer, only_there, there, UINT64_C(1) << NAME_BITS);
        write_fixed64(writer, check_of_common(session, session->set.count));
    }
    memory_release(allocator, only_here);
    memory_release(allocator, only_there);
    return status;
}

static roost_status take_found(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    uint64_t count, *names = read_numbers(reader, &count, UINT64_C(1) << NAME_BITS, session_allocator(session));
    uint64_t common = read_fixed64(reader);
    if (!names || reader->failed || reader_bits_left(reader) != 0) {
        memory_release(session_allocator(session), names);
        return names || reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
    }
    size_t marked = mark_listed(session, names, count);
    memory_release(session_allocator(session), names);
    uint64_t in_common = session->set.count - marked;
    if (marked == count && in_common <= session->peer_keys && check_of_common(session, session->peer_keys) == common) {
        session->result.only_there = session->peer_keys - in_common;
        return session_end(session, writer);
    }
    write_byte(writer, AGAIN);
    return begin_again(session);
}

/* ---- the conversation ------------------------------------------------------------------------------------------- */

static void release_riblt(struct roost_reconcile *session)
{
    struct riblt *riblt = riblt_of(session);
    const roost_allocator *allocator = session_allocator(session);
    memory_release(allocator, riblt->places);
    memory_release(allocator, riblt->symbols);
    memory_release(allocator, riblt->found);
}

static roost_status open_riblt(struct roost_reconcile *session, struct bit_writer *writer)
{
    (void)writer;
    return make_places(session);
}

static roost_status answer_riblt(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    if (reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    roost_status status = make_places(session);
    return status == ROOST_OK ? write_symbols(session, writer, FIRST_SYMBOLS) : status;
}

static roost_status switch_method(struct roost_reconcile *session, struct bit_writer *writer)
{
    write_byte(writer, SWITCH);
    roost_status status = session_switch(session, &reconcile_exact);
    return status == ROOST_OK ? session->method->open(session, writer) : status;
}

static roost_status take_symbols(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct riblt *riblt = riblt_of(session);
    roost_status status = read_symbols(session, reader);
    if (status != ROOST_OK)
        return status;
    if (is_empty(&riblt->symbols[0]))
        return write_found(session, writer);
    if (symbols_suffice(session, riblt->count))
        return switch_method(session, writer);
    write_want(writer, symbols_more(riblt->count));
    return ROOST_OK;
}

static roost_status take_as_answering(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                                      struct bit_writer *writer)
{
    roost_status status;
    switch (type) {
    case WANT: {
        uint64_t more = read_varint(reader);
        return reader->failed || reader_bits_left(reader) != 0 ? ROOST_CORRUPT : write_symbols(session, writer, more);
    }
    case FOUND:
        return take_found(session, reader, writer);
    case AGAIN:
        status = reader_bits_left(reader) == 0 ? begin_again(session) : ROOST_CORRUPT;
        return status == ROOST_OK ? write_symbols(session, writer, FIRST_SYMBOLS) : status;
    case SWITCH:
        status = session_switch(session, &reconcile_exact);
        return status == ROOST_OK ? session->method->answer(session, reader, writer) : status;
    default:
        return ROOST_PROTOCOL;
    }
}

static roost_status take_riblt(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                               struct bit_writer *writer)
{
    if (!session->initiator)
        return take_as_answering(session, type, reader, writer);
    if (type == SYMBOLS)
        return take_symbols(session, reader, writer);
    if (type != AGAIN || reader_bits_left(reader) != 0)
        return ROOST_PROTOCOL;
    roost_status status = begin_again(session);
    write_want(writer, FIRST_SYMBOLS);
    return status;
}

const struct reconcile_method reconcile_riblt = {sizeof(struct riblt), open_riblt,    answer_riblt,
                                                 take_riblt,           release_riblt, .sets_only = true};
