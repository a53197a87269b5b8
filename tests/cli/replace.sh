#!/usr/bin/env bash
# A file is replaced whole or not at all: by links, permissions, full disks, signals, kill -9 and rivals.
. "$(dirname "$0")/harness.sh"

no_litter() {
    [ -z "$(find . -name '.roost-*')" ]
}

# ---- create ---------------------------------------------------------------------------------------------------------------

"$ROOST" create f --capacity 1000
"$ROOST" add f a
refuses "create does not overwrite" '^roost: f: already exists; --force replaces it' create f --capacity 1000
echo precious >text
refuses "create does not overwrite what is no filter" '^roost: text: already exists' create text --capacity 1000
gives "create --force does" 0 '' create text --capacity 1000 --force
gives "and the filter is empty" 1 '' check text a
mkdir d
refuses "create does not replace a directory" '^roost: d: ' create d --capacity 1000 --force

# ---- links ----------------------------------------------------------------------------------------------------------------

ln -s ../f d/link
ln -s d/link chain
"$ROOST" add chain through-the-links
[ -L chain ] && [ -L d/link ] && [ ! -L f ]
verdict "links stay links"
gives "what they name was changed" 0 through-the-links check f through-the-links
ln -s d/new dangling
"$ROOST" create dangling --capacity 1000
[ -L dangling ] && [ -f d/new ]
verdict "create makes what a dangling link names"
ln "$PWD/f" hard
"$ROOST" add hard x
is "a hard link gets a file of its own" '0 1' "$("$ROOST" check -c hard x >/dev/null; echo $?) $("$ROOST" check f x >/dev/null; echo $?)"

# ---- permissions ------------------------------------------------------------------------------------------------------------

for mode in 600 640 644 666 755; do
    chmod $mode f
    "$ROOST" add f "mode $mode"
    is "mode $mode stays" $mode "$(stat -c %a f)"
done
(umask 077 && "$ROOST" create private --capacity 10)
is "a new file follows the umask" 600 "$(stat -c %a private)"
(umask 022 && "$ROOST" create public --capacity 10)
is "a new file follows another umask" 644 "$(stat -c %a public)"
if [ "$(id -u)" -eq 0 ]; then
    chown 65534:65533 f
    chmod 640 f
    "$ROOST" add f owned
    is "the owner stays" "65534:65533 640" "$(stat -c '%u:%g %a' f)"
    chown 0:0 f
else
    skip "the owner stays" "only root can give files away"
fi
name=$(printf 'n%.0s' {1..255})
"$ROOST" create "$name" --capacity 10
holds "the longest name that a file can have" "$ROOST" add "$name" key
holds "no temporary is left" no_litter

# ---- full disks -------------------------------------------------------------------------------------------------------------

seq 200000 >keys
"$ROOST" create wide --capacity 200000
before=$(snapshot)
(ulimit -f 64 && "$ROOST" add wide <keys) >"$output/out" 2>"$output/err"
is "a file size limit: exit 2, all as it was" "2 $before" "$? $(snapshot)"
one_line '^roost: wide: cannot be written: File too large'
verdict "a file size limit: one line"
(ulimit -f 0 && "$ROOST" create none --capacity 10) 2>&1 >/dev/null | cat >"$output/err" # the limit is on that, too
is "a file size limit of nothing: create" "2 $before" "${PIPESTATUS[0]} $(snapshot)"
one_line '^roost: none: cannot be written: File too large'
verdict "a file size limit of nothing: one line"

mkdir small
if mount -t tmpfs -o size=64k none small 2>/dev/null; then
    at_exit+=("umount '$scratch/small'")
    "$ROOST" create small/f --capacity 200000
    "$ROOST" add small/f a b c
    before=$(snapshot)
    "$ROOST" add small/f <keys >"$output/out" 2>"$output/err"
    is "a full disk: exit 2, all as it was" "2 $before" "$? $(snapshot)"
    one_line '^roost: small/f: cannot be written: No space left on device'
    verdict "a full disk: one line"
    gives "a full disk: the file still answers" 0 a check small/f a d
    holds "a full disk: a small change still fits" "$ROOST" add small/f d
    mount -o remount,ro small
    refuses "a read-only file system" '^roost: small/f: Read-only file system' add small/f e
    refuses "a read-only file system: create" '^roost: small/g: .*Read-only file system' create small/g --capacity 10
    gives "a read-only file system: reading is fine" 0 d check small/f d e
    mount -o remount,rw small
else
    skip "a full disk" "no file system can be mounted here"
fi

# ---- signals ------------------------------------------------------------------------------------------------------------------

# interrupts NAME SIGNAL ARGUMENT...: a verb that waits for keys is stopped; nothing has changed.
mkfifo slow
interrupts() {
    local name=$1 signal=$2 before pid
    shift 2
    exec 8<>slow
    seq 1000 >&8
    before=$(snapshot)
    env --default-signal=INT,TERM,HUP "$ROOST" "$@" <slow >"$output/out" 2>"$output/err" 8>&- &
    pid=$!
    wait_until is_locked f
    sleep 0.05
    kill -"$signal" $pid
    exec 8>&- # who was not stopped finds the end of its input
    wait $pid
    is "$name: exit 2, all as it was" "2 $before" "$? $(snapshot)"
    one_line '^roost: interrupted, f is unchanged$'
    verdict "$name: one line"
}
interrupts SIGINT INT add f
interrupts SIGTERM TERM add f -v
interrupts SIGHUP HUP add f x - y

