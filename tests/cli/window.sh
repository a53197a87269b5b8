# roost window: files that forget, and a pipe without what came twice.
. "$(dirname "$0")/harness.sh"

# ---- add and check ----
gives "a window is made by the first add" 0 "" window add w.roost --window 60s --time 1000 swift martin
gives "what came lately is there" 0 "swift
martin" window check w.roost --time 1059 swift martin heron
gives "-v prints what did not" 0 "heron" window check w.roost --time 1059 -v swift heron
gives "-c counts" 0 "2" window check w.roost --time 1059 -c swift martin heron
gives "-q is silent" 0 "" window check w.roost --time 1059 -q swift
gives "after the window and a slot it is forgotten" 1 "" window check w.roost --time 1075 swift martin
json_says "add reports" "r['keys'] == 3 and r['new'] == 1" window add w.roost --time 1010 --json swift swift heron
gives "what came again stays from then on" 0 "swift" window check w.roost --time 1070 swift martin
printf 'a\n\nb\0c\nlast' | "$ROOST" window add keys.roost --window 1h
printf 'a\n\nb\0c\nlast\nother' | "$ROOST" window check keys.roost >got
printf 'a\n\nb\0c\nlast\n' | cmp -s - got; verdict "keys are any bytes"
printf 'a\n\nb' >list
printf 'b\nx\0last\0' >nul
gives "-f takes the lines of a file" 0 a window check keys.roost -f list
gives "-0 splits at NUL" 0 '{"keys":2,"new":1}' window add keys.roost -0 -f nul --json
"$ROOST" window check -0 keys.roost -f nul | cmp -s - nul; verdict "and prints NUL"
printf 'x\ny\0z\0x\ny\0' | "$ROOST" window dedup --window 1h -0 | cmp -s - <(printf 'x\ny\0z\0'); verdict "dedup takes -0, too"
refuses "dedup without a window" '^roost: window dedup: --window is missing; .*--window 10m' window dedup </dev/null
refuses "dedup -f" '--file: only for add and check; dedup reads standard input' window dedup --window 1h -f list
if script -qec true /dev/null >/dev/null 2>&1; then
    is "the name of a file as a key: a hint" \
        "roost: added the key 'list' itself; to add the lines of that file: roost window add -f list keys.roost" \
        "$(script -qec "'$ROOST' window add keys.roost list" /dev/null </dev/null | tr -d '\r')"
fi
rm -f list nul
json_says "info tells the window" "r['kind'] == 'window' and r['window_seconds'] == 60 and r['slot_seconds'] == 15 and r['past'] == 3 and r['fpr_promised'] == 1e-6 and r['promise_holds']" info w.roost --json
holds "info for people" grep -q '1 m, in slots of 15 s' <("$ROOST" info w.roost)

# ---- what is refused ----
refuses "another window" '--window: w.roost was created with 1 m; leave the option out' window add w.roost --window 61s --time 1010 x
refuses "another capacity" '--capacity: w.roost was created with 100000; leave the option out' window add w.roost --capacity 5 --time 1010 x
refuses "no file and no window" 'No such file.*--window TIME creates it' window add none.roost x
refuses "a clock that jumps back" 'check the clocks' window add w.roost --time 900 x
refuses "a clock that jumps a year ahead" 'check the clocks' window add w.roost --time 31537010 x
refuses "no time at all" 'must be a time' window add w.roost --time 0 x
refuses "no such action" 'unknown action' window frobnicate w.roost
refuses "no file" 'FILE is missing' window add
refuses "a window that is none" 'must be a time' window add v.roost --window 10x x
refuses "a rate out of reach" 'cannot be created' window add v.roost --window 10s --fpr 1e-15 x
refuses "too many past slots" 'past' window add v.roost --window 10s --past 256 x
refuses "stamps of keys" '--stamped: only for dedup' window add w.roost --stamped x
refuses "a plain add has no time" '^roost: w.roost: is a window; use roost window add$' add w.roost x
refuses "a window does not remove" '^roost: w.roost: a window cannot remove keys; they expire by themselves$' remove w.roost x
"$ROOST" create plain.roost --capacity 10
refuses "a filter is no window" 'not a window, its kind is bloom; use roost add and roost check' window check plain.roost x
refuses "a window is no counter" 'not a counter' counter show w.roost
gives "--resume says that the clock is right" 0 "" window add w.roost --time 31537010 --resume x
gives "and all before is forgotten" 0 "x" window check w.roost --time 31537010 x swift

