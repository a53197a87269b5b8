#!/usr/bin/env bash
# Syncs that break off, meet each other, or are killed: neither end is ever half changed, and the next one mends it.
. "$(dirname "$0")/harness.sh"
. "$tests/peers.bash"

# ---- the connection breaks, at every byte ----------------------------------------------------------------------------------------

# Each time something new is on both sides, and something less; the session is cut one byte later than the last time, until
# one comes through; after each an ordinary one mends what is left. The files live through all of this with their cursors.
key=0
change_both() {
    key=$((key + 1))
    "$ROOST" add a "cut $key" && "$ROOST" add b "tuc $key" &&
        "$ROOST" remove a "tuc $((key - 1))" && "$ROOST" remove b "cut $((key - 1))"
}

# Each cut starts a dozen programs: at every third byte, and in the long form at every one.
step=3
[ -z "${ROOST_LONG-}" ] || step=1

# cut_everywhere DIRECTION
cut_everywhere() {
    local at=0 lost=0 unequal=0 through=
    until [ $through ] || [ $at -gt 1000 ]; do
        change_both
        UP=1000000 DOWN=1000000
        declare $1=$at
        export UP DOWN
        "$ROOST" sync -q a "host:$PWD/b" --rsh "$PWD/shells/cut" "${there[@]}" 2>/dev/null && through=yes
        [ "$({ cat expected; echo "cut $key"; } | "$ROOST" check -c a)" -eq 101 ] || lost=$((lost + 1))
        [ "$({ cat expected; echo "tuc $key"; } | "$ROOST" check -c b)" -eq 101 ] || lost=$((lost + 1))
        "$ROOST" sync -q a "host:$PWD/b" "${there[@]}" && equal || unequal=$((unequal + 1))
        # all that should be there is, and what was removed is not
        { cat expected; printf '%s\n' "cut $key" "tuc $key"; } >"$output/wanted"
        { cat "$output/wanted"; printf '%s\n' "cut $((key - 1))" "tuc $((key - 1))"; } | "$ROOST" check a |
            cmp -s - "$output/wanted" || lost=$((lost + 1))
        at=$((at + step))
    done
    echo "# cut ${1,,} at $((at / step)) places"
    is "cut ${1,,} at every byte, nothing is lost, and nothing comes back" 0 $lost
    is "cut ${1,,} at every byte, and the next sync makes both equal" 0 $unequal
    [ $at -gt 30 ] && [ $at -lt 1000 ]
    verdict "cut ${1,,} at every byte, these were real cuts"
}
fresh orcuckoo
change_both
"$ROOST" sync -q a "host:$PWD/b" "${there[@]}"
cut_everywhere UP
cut_everywhere DOWN

