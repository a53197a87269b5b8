/*
 * What differs between two hosts' multisets, from the counting cuckoo filters that they have exchanged.
 *
 * Li, Luo, Guo: "Multiset Synchronization with Counting Cuckoo Filters" (2020), section 4. A host knows its own
 * elements and both filters. It wants d_E, the elements that the other lacks, to send them; and d_M, those of which the
 * other has more copies, to make as many itself. The other host finds the rest, in the same way.
 *
 *     by query (Algorithm 4)        for each own element x:  b = the other's count of x
 *                                   b = 0: x is in d_E          b > own count: in d_M, b - own count more
 *     by decoding (Algorithm 5)     for each class of one's own filter: strike it out if the other has it as often or
 *                                   less often, else label it d_M (the other has more) or d_E (the other has none);
 *                                   then look each own element up in what is left
 *
 * Where we differ. (1) *Query.* Algorithm 4 compares the other's count of x, which is that of all elements of x's
 * class, with one's own count of x alone, so a pair of elements that both hosts hold and that share a class passes for
 * a difference at both. A host sees that a class holds more than x: its own filter counts more than x has. For such an
 * element it compares the two filters' counts; if they differ it is not known whose copies they are, and the element
 * is sent, which is always right, because the receiver takes the larger count. Only collisions between elements of
 * different hosts are left to err. Decoding has the slots alone, and cannot know. (2) *Decoding.* The flag bit and the
 * struck-out filter are a map from the classes that are left to the copies that they lack, 0 for d_E: it is as large as
 * the difference, and one's own filter stays as it is. Algorithm 5's look-up can match another slot of the same
 * fingerprint; with one slot for a class there is none.
 *
 * Worked example. Here: swift 3, martin 2. There: swift 5, heron 1. No two share a class. Query: the other counts swift
 * 5: two more; martin 0: to be sent. Decoding: two classes are left, swift's with 2 and martin's with 0.
 */
#include "counting_cuckoo.h"

static struct place place_here(const struct counting_cuckoo *filter, roost_hash hash)
{
    return place_of_hash(hash, filter->table.geometry);
}

/* ---- by query ---------------------------------------------------------------------------------------------------- */

static roost_finding query(const struct counting_cuckoo *here, const struct counting_cuckoo *there,
                           const roost_copies *element)
{
    struct place place = place_here(here, element->hash);
    uint64_t ours = counting_cuckoo_count(here, &place), theirs = counting_cuckoo_count(there, &place);
    bool is_alone = ours == element->count;
    if (theirs == 0)
        return (roost_finding){.missing_there = true};
    if (is_alone)
        return (roost_finding){.fewer_here = theirs > ours ? theirs - ours : 0};
    return (roost_finding){.missing_there = theirs != ours};
}

/* ---- by decoding ------------------------------------------------------------------------------------------------- */

/* What is left of one's own filter: class to copies that it lacks, 0 where the other has none. */
struct remainder {
    const struct counting_cuckoo *here, *there;
    struct stash classes;
};

static bool label_class(void *context, const struct place *place, uint64_t count)
{
    struct remainder *remainder = context;
    uint64_t theirs = counting_cuckoo_count(remainder->there, place);
    if (theirs > 0 && theirs <= count)
        return true;
    return stash_insert(&remainder->classes, &remainder->here->base.environment.allocator,
                        class_key(*place, remainder->here->table.geometry), theirs ? theirs - count : 0);
}

static roost_finding decode(const struct remainder *remainder, const roost_copies *element)
{
    struct place place = place_here(remainder->here, element->hash);
    uint64_t node = stash_find_class(&remainder->classes, class_key(place, remainder->here->table.geometry));
    if (node == NO_NODE)
        return (roost_finding){0};
    uint64_t lacking = remainder->classes.nodes[node].tag;
    return (roost_finding){.missing_there = lacking == 0, .fewer_here = lacking};
}

static roost_status decode_all(const struct counting_cuckoo *here, roost_finding *findings,
                               const struct counting_cuckoo *there, const roost_copies *elements, size_t count)
{
    const roost_allocator *allocator = &here->base.environment.allocator;
    struct remainder remainder = {here, there, {0}};
    bool labelled = counting_cuckoo_visit(here, label_class, &remainder);
    for (size_t i = 0; i < count && labelled; i++)
        findings[i] = decode(&remainder, &elements[i]);
    stash_release(&remainder.classes, allocator);
    return labelled ? ROOST_OK : ROOST_NO_MEMORY;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

roost_status counting_cuckoo_identify(const roost_multiset *here, roost_finding *findings, const roost_multiset *there,
                                      const roost_copies *elements, size_t count, roost_identification method)
{
    const struct counting_cuckoo *ours = as_const_counting_cuckoo(here), *theirs = as_const_counting_cuckoo(there);
    if (method == ROOST_BY_DECODING)
        return decode_all(ours, findings, theirs, elements, count);
    if (method != ROOST_BY_QUERY)
        return ROOST_INVALID;
    for (size_t i = 0; i < count; i++)
        findings[i] = query(ours, theirs, &elements[i]);
    return ROOST_OK;
}
