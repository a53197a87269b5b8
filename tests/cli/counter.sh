# roost counter: each operation once, whatever happens to the answer.
. "$(dirname "$0")/harness.sh"

gives "a counter is made by its first operation" 0 "5 applied" counter incr c.roost --id one --by 5 --window 1h
gives "a retry counts nothing" 0 "5 duplicate" counter incr c.roost --id one --by 5
gives "amounts may be negative" 0 "3 applied" counter incr c.roost --id two --by -2
json_says "for programs" "r['applied'] and r['value'] == 4" counter incr c.roost --id three --json
json_says "and the duplicate" "not r['applied'] and r['value'] == 4" counter incr c.roost --id three --json
gives "show" 0 "4" counter show c.roost
json_says "show for programs" "r['value'] == 4 and r['replicas'] == 1 and r['promise_holds']" counter show c.roost --json
json_says "info" "r['kind'] == 'counter' and r['value'] == 4 and r['actors'] == 1 and r['window_seconds'] == 3600" info c.roost --json
holds "info for people" grep -q '4, counted by 1 replica' <("$ROOST" info c.roost)
gives "quiet" 0 "" counter incr c.roost --id four -q

# ---- what is refused changes nothing ----
refuses "no id" '^roost: counter incr: --id is missing; .*--id order-17' counter incr c.roost
refuses "an empty id" '--id: must not be empty' counter incr c.roost --id ''
refuses "an id that is too long" 'must have 1 to 65536 bytes' counter incr c.roost --id "$(head -c 100000 /dev/zero | tr '\0' x)"
refuses "an amount that is none" 'must be a whole number' counter incr c.roost --id x --by 1.5
refuses "an amount that does not fit" 'must be a whole number' counter incr c.roost --id x --by 9223372036854775808
gives "the largest one does" 0 "9223372036854775807 applied" counter incr big.roost --window 1h --id x --by 9223372036854775807
refuses "but nothing on top" 'leave the range' counter incr big.roost --id y --by 1
refuses "a clock that jumps a year ahead" 'check the clocks' counter incr c.roost --id x --time $(($(date +%s) + 31536000))
refuses "a clock that jumps back" 'check the clocks' counter incr c.roost --id x --time 1000
refuses "no file" 'No such file' counter incr none.roost --id x
refuses "no file to show" 'No such file' counter show none.roost
refuses "no such action" 'unknown action' counter decr c.roost

# ---- replicas ----
"$ROOST" counter incr a.roost --window 60s --id a1 --by 10 --time 1000 -q
cp a.roost b.roost
gives "a copy knows what was counted" 0 "10 duplicate" counter incr b.roost --id a1 --by 10 --time 1010
gives "and counts under a name of its own" 0 "110 applied" counter incr b.roost --id b1 --by 100 --time 1010
gives "as does the first" 0 "1010 applied" counter incr a.roost --id a2 --by 1000 --time 1010
gives "they merge" 0 "" merge a.roost b.roost
gives "to the sum" 0 "1110" counter show a.roost
gives "what was counted elsewhere is known here" 0 "1110 duplicate" counter incr a.roost --id b1 --by 100 --time 1020
json_says "they sync" "r['equal']" sync b.roost a.roost --json
is "and are equal" "$(digest a.roost)" "$(digest b.roost)"
gives "to the same value" 0 "1110" counter show b.roost
"$ROOST" counter incr a.roost --id a3 --time 1021 -q
json_says "a second sync sends what changed" "r['equal'] and r['sent'] + r['received'] < 300" sync b.roost a.roost --json
gives "a retry elsewhere, after that" 0 "1111 duplicate" counter incr b.roost --id a3 --time 1030
gives "before that it counts twice, as it must" 0 "1112 applied" counter incr b.roost --id a4 --time 1031
gives "here" 0 "1112 applied" counter incr a.roost --id a4 --time 1031
"$ROOST" sync a.roost b.roost -q
gives "and there" 0 "1113" counter show a.roost

# ---- a backup that is put back is another replica: nothing counts twice, nothing is lost ----
cp a.roost backup
"$ROOST" counter incr a.roost --id after --by 10000 --time 1032 -q
"$ROOST" sync a.roost b.roost -q
cat backup >a.roost
gives "the old state" 0 "1113" counter show a.roost
gives "it goes on" 0 "101113 applied" counter incr a.roost --id later --by 100000 --time 1033
"$ROOST" sync a.roost b.roost -q
gives "and catches up" 0 "111113" counter show a.roost
gives "with the names, too" 0 "111113 duplicate" counter incr a.roost --id after --by 10000 --time 1034

# ---- any number of past slots, and more than was expected ----
for past in 40 200; do
    for ((i = 0; i < 60; i++)); do "$ROOST" counter incr "past$past.roost" --window 1d --past $past --capacity 10 --id "op$i" --time 5000 -q; done
    gives "each of sixty counts, $past past slots" 0 "60" counter show "past$past.roost"
done

# ---- processes side by side ----
"$ROOST" counter incr side.roost --window 1h --id op0 -q
for ((i = 0; i < 40; i++)); do "$ROOST" counter incr side.roost --id "op$((i % 20))" -q & done
wait
gives "two at a time, each operation once" 0 "20" counter show side.roost

# ---- killed at random, asked again until it answers ----
for ((i = 0; i < 30; i++)); do
    for ((try = 0; try < 20; try++)); do
        "$ROOST" counter incr killed.roost --window 1h --id "op$i" >"$output/out" 2>"$output/err" &
        child=$!
        [ $((i % 3)) -ne 0 ] || [ $try -gt 0 ] || { sleep "0.00$((i % 7))"; kill -9 $child 2>/dev/null; }
        wait $child 2>/dev/null && break
    done
done
gives "killed and asked again: each operation once" 0 "30" counter show killed.roost
finish
