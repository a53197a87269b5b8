#!/usr/bin/env bash
# The demo: it loses nothing, tells what it measured, and repeats itself for a seed.
. "$(dirname "$0")/harness.sh"

for kind in bloom cuckoo orcuckoo; do
    "$ROOST" demo --kind $kind --seed 7 --elements 5k >"$output/first" 2>"$output/err"
    is "$kind: exit 0" 0 $?
    "$ROOST" demo --kind=$kind --seed 0x7 --elements=5000 --fast >"$output/second" 2>"$output/err"
    holds "$kind: the same seed gives the same figures" cmp "$output/first" "$output/second"
    "$ROOST" demo --kind $kind --seed 8 --elements 5k >"$output/second"
    ! cmp -s "$output/first" "$output/second"
    verdict "$kind: another seed gives others"
    ! grep -q $'\033' "$output/first" && [ ! -s "$output/err" ]
    verdict "$kind: plain lines where there is no terminal"
    grep -qE '^digest +[0-9a-f]{32} at all 5 replicas$' "$output/first" && grep -qE '^lost +0 ' "$output/first"
    verdict "$kind: all agree, nothing is lost"
    for seed in 1 2 3; do
        "$ROOST" demo --kind $kind --elements 1000 --seed $seed
    done >"$output/out"
    grep -qE '^tick .*agree: 1 2 3 \| 4 5 .*partitioned' "$output/out"
    verdict "$kind: the two sides of the cut agree among themselves"
done

# Both acts, as in `make run`. (tests/readme.sh compares them with what README shows.)
"$ROOST" demo --seed 7 >"$output/out" 2>"$output/err"
is "two acts: exit 0" 0 $?
[ "$(wc -l <"$output/out")" -le 40 ] && [ "$(wc -L <"$output/out")" -le 80 ]
verdict "two acts: fit on a screen"
is "two acts: two filters agree" 2 "$(grep -c 'at all 5 replicas$' "$output/out")"
grep -qE '^came back +0 \(37,500 ' "$output/out" && grep -qE '^re-adds lost +0 \(12,500 ' "$output/out"
verdict "two acts: what was removed stays away, concurrent additions win"
"$ROOST" demo --json --elements 1000 --seed 7 >"$output/out"
is "two acts: two JSON objects" '"bloom" "orcuckoo"' "$(grep -o '"kind": *"[a-z]*"' "$output/out" | sed 's/.*: *//' | xargs -d '\n')"

# figures NAME EXPRESSION ARGUMENT...: the JSON figures r of that run satisfy a Python expression.
figures() {
    local name=$1 expression=$2
    shift 2
    "$ROOST" demo --json --kind bloom "$@" >"$output/out" 2>"$output/err" &&
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(not eval("(" + sys.argv[2] + ")"))' \
            "$output/out" "$expression" 2>>"$output/err"
    verdict "$name"
}
sound='r["equal"] and r["elements_lost"] == 0 and r["bytes_sent"] < r["bytes_as_full_states"]'
figures "the network does what it says" "$sound and 0.14 < r['messages_lost'] / r['messages_sent'] < 0.26 and
    r['messages_doubled'] > 10 and r['messages_overtaken'] > 5 and r['messages_cut'] > 5" --seed 3 --elements 10k
figures "the rate is kept" "$sound and 0.004 < r['fpr_measured'] <= r['fpr_promised']" --elements 30k --seed 4
figures "the cuckoo's rate is kept" "$sound and 0.004 < r['fpr_measured'] <= r['fpr_promised']" --elements 30k --seed 4 --kind cuckoo
figures "two replicas" "$sound and r['replicas'] == 2" --replicas 2 --elements 5k --seed 5
figures "nine replicas" "$sound and r['replicas'] == 9" --replicas 9 --elements 5k --seed 6
figures "fewer elements than replicas" "r['equal'] and r['elements_lost'] == 0 and r['elements'] == 3" --elements 3 --seed 11
figures "a network that loses nothing" "$sound and r['messages_lost'] == 0" --loss 0 --elements 10k --seed 9
figures "a network that loses nearly everything" "$sound and r['messages_lost'] > r['messages_sent'] / 2" \
    --loss 80% --elements 2000 --seed 10
figures "all else as it comes" "$sound" --seed 12

removal='r["elements_removed"] > 0 and r["elements_added_again"] > 0 and r["elements_came_back"] == 0'
figures "removal" "$sound and $removal and r['fpr_measured'] <= r['fpr_promised']" --kind orcuckoo --elements 10k --seed 3
figures "removal, two replicas" "$sound and $removal" --kind orcuckoo --replicas 2 --elements 2000 --seed 5
figures "removal, 31 replicas" "r['equal'] and r['elements_lost'] == 0 and $removal" --kind orcuckoo --replicas 31 --elements 1000 --seed 6
figures "removal on a network that loses nearly everything" "$sound and $removal" \
    --kind orcuckoo --loss 80% --elements 2000 --seed 10

refuses "one replica" '^roost: --replicas 1: must be' demo --replicas 1
refuses "too many replicas" '^roost: --replicas 1000: must be' demo --replicas 1000
refuses "a network that loses everything" '^roost: --loss 1: must be from 0 to 90%' demo --loss 1
refuses "no elements" '^roost: --elements 0: must be' demo --elements 0

# ---- on a terminal ----------------------------------------------------------------------------------------------------------

if script -qec true /dev/null >/dev/null 2>&1; then
    on_terminal() {
        script -qec "stty cols 100 rows 50; $1" /dev/null </dev/null >"$output/terminal"
    }
    export TERM=xterm
    on_terminal "'$ROOST' demo --kind orcuckoo --seed 7 --elements 2000"
    is "live: exit 0" 0 $?
    grep -q $'\033\\[[0-9]*A' "$output/terminal" && [ "$(grep -c 'cut off ╌' "$output/terminal")" -gt 3 ]
    verdict "live: a table that is redrawn, and shows the cut"
    [ "$(grep -o $'\033\\[?25[lh]' "$output/terminal" | tail -n 1)" = $'\033[?25h' ]
    verdict "live: the cursor comes back"
    "$ROOST" demo --kind orcuckoo --seed 7 --elements 2000 | sed -n '/^digest /,$p' >"$output/plain"
    tr -d '\r' <"$output/terminal" | sed -n '/^digest /,$p' >"$output/live"
    holds "live: the same figures as elsewhere" cmp "$output/plain" "$output/live"
    on_terminal "'$ROOST' demo --seed 7 --elements 2000 --fast"
    ! grep -q $'\033' "$output/terminal"
    verdict "--fast: no live view"
    on_terminal "stty cols 40; '$ROOST' demo --seed 7 --elements 2000"
    ! grep -q $'\033' "$output/terminal"
    verdict "a small terminal: no live view"
    # The signal comes once the view is there, however long that takes; whoever runs the tests may have it ignored.
    rm "$output/terminal"
    on_terminal "echo \$\$ >'$output/process'; exec env --default-signal=INT '$ROOST' demo --seed 7" &
    watcher=$!
    wait_until grep -q 'tick ' "$output/terminal" && kill -INT "$(cat "$output/process")"
    verdict "live: it begins"
    wait $watcher
    tr -d '\r' <"$output/terminal" | grep -q '^roost: interrupted$' || grep -q 'roost: interrupted' "$output/terminal"
    verdict "live: SIGINT ends it in one line"
    [ "$(grep -o $'\033\\[?25[lh]' "$output/terminal" | tail -n 1)" = $'\033[?25h' ]
    verdict "live: and brings the cursor back"
else
    skip "the live view" "there is no script command"
fi

finish
