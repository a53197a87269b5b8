#!/usr/bin/env bash
# Merging files: nothing is lost, order does not matter, and what does not fit is named.
. "$(dirname "$0")/harness.sh"

for kind in bloom cuckoo; do
    rm -f ./*
    "$ROOST" create a.roost --kind $kind --capacity 10000
    seq 1 1000 | "$ROOST" add a.roost
    cp a.roost b.roost
    seq 1001 3000 | "$ROOST" add a.roost
    seq 2501 5000 | "$ROOST" add b.roost
    cp a.roost a-before
    cp b.roost b-before
    gives "$kind: merge is silent" 0 '' merge a.roost b.roost
    is "$kind: a copy, both added to, merged: nothing is lost" 5000 "$(seq 1 5000 | "$ROOST" check -c a.roost)"
    holds "$kind: the source is as it was" cmp b.roost b-before
    "$ROOST" merge b.roost a-before
    holds "$kind: the other way round gives the same bytes" cmp a.roost b.roost
    is "$kind: and the same digest" "$(digest a.roost)" "$(digest b.roost)"
    rm -f direct
    "$ROOST" create direct --kind $kind --capacity 10000
    seq 5000 -1 1 | "$ROOST" add direct
    holds "$kind: so do the same keys in another order" cmp a.roost direct
    before=$(snapshot)
    gives "$kind: again: nothing new" 0 '' merge a.roost b.roost a.roost b-before
    is "$kind: again: the file is left alone" "$before" "$(snapshot)"
    gives "$kind: merge with itself" 0 '' merge a.roost a.roost
    "$ROOST" merge fresh a-before b-before
    holds "$kind: a destination that is missing is made" cmp fresh a.roost
    [ "$(digest a-before)" != "$(digest b-before)" ] && [ "$(digest a-before)" != "$(digest a.roost)" ]
    verdict "$kind: other contents, other digests"
done

# A cuckoo filter takes in more than its capacity when it merges, and all of it is found.
"$ROOST" create c1 --kind cuckoo --capacity 1000
cp c1 c2
cp c1 c3
seq 1 1000 | "$ROOST" add c1
seq 1001 2000 | "$ROOST" add c2
seq 2001 3000 | "$ROOST" add c3
"$ROOST" merge c1 c2 c3
is "merge never refuses for lack of room" 3000 "$(seq 1 3000 | "$ROOST" check -c c1)"

# ---- all or nothing -------------------------------------------------------------------------------------------------------

rm -f ./*
"$ROOST" create f --capacity 1000
"$ROOST" create g --capacity 1000
"$ROOST" add g from-g
echo text >bad
refuses "one bad source stops all" '^roost: bad: not a Roost filter' merge f g bad
refuses "one bad source stops all, whatever the order" '^roost: bad: not a Roost filter' merge f bad g
refuses "one bad source makes no new file" '^roost: bad: not a Roost filter' merge new g bad
refuses "one missing source stops all" '^roost: missing: No such file' merge f g missing
gives "what a refused merge did not add" 1 '' check f from-g
gives "-v says what happened" 0 'merged; about 1 element' merge -v f g
gives "-v says that nothing did" 0 'nothing new; about 1 element' merge -v f g
gives "--json says it" 0 '{"changed":false,"elements":1,"promise_holds":true}' merge --json f g

# ---- what does not fit ------------------------------------------------------------------------------------------------------

# differs NAME PATTERN ARGUMENT...: a filter made with these arguments does not merge into `base`.
differs() {
    local name=$1 pattern=$2
    shift 2
    rm -f other
    "$ROOST" create other "$@"
    refuses "another $name" "^roost: other: does not merge into base: its $pattern$" merge base other
}
"$ROOST" create base --capacity 1000
differs kind 'kind is cuckoo, not bloom' --capacity 1000 --kind cuckoo
differs layout 'layout is classic, not blocked' --capacity 1000 --layout classic
differs capacity 'capacity is 2000, not 1000' --capacity 2000
differs fpr 'fpr is 0.02, not 0.01' --capacity 1000 --fpr 2%
differs seed 'seed is 0x7, not 0x526f6f7374' --capacity 1000 --seed 7
differs "first field that differs" 'capacity is 2000, not 1000' --capacity 2000 --fpr 2% --seed 7
rm -f base
"$ROOST" create base --capacity 1000 --kind cuckoo --bits 12 --fpr 5%
differs "number of bits" 'bits is 13, not 12' --capacity 1000 --kind cuckoo --bits 13 --fpr 5%
differs bucket 'bucket is 8, not 4' --capacity 1000 --kind cuckoo --bits 12 --fpr 5% --bucket 8
rm -f base
"$ROOST" create base --capacity 1000 --kind orcuckoo
differs kind 'kind is cuckoo, not orcuckoo' --capacity 1000 --kind cuckoo
differs mode 'mode is multiset, not set' --capacity 1000 --kind orcuckoo --multiset
rm -f base
"$ROOST" create base --capacity 1000 --kind orcuckoo --multiset --bits 8
differs entry 'entry is 32, not 64' --capacity 1000 --kind orcuckoo --multiset --entry 32
rm -f base other
"$ROOST" create base --capacity 1000 --fpr 0.1%
"$ROOST" create other --capacity 1k --fpr 1e-3
"$ROOST" add other x
gives "0.1% and 1e-3 are the same rate" 0 '' merge base other

# The capacity of a set is a number of elements, however many replicas added each of them.
seq 1 1000 >keys
for copy in 1 2 3 4 5; do
    "$ROOST" create set$copy --capacity 1000 --kind orcuckoo --bits 24
    "$ROOST" add set$copy <keys >/dev/null
done
for copy in 1 2; do
    "$ROOST" create half$copy --capacity 1000 --kind orcuckoo --bits 24
    head -n 500 keys | "$ROOST" add half$copy >/dev/null
done
gives "two replicas have the same half of the keys" 0 '' merge half1 half2
gives "the other half fits" 0 '' add half1 $(tail -n 500 keys)
json_says "they are as many elements as keys" "r['elements'] == 1000 and r['promise_holds']" info half1 --json
gives "five replicas have the same keys" 0 '' merge set1 set2 set3 set4 set5
json_says "which count once" "r['elements'] == 1000 and r['entries'] == 5000 and r['promise_holds']" info set1 --json
gives "and can be added again" 0 '' add set1 $(cat keys)
json_says "in the place of all" "r['elements'] == r['entries'] == 1000" info set1 --json
for copy in 1 2; do
    "$ROOST" create grown$copy --capacity 10 --kind orcuckoo --scalable
    if [ $copy = 1 ]; then sort -n keys; else sort -rn keys; fi | "$ROOST" add grown$copy >/dev/null
done
"$ROOST" merge grown1 grown2 >/dev/null
json_says "an element in several tables counts once" "r['elements'] == 1000 and r['promise_holds']" info grown1 --json

# ---- filters of other programs ------------------------------------------------------------------------------------------------

golden=${ROOST_GOLDEN:-"$tests/../golden"}/accept
cp "$golden/imported-cuckoo.roost" imported.roost
json_says "info of what was imported" "r['imported_parts'] == 3 and r['imported_items'] == 15 and not r['promise_holds']" info imported.roost --json
holds "and for people" grep -q "3 parts of other programs' filters" <("$ROOST" info imported.roost)
"$ROOST" create beside.roost --kind orcuckoo --scalable --multiset
"$ROOST" add beside.roost heron
gives "a merge takes it" 0 '' merge beside.roost imported.roost
gives "with what is there" 0 heron check beside.roost heron
json_says "all of it" "r['imported_items'] == 15 and r['elements'] == 16" info beside.roost --json

finish
