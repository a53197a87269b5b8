# What the tests of the program share. A test is a bash script that sources this file, runs checks in a scratch
# directory of its own, and ends in `finish`. $ROOST is the program under test.

set -u
export LC_ALL=C.UTF-8
tests=$(cd "$(dirname "$0")" && pwd) # where other parts of a test are
ROOST=$(realpath "${ROOST:?the path of the program}")
[ -x "$ROOST" ] || { echo "Bail out! $ROOST is not a program"; exit 99; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/roost-test-XXXXXX")
cd "$scratch" || exit 99
output=$(mktemp -d "${TMPDIR:-/tmp}/roost-test-XXXXXX") # beside the scratch, so that snapshots see only what matters
# Under sanitizers, where every start of the program takes five times as long, make check does fewer rounds: brief FEWER ALL
brief() { case $ROOST in *-sanitize/*) if [ -n "${ROOST_LONG-}" ]; then echo "$2"; else echo "$1"; fi ;; *) echo "$2" ;; esac; }
checks=0
failures=0
at_exit=()

main_process=$BASHPID
clean_up() {
    local command
    [ "$BASHPID" = "$main_process" ] || return # a child that was killed before it became the program
    for command in "${at_exit[@]+"${at_exit[@]}"}"; do
        eval "$command"
    done
    cd / && rm -rf "$scratch" "$output"
}
trap clean_up EXIT

# verdict NAME: a line for the check that just ran; its status is that of the command before.
verdict() {
    local status=$?
    checks=$((checks + 1))
    if [ "$status" -eq 0 ]; then
        echo "ok $checks - $1"
    else
        failures=$((failures + 1))
        echo "not ok $checks - $1"
        sed 's/^/#   /' "$output/out" "$output/err" 2>/dev/null | cut -c1-300 | head -n 20
    fi
}

# is NAME WANTED GOT
is() {
    [ "$2" = "$3" ] || { printf 'wanted: %s\ngot: %s\n' "$2" "$3" >"$output/err"; false; }
    verdict "$1"
}

# holds NAME COMMAND...: the command succeeds.
holds() {
    local name=$1
    shift
    "$@" >"$output/out" 2>"$output/err"
    verdict "$name"
}

skip() {
    checks=$((checks + 1))
    echo "ok $checks - $1 # SKIP $2"
}

# roost ARGUMENT...: output in $output/out and $output/err, exit status in $status.
roost() {
    "$ROOST" "$@" >"$output/out" 2>"$output/err"
    status=$?
}

# gives NAME STATUS OUTPUT ARGUMENT...: that exit status, that standard output, silence on standard error.
gives() {
    local name=$1 wanted_status=$2 wanted=$3
    shift 3
    roost "$@"
    [ "$status" -eq "$wanted_status" ] && [ "$(cat "$output/out")" = "$wanted" ] && [ ! -s "$output/err" ]
    verdict "$name"
}

# All that is in the scratch directory. Whoever touches a file changes its inode or the time of its last change.
snapshot() {
    find . -mindepth 1 -type f -printf '%P %M %U %G %s %i %C@\n' -o -mindepth 1 -printf '%P %M %U %G %l\n'
}

# one_line PATTERN: standard error is one line, "roost: " and then what the pattern wants; there is no output.
one_line() {
    local lines
    mapfile -t lines <"$output/err"
    [ "${#lines[@]}" -eq 1 ] && [[ ${lines[0]} == "roost: "* ]] && [[ ${lines[0]} =~ $1 ]] && [ ! -s "$output/out" ]
}

# refuses NAME PATTERN ARGUMENT...: exit 2, one line that matches, and no file made, changed or left behind.
refuses() {
    local name=$1 pattern=$2 before
    shift 2
    before=$(snapshot)
    roost "$@"
    [ "$status" -eq 2 ] && one_line "$pattern" && [ "$before" = "$(snapshot)" ]
    verdict "$name"
}

digest() {
    "$ROOST" digest "$1"
}

# json_says NAME EXPRESSION ARGUMENT...: standard output is one JSON object r for which the Python expression holds.
json_says() {
    local name=$1 expression=$2
    shift 2
    roost "$@"
    [ "$status" -eq 0 ] && [ "$(wc -l <"$output/out")" -eq 1 ] &&
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1], encoding="utf-8")); sys.exit(not eval("(" + sys.argv[2] + ")"))' \
            "$output/out" "$expression" 2>"$output/err"
    verdict "$name"
}

# field FILE NAME: what info --json says of it, without quotes. (No Python: this is called very often.)
field() {
    "$ROOST" info "$1" --json | sed -nE "s/.*\"$2\":\"?([^,\"}]*).*/\\1/p"
}

# wait_until COMMAND...: for at most five minutes, on a machine that is busy.
wait_until() {
    local end=$((SECONDS + 300))
    while [ $SECONDS -lt $end ]; do
        "$@" 2>/dev/null && return 0
        sleep 0.01
    done
    return 1
}

# is_locked FILE: some process holds the lock.
is_locked() {
    ! flock -n "$1" true
}

# is_gone PID: the process has ended, whether or not it was waited for.
is_gone() {
    ! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"
}

finish() {
    echo "1..$checks"
    [ "$failures" -eq 0 ] || echo "# $failures of $checks failed"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit
}
