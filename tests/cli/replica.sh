#!/usr/bin/env bash
# Which replica a file is. Two files with one actor lose each other's elements, so every way to copy a file must make
# another replica, and whatever happens to the replica section, the filter must stay readable.
. "$(dirname "$0")/harness.sh"

actor() {
    field "$1" actor
}

# Each key that is ever added is noted; at the end none may be missing in the merge of all files.
note() { # FILE KEY...: adds them
    "$ROOST" add "$@"
    shift
    printf '%s\n' "$@" >>"$output/noted"
}

"$ROOST" create f --kind orcuckoo --capacity 1000

# ---- one file, one replica ---------------------------------------------------------------------------------------------

is "a new file holds a frame and nothing else" "$(field f bytes_encoded)" "$(stat -c %s f)"
is "it has no actor yet" null "$(actor f)"
note f 'key 1'
first=$(actor f)
[[ $first =~ ^0x[0-9a-f]{16}$ ]]
verdict "the first add gives it one"
for i in 2 3 4 5; do
    note f "key $i"
done
is "it stays the same replica from add to add" "$first 1 5" "$(actor f) $(field f actors) $(field f dots)"
"$ROOST" remove f 'key 5'
is "and from remove to remove" "$first 1" "$(actor f) $(field f actors)"
sed -i '/^key 5$/d' "$output/noted"
"$ROOST" create other --kind orcuckoo --capacity 1000
note other 'key in other'
"$ROOST" merge f other
is "and through a merge" "$first 2" "$(actor f) $(field f actors)"
[ "$(field f bytes_encoded)" -lt "$(stat -c %s f)" ]
verdict "bytes_encoded is the frame alone"
before=$(snapshot)
for words in "info f" "info --json f" "digest f" "check f key" "check -v f key" "merge f f" "merge f other" "add f" "remove f nobody"; do
    "$ROOST" $words >/dev/null </dev/null
done
is "who only reads, or changes nothing, leaves the file alone" "$before" "$(snapshot)"
"$ROOST" create grow --capacity 1000
"$ROOST" add grow a b c
is "a grow-only filter that never synced is a bare frame" "$(field grow bytes_encoded)" "$(stat -c %s grow)"
digest=$(digest f)
head -c "$(field f bytes_encoded)" f >bare
is "a bare frame is a file" "$digest null" "$(digest bare) $(actor bare)"
holds "and equal to the one with a section" cmp bare <(head -c "$(stat -c %s bare)" f)
for ((i = 0; i < 12; i++)); do
    "$ROOST" add f "rival $i" &
    echo "rival $i" >>"$output/noted"
done
wait
is "12 adders at once are one replica" "$first" "$(actor f)"
is "and lose nothing" 12 "$(seq -f 'rival %g' 0 11 | "$ROOST" check -c f)"

# ---- copies ------------------------------------------------------------------------------------------------------------

# is_another NAME FILE: another replica than f was first, and it takes an actor of its own.
is_another() {
    local before after
    before=$(actor "$2")
    note "$2" "$1"
    after=$(actor "$2")
    is "$1: another replica" "null yes" "$before $([ "$after" != null ] && [ "$after" != "$first" ] && echo yes)"
}

mkdir copies
cp f copies/cp
is_another "cp" copies/cp
cp -a f copies/cp-a
is_another "cp -a" copies/cp-a
cat f >copies/cat
is_another "cat" copies/cat
dd if=f of=copies/dd status=none
touch -r f copies/dd
is_another "dd, with its times" copies/dd
tar cf - f | tar xf - -C copies
mv copies/f copies/tar
is_another "tar" copies/tar
if command -v rsync >/dev/null; then
    rsync -a f copies/rsync
    is_another "rsync -a" copies/rsync
fi
cp --reflink=auto -a f copies/reflink
is_another "a reflink" copies/reflink
is "the file itself is still the one" "$first" "$(actor f)"

