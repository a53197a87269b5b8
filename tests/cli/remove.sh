#!/usr/bin/env bash
# Removing keys: what goes, what stays, and what other replicas make of it.
. "$(dirname "$0")/harness.sh"

"$ROOST" create f --kind orcuckoo --capacity 1000

# ---- a set -------------------------------------------------------------------------------------------------------------

"$ROOST" add f a b c d
gives "remove is silent" 0 '' remove f a
gives "what was removed is gone" 0 $'b\nc\nd' check f a b c d
gives "remove -v tells" 0 '3 keys, 2 removed, 1 not there; about 1 element' remove f -v a b c
gives "remove --json tells" 0 '{"keys":2,"removed":1,"elements":0,"promise_holds":true}' remove --json f d z
"$ROOST" add f a a a
gives "a set holds an element once, however often it is added" 0 '1 key, 1 removed, 0 not there; about 0 elements' remove -v f a
gives "and what comes back is back" 0 '1 key, 1 new; about 1 element' add -v f a
before=$(snapshot)
gives "what is not there" 0 '' remove f nobody
is "leaves the file alone" "$before" "$(snapshot)"
printf 'a\nb\n' >keys
"$ROOST" add f <keys
"$ROOST" remove f <keys
gives "keys on standard input" 1 '' check f a b
"$ROOST" add f -- - -v
"$ROOST" remove f -- - -v
gives "behind -- all are keys" 1 '' check f -- - -v
seq 900 | "$ROOST" add f
seq 1 2 900 | "$ROOST" remove f
is "half of many" "$(seq 2 2 900 | tr '\n' ' ')" "$(seq 900 | "$ROOST" check f | tr '\n' ' ')"

# ---- replicas ------------------------------------------------------------------------------------------------------------

cp f g
"$ROOST" remove f 2
"$ROOST" remove g 4
"$ROOST" add g 2 # again, while f removes what it saw
"$ROOST" add f new
"$ROOST" merge f g
"$ROOST" merge g f
is "both ways: equal" "$(digest f)" "$(digest g)"
gives "an add wins over a removal that did not see it" 0 $'2\n6\nnew' check f 2 4 6 new
"$ROOST" merge f f g
gives "what was removed does not come back" 1 '' check f 4
cp g old
"$ROOST" remove g 6 8
"$ROOST" merge g old
gives "not from an old copy either" 1 '' check g 6 8

# ---- what wins -------------------------------------------------------------------------------------------------------------

for semantics in add-wins remove-wins last-writer-wins; do
    rm -f v w
    "$ROOST" create v --kind orcuckoo --semantics $semantics
    "$ROOST" add v x y
    cp v w
    "$ROOST" add v x
    "$ROOST" remove w x # later, and without having seen that addition
    "$ROOST" sync -q v w
    is "$semantics: both ways: equal" "$(digest v)" "$(digest w)"
    gives "$semantics: what holds" 0 "$([ $semantics != add-wins ] || echo x; echo y)" check v x y
    "$ROOST" add w x
    "$ROOST" merge v w
    gives "$semantics: added by one that has seen it all" 0 $'x\ny' check v x y
    before=$(digest v)
    "$ROOST" remove v nobody
    is "$semantics: a removal of what is not there is saved if it has to be" $([ $semantics = add-wins ]; echo $?) \
        $([ "$before" = "$(digest v)" ]; echo $?)
    [ $semantics = add-wins ] || refuses "$semantics does not merge with add-wins" \
        "^roost: g2: does not merge into v: its semantics is add-wins, not $semantics" merge v g2
    [ $semantics != add-wins ] || cp v g2
done

# ---- a multiset ------------------------------------------------------------------------------------------------------------

for entry in 32 64; do
    rm -f m n
    "$ROOST" create m --kind orcuckoo --capacity 100 --multiset --entry $entry
    "$ROOST" add m x x x y
    gives "entries of $entry bits: copies are counted" 0 '4 keys, 4 new; about 8 elements' add m -v x x y y
    gives "one copy" 0 '1 key, 1 removed, 0 not there; about 7 elements' remove m --one -v x
    cp m n
    "$ROOST" remove m --one y
    "$ROOST" remove n --one y y
    "$ROOST" add n z
    "$ROOST" merge m n
    gives "one of them is still there" 0 $'x\nz' check m x z
    gives "all copies at once" 0 '' remove m x
    gives "and they are gone" 1 '' check m x
    "$ROOST" add m w w
    roost remove m --one -v w w w
    grep -q '^3 keys, 2 removed, 1 not there' "$output/out"
    verdict "more than there are"
done

# ---- what cannot be ----------------------------------------------------------------------------------------------------------

refuses "--one in a set" '^roost: f: a set has no copies to remove --one of; create one with --multiset' remove f --one 6
for kind in bloom cuckoo; do
    "$ROOST" create $kind --kind $kind --capacity 100
    "$ROOST" add $kind a
    refuses "$kind cannot" "^roost: $kind: a $kind filter cannot remove; create one with --kind orcuckoo" remove $kind a
    refuses "$kind cannot, even nothing" "^roost: $kind: a $kind filter cannot remove" remove $kind
done
mkfifo never
exec 8<>never
timeout 300 "$ROOST" remove bloom <never >"$output/out" 2>"$output/err"
is "and says so before it waits for keys" 2 $?
exec 8>&-
refuses "a file that is missing" '^roost: missing: No such file' remove missing a
refuses "an option that it does not have" '^roost: --all: unknown option' remove f --all a

finish
