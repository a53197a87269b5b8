#!/usr/bin/env bash
# Any number of threads gives the output, the file and the exit status of one.
. "$(dirname "$0")/harness.sh"
export LC_ALL=C

# Lines of all kinds: short, empty, with every byte, repeated, longer than a block (256 KiB), as many blocks; the last one
# without a newline. $1 is the terminator, $2 a seed.
lines() {
    python3 - "$1" "$2" <<'PYTHON'
import random, sys
terminator, draw = {"newline": b"\n", "null": b"\0"}[sys.argv[1]], random.Random(int(sys.argv[2]))
seen, out = [b"x"], []
for number in range(24000):
    kind = draw.random()
    line = b"" if kind < 0.02 else draw.choice(seen) if kind < 0.3 else b"%d-%d" % (number, draw.getrandbits(40)) if kind < 0.98 else draw.randbytes(draw.randrange(300))
    if number in (8000, 16000):
        line = draw.randbytes(700000)
    line = line.replace(terminator, b"")
    seen.append(line) if len(seen) < 8000 else None
    out.append(line)
sys.stdout.buffer.write(terminator.join(out) + b"end")
PYTHON
}
lines newline 1 >a
lines newline 2 >b
lines null 3 >z
head -c 700000 a >first
counts="1 2 7"

# same NAME FILE...: the results of all numbers of threads, FILE.N, are the same.
same() {
    local name=$1 file
    shift
    for file; do
        cmp "$file.1" "$file.2" && cmp "$file.1" "$file.7" || echo "$file"
    done >"$output/out" 2>&1
    [ ! -s "$output/out" ]
    verdict "$name"
}

# ---- add and check ---------------------------------------------------------------------------------------------------

for options in "--capacity 60000" "--capacity 1000 --layout classic" "--kind cuckoo --capacity 80000" "" "--scalable --kind bloom --capacity 1000 --writers 1"; do
    "$ROOST" create f $options
    "$ROOST" add f -f first
    for n in $counts; do
        cp f "f.$n"
        "$ROOST" add "f.$n" --threads "$n" --json one 'two
lines' '' - -f b <a >"$output/report.$n" 2>/dev/null
        echo $? >>"$output/report.$n"
        "$ROOST" info --json "f.$n" | sed 's/"file":"[^"]*",//' >"$output/info.$n"
        "$ROOST" check "f.$n" --threads "$n" nothing one - -f b <a >"$output/found.$n"
        echo $? >>"$output/found.$n"
        "$ROOST" check f -v --threads "$n" one - -f b <a >"$output/absent.$n"
        "$ROOST" check f -c --threads "$n" <b >"$output/count.$n"
        "$ROOST" check f -0 --threads "$n" <z >"$output/null.$n"
    done
    case $options in
    *--scalable*) ;; # shares of a random actor are part of the state
    *) same "${options:-a filter that grows}: the file" f "$output/info" ;;
    esac
    same "${options:-a filter that grows}: the report" "$output/report"
    same "${options:-a filter that grows}: what is found" "$output/found" "$output/absent" "$output/count" "$output/null"
    rm f f.*
done
"$ROOST" create f --kind orcuckoo --capacity 90000
for n in $counts; do
    cp f "o.$n"
    "$ROOST" add "o.$n" --threads "$n" --json <a >"$output/report.$n"
    "$ROOST" check "o.$n" --threads "$n" -f a -f b >"$output/found.$n"
done
same "observed-remove: report and check" "$output/report" "$output/found"
for n in $counts; do # keys in an imported part are not new, and its hashes are others
    cp "$tests/../golden/accept/imported-bloom.roost" "i.$n"
    "$ROOST" add "i.$n" --threads "$n" --json <a >"$output/report.$n" 2>/dev/null
done
same "imported parts" i "$output/report"
"$ROOST" create e --capacity 60000
"$ROOST" add e --threads 7 -0 <z
python3 -c 'import sys; keys = open("z", "rb").read().split(b"\0"); sys.stdout.buffer.write(b"\0".join(keys) + b"\0")' >whole
"$ROOST" check e -0 --threads 7 <z | cmp - whole
verdict "all of what was added with NUL is found, byte for byte"

# ---- dedup -----------------------------------------------------------------------------------------------------------