mv f moved
is "mv: the same replica" "$first" "$(actor moved)"
note moved 'after mv'
is "mv: and it stays so" "$first" "$(actor moved)"
mv moved copies/f
mv copies/f f
is "mv to another directory and back: the same replica" "$first" "$(actor f)"
chmod 600 f && chmod 644 f
ln -s f link
note link 'through a link'
is "through a symbolic link: the same replica" "$first" "$(actor f)"
touch f
is_another "touch" f
first=$(actor f)

# A hard link is what cp -l and many a backup make: roost gives the name to a new file, the old one keeps all its marks.
ln f copies/hard
is "two names: neither is the one" "null null" "$(actor f) $(actor copies/hard)"
note f 'after the link'
second=$(actor f)
[ "$second" != "$first" ]
verdict "who is added to becomes another replica"
is "the other name stays what it was" "$first" "$(actor copies/hard)"
note copies/hard 'into the link'
first=$second

# The same while another process changes the file.
mkfifo slow
exec 8<>slow
"$ROOST" add f <slow 8>&- &
adder=$!
wait_until is_locked f
ln f copies/caught
echo 'slow key' | tee -a "$output/noted" >&8
exec 8>&-
wait $adder
is "linked while a key was added: the file goes on" "$first" "$(actor f)"
is "and the link is another replica" null "$(actor copies/caught)"
note copies/caught 'into the caught link'
rm slow

# ---- backups that are restored -------------------------------------------------------------------------------------------

# File systems use inodes again, so that an old copy can end up under the very number that it was made from.
restored=0
for ((i = 0; i < 12; i++)); do
    cp -a f backup
    was=$(actor f)
    note f "lost $i.1"
    ((i % 2)) && note f "lost $i.2"
    ((i % 3)) && note f "lost $i.3"
    mv f "copies/gone $i" && cp "copies/gone $i" f
    case $((i % 4)) in
    0) cat backup >f ;;
    1) cp -a backup f ;;
    2) rm f && cp -a backup f ;;
    3) rm f && mv backup f ;;
    esac
    note f "restored $i"
    [ "$(actor f)" != "$was" ] && restored=$((restored + 1))
done
is "twelve times restored, twelve times another replica" 12 $restored
again=0
for ((i = 0; i < 12; i++)); do
    cp -a f backup
    was=$(actor f)
    "$ROOST" add f "gone again $i"
    "$ROOST" add f "gone for good $i"
    cp "$PWD/f" "copies/kept $i"
    cp -a backup f # in place, times and all
    note f "again $i"
    [ "$(actor f)" != "$was" ] && again=$((again + 1))
done
is "an old copy written over the file: another replica each time" 12 $again

# ---- nothing is lost -------------------------------------------------------------------------------------------------------

