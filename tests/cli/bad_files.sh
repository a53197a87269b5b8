#!/usr/bin/env bash
# Files that are not what they should be: each verb that reads one says what is wrong, and changes nothing.
. "$(dirname "$0")/harness.sh"

"$ROOST" create good --capacity 20
"$ROOST" add good some keys

# bad NAME PATTERN FILE: every verb refuses the file.
bad() {
    refuses "$1: check" "^roost: .*$2" check "$3" key
    refuses "$1: add" "^roost: .*$2" add "$3" key
    refuses "$1: remove" "^roost: .*$2" remove "$3" key
    refuses "$1: serve" "^roost: .*$2" serve "$3"
    refuses "$1: sync" "^roost: .*$2" sync "$3" good
    [ "$4" = source ] || refuses "$1: sync with it" "^roost: .*$2" sync good "$3"
    refuses "$1: info" "^roost: .*$2" info "$3"
    refuses "$1: digest" "^roost: .*$2" digest "$3"
    refuses "$1: merge from it" "^roost: .*$2" merge good "$3"
    [ "$4" = source ] || refuses "$1: merge into it" "^roost: .*$2" merge "$3" good
}

bad "missing" 'missing: No such file or directory' missing source
: >empty
bad "empty" 'empty: empty file' empty both
echo 'just some text' >text
bad "text" 'text: not a Roost filter' text both
head -c 300000 /dev/urandom | sed '1s/^/x/' >noise
bad "noise" 'noise: not a Roost filter' noise both
mkdir directory
bad "directory" 'directory: Is a directory' directory both
ln -s loop loop
bad "a link to itself" 'loop: Too many levels of symbolic links' loop both
bad "a directory that is missing" 'nowhere/f: No such file' nowhere/f source
bad "a file taken for a directory" 'good/f: Not a directory' good/f both
{ head -c 4 good; printf '\002'; tail -c +6 good; } >later
bad "a later version" 'later: made by a later version of Roost; install that version' later both
{ cat good; echo; } >trailing
bad "bytes behind the frame" 'trailing: corrupt; replace it by a backup, or by a copy of another replica' trailing both
refuses "a device" 'not a regular file' add /dev/null key
refuses "a name with a newline" '^roost: no\\nfile: No such file' info $'no\nfile'
roost merge nowhere/f good
[ "$status" -eq 2 ] && one_line 'nowhere/f: '
verdict "merge into a directory that is missing"

# A huge file that is not a filter is recognised by its beginning.
truncate -s 1T huge
bad "a terabyte of zeros" 'huge: not a Roost filter' huge both
{ head -c 6 good; printf '\377\377\377\377\377\377\177'; } >boast
truncate -s 1T boast
bad "a terabyte that begins like a frame" 'boast: too large for the memory of this machine' boast both
rm -f huge boast

# ---- every byte flipped, every length cut (or every third) --------------------------------------------------------------

# spoil: for each byte of `whole` a file flipped.N with one of its bits flipped, for each length a file cut.N.
step=$(brief 3 1)
spoil() {
    python3 -c '
import sys
whole = open("whole", "rb").read()
for at in range(0, len(whole), int(sys.argv[1])):
    flipped = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:]
    open(f"flipped.{at}", "wb").write(flipped)
    open(f"cut.{at}", "wb").write(whole[:at])' "$step"
}

# all_refused FORM: info refuses each of those files in one line.
all_refused() {
    local file bad=0
    for file in "$1".*; do
        roost info "$file"
        [ "$status" -eq 2 ] && one_line "^roost: $file: (not a Roost filter|truncated|corrupt|made by a later version|empty file)" ||
            { bad=$((bad + 1)); echo "# $file was accepted"; }
    done
    return $bad
}

for kind in bloom cuckoo orcuckoo; do
    rm -f whole flipped.* cut.*
    "$ROOST" create whole --kind $kind --capacity 8 --fpr 10%
    "$ROOST" add whole a b c
    "$ROOST" info whole --new-replica >/dev/null # behind the frame there may be damage: see replica.sh
    spoil
    size=$((($(stat -c %s whole) + step - 1) / step))
    is "$kind: $size files of each form" "$size $size" "$(ls flipped.* | wc -l) $(ls cut.* | wc -l)"
    all_refused flipped
    verdict "$kind: each byte flipped is refused"
    all_refused cut
    verdict "$kind: each length is refused"
    gives "$kind: and the whole one is fine" 0 a check whole a z1
done
rm -f whole flipped.* cut.*

# ---- a cuckoo filter that is full ---------------------------------------------------------------------------------------

"$ROOST" create nest --kind cuckoo --capacity 1000
seq 900 | "$ROOST" add nest
seq 5000 >more
refuses "a full cuckoo filter" 'nest: full: .*1,000 elements.*nothing was added' add nest $(cat more)
before=$(snapshot)
"$ROOST" add nest <more >"$output/out" 2>"$output/err"
is "the same from standard input" "2 $before" "$? $(snapshot)"
is "what was in is still in" 900 "$(seq 900 | "$ROOST" check -c nest)"
holds "and there is room for the rest of its capacity" "$ROOST" add nest $(seq 901 1000)
"$ROOST" create brim --capacity 100
seq 1000 | "$ROOST" add brim
is "a bloom filter is never full, and says that its promise is void" false \
    "$(field brim promise_holds)"

# ---- permissions --------------------------------------------------------------------------------------------------------

# As an ordinary user, even if root runs the tests.
as_user() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
chmod 755 "$scratch"
cp "$ROOST" program
mkdir own
cp good own/f
"$ROOST" create other --capacity 20 && "$ROOST" add other else
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 own
if ! as_user ./program digest own/f >/dev/null 2>&1; then
    skip "permissions" "no other user can run the program here"
    finish
fi
as_user_refuses() {
    local name=$1 pattern=$2 before
    shift 2
    before=$(snapshot)
    as_user ./program "$@" >"$output/out" 2>"$output/err"
    [ $? -eq 2 ] && one_line "$pattern" && [ "$before" = "$(snapshot)" ]
    verdict "$name"
}
chmod 555 own
as_user_refuses "a read-only directory: add" '^roost: own/f: cannot write in its directory: Permission denied' add own/f new
as_user_refuses "a read-only directory: merge" '^roost: own/f: cannot write in its directory: Permission denied' merge own/f other
as_user_refuses "a read-only directory: create" '^roost: own/g: cannot write in its directory: Permission denied' create own/g --capacity 10
chmod 755 own
chmod 444 own/f
as_user_refuses "a read-only file" '^roost: own/f: Permission denied' add own/f new
chmod 000 own/f
as_user_refuses "an unreadable file" '^roost: own/f: Permission denied' check own/f new
chmod 644 own/f
as_user ./program add own/f new
is "once it may, it does" 0 $?

finish