# The first session of two replicas that never met: copies have no cursors.
fresh orcuckoo
mv a a-before && mv b b-before
cp a-before a && cp b-before b
bytes=$("$ROOST" sync a "host:$PWD/b" --json "${there[@]}")
[[ $bytes =~ \"sent\":([0-9]+),\"received\":([0-9]+) ]]
up=${BASH_REMATCH[1]} down=${BASH_REMATCH[2]}
wrong=0
cuts=0
seq 1 60 >first && seq 41 100 >second
for direction in up down; do
    for ((at = 0; at < ${!direction}; at += 1 + ${!direction} / 20)); do
        cuts=$((cuts + 1))
        cp a-before a && cp b-before b
        if [ $direction = up ]; then export UP=$at DOWN=1000000; else export UP=1000000 DOWN=$at; fi
        "$ROOST" sync -q a "host:$PWD/b" --rsh "$PWD/shells/cut" "${there[@]}" 2>/dev/null
        [ "$(digest a)" = "$(digest a-before)" ] || both_hold expected || wrong=$((wrong + 1))
        [ "$("$ROOST" check -c a <first) $("$ROOST" check -c b <second)" = "60 60" ] || wrong=$((wrong + 1))
        "$ROOST" sync -q a "host:$PWD/b" "${there[@]}" && equal && both_hold expected || wrong=$((wrong + 1))
    done
done
echo "# a first session: $up and $down bytes, cut at $cuts places"
is "a first session, cut at many places: whole or not at all, and mended by the next" 0 $wrong

# ---- meanwhile ---------------------------------------------------------------------------------------------------------------------

fresh orcuckoo
export MEANWHILE="'$ROOST' add a 'added meanwhile'"
json_says "the file changes while we wait for the peer" 'r["equal"] is True' \
    sync a "host:$PWD/b" --json --rsh "$PWD/shells/late" "${there[@]}"
gives "what was added meanwhile is here" 0 'added meanwhile' check a 'added meanwhile'
gives "and there" 0 'added meanwhile' check b 'added meanwhile'
equal && both_hold expected
verdict "and both are equal"
export MEANWHILE="'$ROOST' add a 'told by another' && '$ROOST' remove a 3 && '$ROOST' sync -q a b"
actors=$(field a actor)
json_says "another sync tells the peer of us first" 'r["equal"] is True' \
    sync a "host:$PWD/b" --json --rsh "$PWD/shells/late" "${there[@]}"
equal && [ "$("$ROOST" check a 3 4 'told by another' | wc -l) $("$ROOST" check b 3 4 'told by another' | wc -l)" = "2 2" ]
verdict "all of it is there, and equal"
"$ROOST" add a 'and on'
is "and we are still who we were" "$actors" "$(field a actor)"
export MEANWHILE="rm a"
timeout 300 "$ROOST" sync a "host:$PWD/b" --rsh "$PWD/shells/late" "${there[@]}" >"$output/out" 2>"$output/err"
is "the file is taken away meanwhile" "2 no" "$? $([ -e a ] && echo yes || echo no)"
one_line '^roost: a: No such file or directory$'
verdict "the file is taken away meanwhile: one line"

# Two machines that sync with each other at once must not wait for each other.
fresh orcuckoo
export MEANWHILE="sleep 0.1"
for ((i = 0; i < 5; i++)); do
    "$ROOST" add a "left $i"
    "$ROOST" add b "right $i"
    timeout 300 "$ROOST" sync -q a "host:$PWD/b" --rsh "$PWD/shells/late" "${there[@]}" &
    pids=($!)
    timeout 300 "$ROOST" sync -q b "host:$PWD/a" --rsh "$PWD/shells/late" "${there[@]}" &
    pids+=($!)
    timeout 300 "$ROOST" sync -q a b &
    pids+=($!)
    timeout 300 "$ROOST" sync -q b a &
    pids+=($!)
    for pid in "${pids[@]}"; do
        wait $pid || echo "sync $pid: exit $?"
    done
done >"$output/ends"
is "syncs in opposite directions, at once: all end" '' "$(cat "$output/ends")"
"$ROOST" sync -q a b
{ seq -f 'left %g' 0 4; seq -f 'right %g' 0 4; } >>expected
equal && both_hold expected
verdict "and nothing is lost"

# ---- killed at any moment ------------------------------------------------------------------------------------------------------------

rm -f a b
"$ROOST" create a --kind orcuckoo --capacity 60000
seq 1 30000 | "$ROOST" add a
"$ROOST" create b --kind orcuckoo --capacity 60000
seq 20001 50000 | "$ROOST" add b
mv a a-before && mv b b-before
cp a-before a && cp b-before b
begin=$(date +%s%N)
"$ROOST" sync -q a "host:$PWD/b" "${there[@]}"
duration=$((($(date +%s%N) - begin) / 1000))
wrong=0
killed=0
seq 1 30000 >first && seq 20001 50000 >second && seq 1 50000 >expected
for ((run = 0; run < 10; run++)); do
    cp a-before a && cp b-before b
    "$ROOST" sync -q a "host:$PWD/b" "${there[@]}" 2>/dev/null &
    pid=$!
    delay=$((1000 + duration * run / 9))
    sleep "$(printf '%d.%06d' $((delay / 1000000)) $((delay % 1000000)))"
    victim=$pid
    ((run % 2)) && victim=$(pgrep -P $pid | head -n 1) # the one that serves
    kill -9 ${victim:-$pid} 2>/dev/null && killed=$((killed + 1))
    wait $pid 2>/dev/null
    wait_until eval '! is_locked b'
    [ "$("$ROOST" check -c a <first) $("$ROOST" check -c b <second)" = "30000 30000" ] || wrong=$((wrong + 1))
    "$ROOST" sync -q a "host:$PWD/b" "${there[@]}" && equal && both_hold expected || wrong=$((wrong + 1))
done
is "kill -9 at either end at ten moments: both files are whole, and the next sync makes them equal" 0 $wrong
[ $killed -gt 2 ]
verdict "some of them were really killed"
[ -z "$(find . -name '.roost-*')" ]
verdict "no temporary is left"

finish