"$ROOST" merge all f copies/* other bare
is "all copies, all added to, merged: nothing is lost" "$(wc -l <"$output/noted")" "$("$ROOST" check -c all <"$output/noted")"
gives "what was removed before they parted stays away" 1 '' check all 'key 5'
is "a merge into a new file makes another replica" null "$(actor all)"
rm -rf copies backup

# ---- a new replica on demand -------------------------------------------------------------------------------------------------

was=$(actor f)
digest=$(digest f)
gives "--new-replica says what it did" 0 "f is a new replica; it was actor $was" info f --new-replica
is "the filter is the same" "$digest" "$(digest f)"
is "the file is a bare frame" "$(field f bytes_encoded)" "$(stat -c %s f)"
"$ROOST" add f fresh
[ "$(actor f)" != "$was" ]
verdict "and its next add has another actor"
json_says "--new-replica --json shows it" 'r["actor"] is None' info f --new-replica --json
gives "once more" 0 'f is a new replica' info f --new-replica
refuses "of a file that is missing" '^roost: missing: No such file' info missing --new-replica

# ---- damage ------------------------------------------------------------------------------------------------------------------

"$ROOST" create whole --kind orcuckoo --capacity 8
"$ROOST" add whole a b c
frame=$(field whole bytes_encoded)
size=$(stat -c %s whole)
digest=$(digest whole)
python3 -c '
import sys
whole, frame = open("whole", "rb").read(), int(sys.argv[1])
for at in range(frame, len(whole)):
    open(f"flipped.{at}", "wb").write(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:])
    if at > frame:
        open(f"cut.{at}", "wb").write(whole[:at])
open("longer.1", "wb").write(whole + b"x")
open("longer.2", "wb").write(whole + whole[frame:])' "$frame"
is "as many files as the section has bytes" "$((size - frame)) $((size - frame - 1))" "$(ls flipped.* | wc -l) $(ls cut.* | wc -l)"
bad=0
for file in flipped.* cut.* longer.*; do
    roost info "$file" --json
    { [ "$status" -eq 0 ] && grep -q "\"digest\":\"$digest\"" "$output/out" && grep -q '"actor":null' "$output/out"; } || bad=$((bad + 1))
    : >"$output/out"
    one_line "^roost: $file: (its replica section is damaged, the filter is not|a later version of Roost wrote its replica section)" || bad=$((bad + 1))
done
is "each byte flipped, each length: the filter is read, and one line says what happened" 0 $bad
gives "who does not need the section says nothing" 0 b check "flipped.$((frame + 9))" b z
roost add "flipped.$((frame + 9))" d
[ "$status" -eq 0 ] && [ "$(actor "flipped.$((frame + 9))")" != null ]
verdict "the next add mends it"
cp whole later && printf '\002' | dd of=later bs=1 seek=$((frame + 4)) conv=notrunc status=none
roost info later
is "a section of a later version is dropped" "0 roost: later: a later version of Roost wrote its replica section; it becomes a new replica" \
    "$status $(cat "$output/err")"
{ cat bare; tail -c +"$((frame + 1))" whole; } >mixed
roost info mixed --json
grep -q '"actor":null' "$output/out"
verdict "the section of another filter is worth nothing"
{ head -c "$frame" whole; echo trash; } >trash
refuses "bytes that are no section" '^roost: trash: corrupt' info trash
rm -f flipped.* cut.* longer.* later mixed trash

# ---- other file systems ----------------------------------------------------------------------------------------------------------

mkdir elsewhere
"$ROOST" add whole d
was=$(actor whole)
if mount -t tmpfs none elsewhere 2>/dev/null; then
    at_exit+=("umount '$scratch/elsewhere'")
    mv whole elsewhere/whole
    is "mv to another file system: another replica" null "$(actor elsewhere/whole)"
    "$ROOST" add elsewhere/whole e
    was=$(actor elsewhere/whole)
    "$ROOST" add elsewhere/whole f
    is "which it stays there" "$was" "$(actor elsewhere/whole)"
    mv elsewhere/whole whole
    is "and back: another one again" null "$(actor whole)"
else
    skip "another file system" "none can be mounted here"
fi

# Inodes of 128 bytes have neither birth times nor anything finer than seconds.
mkdir coarse
if truncate -s 4M disk && mkfs.ext2 -q -I 128 disk >/dev/null 2>&1 && mount -o loop disk coarse 2>/dev/null; then
    at_exit+=("umount '$scratch/coarse'")
    "$ROOST" create coarse/f --kind orcuckoo --capacity 1000 # more than the 300 adds below
    "$ROOST" add coarse/f 1
    was=$(actor coarse/f)
    inode=$(stat -c %i coarse/f)
    cp -a coarse/f coarse/backup
    last=1
    while [ $last -lt 300 ]; do # until it is under its first inode again, where the backup would be at home; a busy kernel takes its time
        "$ROOST" add coarse/f $((++last))
        [ "$(stat -c %i coarse/f)" -eq "$inode" ] && break
    done
    is "coarse times and no birth: the same replica from add to add" "$was" "$(actor coarse/f)"
    cp coarse/f coarse/ahead
    sleep 3
    cp -a coarse/backup coarse/f
    "$ROOST" add coarse/f restored
    [ "$(actor coarse/f)" != "$was" ]
    verdict "coarse times and no birth: a copy written over the file is another replica"
    "$ROOST" merge coarse/f coarse/ahead
    is "coarse times and no birth: nothing is lost" $((last + 1)) "$({ seq $last; echo restored; } | "$ROOST" check -c coarse/f)"
else
    skip "coarse times" "no such file system can be made here"
fi

finish