for n in $counts; do
    cat a b | "$ROOST" window dedup --window 1h --threads "$n" --json >"$output/deduped.$n" 2>"$output/report.$n"
    "$ROOST" window dedup --window 1h -0 --threads "$n" <z >"$output/null.$n"
    "$ROOST" window dedup --window 100 --time 1000 --step 1 --threads "$n" <a >"$output/stepped.$n"
done
same "dedup" "$output/deduped" "$output/report" "$output/null" "$output/stepped"
cat a b | python3 -c 'import sys; out = dict.fromkeys(sys.stdin.buffer.read().split(b"\n")); sys.stdout.buffer.write(b"\n".join(out) + b"\n")' | cmp - "$output/deduped.7"
verdict "dedup prints each line once, in order"
refuses "--threads is for dedup" '^roost: --threads: only for dedup$' window add w --window 1h --threads 2 x
refuses "--threads 0" '^roost: --threads' check e --threads 0 x

# ---- reconcile -------------------------------------------------------------------------------------------------------

for n in $counts; do
    for options in "" --multiset; do
        "$ROOST" reconcile a b --threads "$n" $options
        echo $?
    done >"$output/differences.$n"
done
same "reconcile" "$output/differences"

# ---- two files that are here: sorted, or not, without a session, or with one ---------------------------------------------

sort -u a >a.unique
sort a >a.sorted
sort b | grep -av 7 >b.sorted
tail -n +2 a.sorted >a.later
: >empty
for pair in "a b" "a.sorted b.sorted" "a.sorted b" "b a.sorted" "a a.sorted" "a.sorted a.unique" "a.sorted a.later" "a.unique empty" "empty b" "empty empty"; do
    set -- $pair
    for options in "" --multiset; do
        "$ROOST" reconcile "$1" "$2" $options >"$output/here"
        here=$?
        "$ROOST" reconcile "$1" "$2" $options --stats | head -n -1 >"$output/session"
        [ $here -eq "${PIPESTATUS[0]}" ] && cmp "$output/here" "$output/session" >"$output/out" 2>&1
        verdict "reconcile $pair $options: as with a session"
    done
done
is "reconcile -q is silent" "1 " "$("$ROOST" reconcile -q a b; echo "$? ")"

# ---- slow input, errors, signals -------------------------------------------------------------------------------------

mkfifo slow
"$ROOST" check e --threads 2 -v -c </dev/null >/dev/null
"$ROOST" check e --threads 2 -v <slow >"$output/stream" &
pid=$!
exec 8>slow
{ cat a; echo; } >&8
wanted=$({ cat a; echo; } | "$ROOST" check e --threads 1 -v | wc -c)
holds "all that was read is answered before the input ends" wait_until eval '[ "$(wc -c <"$output/stream")" -eq '"$wanted"' ]'
is "by as many threads as were asked for" 2 "$(ls /proc/$pid/task | wc -l)"
exec 8>&-
wait $pid
is "then it ends" 0 $?

"$ROOST" check e --threads 2 -v -f a -f missing >"$output/out" 2>"$output/err"
is "a file that is missing" "2 roost: missing: No such file or directory" "$? $(cat "$output/err")"
"$ROOST" check e --threads 1 -v -f a | cmp - "$output/out"
verdict "what comes before it is printed"
refuses "add: nothing is added then" '^roost: missing: No such' add e --threads 2 -f a -f missing

"$ROOST" check e -q --threads 2 < <(cat z | tr '\0' '\n'; yes)
is "check -q ends at the first key that is found" 0 $?
"$ROOST" check e --threads 2 -v < <(cat a b; yes) 2>"$output/err" | head -n 1 >/dev/null
[ "${PIPESTATUS[0]}" -ne 0 ] && [ ! -s "$output/err" ]
verdict "a pipe that is closed early ends it in silence"

before=$(snapshot)
env --default-signal=INT "$ROOST" add e --threads 7 <slow >"$output/out" 2>"$output/err" &
pid=$!
exec 8>slow
cat a b a b >&8
kill -INT $pid
wait $pid
is "SIGINT" "2 $before" "$? $(snapshot)"
exec 8>&-
one_line '^roost: interrupted, e is unchanged$'
verdict "SIGINT, in one line"

finish