# Who waits for the lock can be stopped as well.
somebody_waits() {
    grep -qE -- "-> FLOCK .*:$(stat -c %i f) " /proc/locks
}
exec 7<f
flock 7
before=$(snapshot)
env --default-signal=INT "$ROOST" add f waiting >"$output/out" 2>"$output/err" &
pid=$!
wait_until somebody_waits
kill -INT $pid
wait_until is_gone $pid || flock -u 7
wait $pid
is "SIGINT while waiting for the lock" "2 $before" "$? $(snapshot)"
one_line '^roost: interrupted, f is unchanged$'
verdict "SIGINT while waiting for the lock: one line"
(trap '' INT && exec "$ROOST" add f ignored) 2>"$output/err" &
pid=$!
wait_until somebody_waits
kill -INT $pid
flock -u 7
exec 7<&-
wait $pid
is "a signal that was ignored stays ignored" 0 $?

# ---- stopped at any moment ----------------------------------------------------------------------------------------------------

# The time that one add takes is cut into steps; each run is stopped at another. It must be before or after.
"$ROOST" create victim --capacity 500000
stopped=0
finished=0
wrong=0
seq 1 150000 >batch
cp victim expected
begin=$(date +%s%N)
"$ROOST" add expected <batch
duration=$((($(date +%s%N) - begin) / 1000))
for ((run = 0; run < 18; run++)); do
    seq $((run * 150000)) $((run * 150000 + 149999)) >batch
    signal=$([ $((run % 3)) -eq 0 ] && echo TERM || echo KILL)
    before=$(digest victim)
    cp victim expected
    "$ROOST" add expected <batch
    "$ROOST" add victim <batch 2>/dev/null &
    pid=$!
    delay=$((1000 + duration * (run % 9) / 5))
    sleep "$(printf '%d.%06d' $((delay / 1000000)) $((delay % 1000000)))"
    kill -$signal $pid 2>/dev/null
    wait $pid 2>/dev/null
    status=$?
    after=$("$ROOST" digest victim 2>"$output/err") || wrong=$((wrong + 1))
    if [ "$after" = "$(digest expected)" ]; then
        finished=$((finished + 1))
    elif [ "$after" = "$before" ] && [ $status -ne 0 ]; then
        stopped=$((stopped + 1))
    else
        wrong=$((wrong + 1))
    fi
    [ $signal = KILL ] || no_litter || [ $stopped -gt 0 ] || wrong=$((wrong + 1))
done
is "stopped at 18 moments, the file is always as before or as after" 0 $wrong
echo "# $stopped were stopped in time, $finished had finished"
[ $stopped -gt 0 ]
verdict "some of them were really stopped"
[ "$(find . -name '.roost-*' | wc -l)" -le 1 ]
verdict "at most one temporary is left"
"$ROOST" add victim the-end
holds "and the next add takes it away" no_litter
touch ".roost-$(printf '%x' "$(stat -c %i victim)")"
"$ROOST" add victim the-end
holds "even one that has nothing to write" no_litter
rm -f victim expected batch

# A temporary of a process that was killed does not stop the next one.
: >".roost-$(printf %x "$(stat -c %i f)")"
holds "a temporary in the way" "$ROOST" add f in-the-way
holds "is gone" no_litter

# ---- rivals -------------------------------------------------------------------------------------------------------------------

"$ROOST" create shared --capacity 100000 --fpr 1e-9
for ((i = 0; i < 24; i++)); do
    seq $((i * 100)) $((i * 100 + 99)) | "$ROOST" add shared &
done
wait
is "24 adders at once: all keys survive" 2400 "$(seq 0 2399 | "$ROOST" check -c shared)"
"$ROOST" create left --capacity 100000 --fpr 1e-9
cp left right
for ((i = 0; i < 10; i++)); do
    "$ROOST" add left "left $i" &
    "$ROOST" add right "right $i" &
    "$ROOST" merge left right &
    "$ROOST" merge right left &
done
wait
"$ROOST" merge left right
is "adders and mergers at once: all keys survive" 20 \
    "$({ seq -f 'left %g' 0 9; seq -f 'right %g' 0 9; } | "$ROOST" check -c left)"
for ((i = 0; i < 8; i++)); do
    "$ROOST" create contested --capacity $((1000 + i)) 2>/dev/null && echo made &
done >"$output/made"
wait
is "of several creators one wins" 1 "$(wc -l <"$output/made")"
holds "and what it made is whole" "$ROOST" info contested
holds "no temporary is left by any of them" no_litter

# Readers need no lock, and never see half a file.
"$ROOST" create busy --capacity 100000
for ((i = 0; i < 30; i++)); do
    seq $((i * 1000)) $((i * 1000 + 999)) | "$ROOST" add busy
done &
writer=$!
broken=0
while kill -0 $writer 2>/dev/null; do
    "$ROOST" digest busy >/dev/null 2>"$output/err" || broken=$((broken + 1))
done
wait $writer
is "readers always see a whole file" 0 $broken
exec 7<busy
flock 7
holds "readers do not wait for writers" timeout 300 "$ROOST" check busy 5
exec 7<&-

finish