# ---- merge, sync, digest ----
"$ROOST" window add a.roost --window 60s --time 2000 one
"$ROOST" window add b.roost --window 60s --time 2005 two
gives "windows merge" 0 "" merge a.roost b.roost
gives "both are in" 0 "one
two" window check a.roost --time 2010 one two
"$ROOST" window add b.roost --time 2011 three
json_says "windows sync" "r['equal']" sync a.roost b.roost --json
is "then they are equal" "$(digest a.roost)" "$(digest b.roost)"
"$ROOST" window add b.roost --time 2012 four
json_says "a second sync sends the change" "r['equal'] and r['sent'] + r['received'] < 300" sync a.roost b.roost --json
gives "it arrived" 0 "four" window check a.roost --time 2020 four
json_says "a peer that is missing is made" "r['equal']" sync a.roost new.roost --json
is "as it should be" "$(digest a.roost)" "$(digest new.roost)"
"$ROOST" window add far.roost --window 60s --time $(($(date +%s) + 864000)) one
refuses "nothing is merged from the days to come" 'check the clocks' merge a.roost far.roost
before=$(digest a.roost)
roost sync a.roost far.roost
[ "$status" -eq 2 ] && one_line 'check the clocks' && [ "$before" = "$(digest a.roost)" ]
verdict "nor synced"
"$ROOST" window add other.roost --window 61s --time 2000 one
refuses "another window does not merge" 'its window is 61 s, not 1 m$' merge a.roost other.roost
head -c 40 a.roost >cut.roost
refuses "half a file" 'truncated; replace it by a backup' window check cut.roost x

# ---- dedup ----
dedup() { "$ROOST" window dedup "$@" 2>"$output/err"; }
is "dedup passes each line once" "a b c" "$(printf 'a\nb\na\nc\nb\n' | dedup --window 10m | tr '\n' ' ' | sed 's/ $//')"
is "a stream of lines and times" "0 a|1 b|16.1 a|40 a" \
    "$(printf '%s\n' '0 a' '1 b' '2 a' '9.5 b' '16.1 a' '20 a' '25.9 a' '40 a' | dedup --window 10s --stamped --past 1 --capacity 100 | paste -sd'|')"
seq 1200 >thousand
is "a clock that ticks by the line" 3600 \
    "$(cat thousand thousand thousand | dedup --window 1s --step 1ms --time 5000 --past 9 | wc -l)"
is "all of it within the window" 1200 "$(cat thousand thousand thousand | dedup --window 5s --step 1ms --time 5000 | wc -l)"
printf '5 a\nno stamp\n' | dedup --window 10s --stamped >"$output/out"; is "a line without a time" "2 1" "$? $(grep -c 'line 2: does not begin' "$output/err")"
printf '500 a\n5 b\n' | dedup --window 10s --stamped >"$output/out"; is "a time that is too old" "2 1" "$? $(grep -c 'line 2: its time' "$output/err")"
printf 'a\nb\na\n' | "$ROOST" window dedup --window 10s --json 2>report >/dev/null
is "a report" "3 2" "$(python3 -c 'import json; r = json.load(open("report")); print(r["lines"], r["passed"])')"
refuses "dedup needs a window" '--window is missing' window dedup
refuses "and no file" 'one argument too many' window dedup x.roost --window 1s
# Ten times what it was made for: memory follows what comes in one window, and nothing that is new is held back.
seq 200000 | dedup --window 1m --capacity 2000 --step 3ms --time 5000 --json >many
is "memory follows the window" 1 "$(python3 -c 'import json; r = json.load(open("'"$output/err"'")); print(int(r["bytes_memory"] < 700000 and r["lines"] == r["passed"] == 200000 and r["promise_holds"]))')"
is "five million new lines, without options" 5000000 "$(seq 5000000 | dedup --window 1d | wc -l)"
for past in 5 40 200; do
    is "a thousand at once, $past past slots" 1000 "$(seq 1000 | dedup --window 1d --past $past --capacity 1000 | wc -l)"
done
seq 1000 | "$ROOST" window add p40.roost --window 60s --past 40 --capacity 1000 --time 7000
is "none of ten thousand others is in" 0 "$(seq 100001 110000 | "$ROOST" window check p40.roost --time 7000 -c)"
json_says "info tells the rate" "r['promise_holds'] and r['fpr_now'] < 1e-12 and r['entries'] == 1000 and r['prefix_bits'] == 57" info p40.roost --json

# ---- windows of before, of fixed size ----
old=${ROOST_GOLDEN:-"$tests/../golden"}/accept
cp "$old/window.roost" old.roost
gives "a window of fixed size is read" 0 "" window add old.roost --time 1700000030 x
gives "and asked" 0 "x" window check old.roost --time 1700000030 x
seq 100000 | "$ROOST" window add old.roost --time 1700000030 2>"$output/err"
is "and says when it is full" "2 1" "$? $(grep -c 'full: one more key would break the promised rate' "$output/err")"
# ---- memory ----
# What the manual says of a stream of distinct lines: 100,000 of them in one window, for three windows.
seq 300000 | "$ROOST" window dedup --window 100000s --step 1s --json 2>told >/dev/null
is "at most 32 bytes for each distinct line of one window" yes \
    "$(sed -nE 's/.*"bytes_memory":([0-9]+).*/\1/p' told | awk '{ print $1 < 3200000 ? "yes" : $1 }')"

finish
