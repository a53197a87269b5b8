#!/usr/bin/env bash
# roost reconcile: what two files of lines differ in, here and through a shell, and --fetch; against comm and sort.
. "$(dirname "$0")/harness.sh"
. "$tests/peers.bash"

# ---- output and exit status ------------------------------------------------------------------------------------------------------

printf 'swift\nmartin\nswallow\n' >a
printf 'swallow\nheron\nswift\nheron' >b
gives "what differs" 1 '< martin
> heron' reconcile a b
gives "nothing differs" 0 '' reconcile a a
printf 'swallow\nswift\nmartin\nswift\n' >c
gives "neither order nor repetition matters" 0 '' reconcile a c
gives "nor does --method riblt" 1 '< martin
> heron' reconcile a b --method riblt
gives "in silence" 1 '' reconcile -q a b
printf 'x\nx\ny\nw\n' >m
printf 'x\ny\ny\nz\nw\n' >n
gives "counts, with --multiset" 1 '< 2 x
< 1 y
> 1 x
> 2 y
> 1 z' reconcile --multiset m n
gives "equal multisets" 0 '' reconcile --multiset m m
: >empty
gives "an empty file" 1 '> swift
> martin
> swallow' reconcile empty a
gives "two empty files" 0 '' reconcile empty empty
roost reconcile a b --stats
[ "$status" -eq 1 ] && grep -qE '^# 1 only in A, 1 only in B; sent .* bytes, received .* in [0-9]+ rounds, lines .* s of CPU$' "$output/out"
verdict "--stats says what it cost"
"$ROOST" reconcile a b --json >json
python3 -c 'import json; r = json.load(open("json")); assert r["only_here"] == r["only_there"] == 1 and not r["equal"] and 20 < r["sent"] < 500 and 10 < r["received"] < 500 and 2 <= r["rounds"] < 12 and r["cpu_seconds"] >= 0'
verdict "--json says the same"
if script -qec true /dev/null >/dev/null 2>&1; then
    # A file that comes slowly; then a peer that answers late.
    seq 5000 >many
    cat >slowly <<END
bash -c '"$ROOST" reconcile -q <(head -n 10 many; sleep 1.1; tail -n +11 many; sleep 0.2) many'
END
    script -qec "bash slowly" /dev/null >"$output/terminal" </dev/null
    grep -qE '[0-9.]+ k?B read' "$output/terminal" && grep -qE '[0-9,]+ lines read, [0-9,]+ a second' "$output/terminal"
    verdict "a terminal sees how much was read"
    MEANWHILE='sleep 1.1' script -qec "'$ROOST' reconcile --rsh '$PWD/shells/late' --roost '$ROOST' -q a here:$PWD/b" /dev/null >"$output/terminal" </dev/null
    grep -qE 'round 2, [0-9]+ B sent, [0-9]+ B received' "$output/terminal"
    verdict "and the rounds"
    script -qec "'$ROOST' reconcile a b" /dev/null >"$output/terminal" </dev/null
    is "short work shows none" $'< martin\n> heron' "$(tr -d '\r' <"$output/terminal")"
    rm -f many slowly
else
    skip "progress" "there is no script command"
fi
roost reconcile <(cat a) <(cat b)
[ "$status" -eq 1 ] && [ "$(cat "$output/out")" = $'< martin\n> heron' ]
verdict "pipes for files"

# ---- lines of all kinds ----------------------------------------------------------------------------------------------------------

printf 'cr\r\nnul\0l\n\n\xff\xfe\nlast' >bin1
printf 'cr\nnul\0l\n\xff\xfe\nlast\n\0' >bin2
"$ROOST" reconcile bin1 bin2 >got
printf '< cr\r\n< \n> cr\n> \0\n' | cmp -s - got
verdict "lines are bytes: CR, NUL, empty lines, no newline at the end"
cp bin1 bin3
"$ROOST" reconcile bin3 bin2 --fetch -q
printf 'cr\r\nnul\0l\n\n\xff\xfe\nlast\ncr\n\0\n' | cmp -s - bin3
verdict "and --fetch keeps them so"
head -c 100000000 /dev/zero | tr '\0' x >long1
cp long1 long2
printf y >>long2
cp a long3 && cat long2 >>long3
[ "$("$ROOST" reconcile long1 long2 | wc -c)" -eq 200000007 ] && "$ROOST" reconcile -q long2 long1 --fetch
[ "$(wc -c <long2)" -eq 200000003 ] && [ "$(wc -l <long2)" -eq 2 ]
verdict "a line of 100 MB"
rm -f long?

# ---- against comm ----------------------------------------------------------------------------------------------------------------

# model A B: what a set difference must print.
model() {
    awk 'NR == FNR { there[$0]; next } !($0 in there) && !seen[$0]++ { print "< " $0 }' "$2" "$1"
    awk 'NR == FNR { there[$0]; next } !($0 in there) && !seen[$0]++ { print "> " $0 }' "$1" "$2"
}
wrong=0
for shape in "0 0 50" "3000 0 0" "3000 5 0" "3000 0 40" "2000 300 500" "10 1500 20" "0 900 900" "1 1 1" "20000 150 150"; do
    read -r both here far <<<"$shape"
    { seq 1 "$both"; seq 100001 $((100000 + here)); seq 5 15 30; } | sed 's/$/ line/' >p
    { seq 1 "$both" | tac; seq 200001 $((200000 + far)); seq 5 15 30; } | sed 's/$/ line/' >q
    model p q >wanted
    for options in "" "--method riblt" "--method dbf"; do
        "$ROOST" reconcile $options p q >got
        cmp -s wanted got || wrong=$((wrong + 1))
    done
    "$ROOST" reconcile p "host:$PWD/q" --roost "$ROOST" >got
    cmp -s wanted got || wrong=$((wrong + 1))
    "$ROOST" reconcile "host:$PWD/p" q --roost "$ROOST" >got
    cmp -s wanted got || wrong=$((wrong + 1))
done
is "sets of all shapes, here and through a shell" 0 $wrong

# ---- the papers' methods ---------------------------------------------------------------------------------------------------------

for method in dbf ccf-query ccf-decode; do
    gives "$method, nothing differs" 0 '' reconcile a c --method $method
    gives "$method, two empty files" 0 '' reconcile empty empty --method $method
done
gives "dbf, through a shell" 1 '< martin
> heron' reconcile a "host:$PWD/b" --method dbf --roost "$ROOST"
gives "dbf, the other way" 1 '< martin
> heron' reconcile "host:$PWD/a" b --method dbf --roost "$ROOST"
gives "ccf-query, equal multisets" 0 '' reconcile --multiset m m --method ccf-query
gives "ccf-decode, through a shell" 0 '' reconcile --multiset "host:$PWD/m" m --method ccf-decode --roost "$ROOST"
"$ROOST" reconcile a b --method dbf --json >json
python3 -c 'import json; r = json.load(open("json")); assert r["only_here"] == r["only_there"] == 1 and r["exact"] and r["complete"] and not r["equal"]'
verdict "dbf says that it is exact"
"$ROOST" reconcile a b --method ccf-query --json >json 2>"$output/err"
python3 -c 'import json; r = json.load(open("json")); assert not r["exact"] and not r["equal"] and r["rounds"] == 3'
verdict "ccf-query says that it is not"

# Keys fall together by chance, another one in each run: one in thousands. So some lines more or fewer are right, but not twenty of
# two thousand; and where no difference is said to have been missed, none was.
{ seq 1 3000; seq 100001 101000; } >p
{ seq 1 3000 | tac; seq 200001 201000; } >q
model p q >wanted
# nearly_all METHOD A B
nearly_all() {
    "$ROOST" reconcile --method "$1" "$2" "$3" --roost "$ROOST" >got 2>"$output/err"
    local code=$? missed invented
    missed=$(sort wanted | comm -23 - <(sort got) | wc -l) invented=$(sort wanted | comm -13 - <(sort got) | wc -l)
    [ $code -eq 1 ] && [ "$missed" -le 20 ] && [ "$invented" -le 20 ] &&
        if [ -s "$output/err" ]; then one_line "--method $1 missed some differences"; else [ "$missed" -eq 0 ]; fi
    verdict "$1 finds nearly all, and says if not: $2 $3"
}
for method in ccf-query ccf-decode; do
    nearly_all $method p q
    nearly_all $method p "host:$PWD/q"
    nearly_all $method "host:$PWD/p" q
done

# Copies that are there are never made again, whatever a filter says.
{ seq 1 500; seq 1 300; seq 901 950; } >many
{ seq 1 600; seq 1 200; seq 1 100; seq 901 950; } >others
sort many | uniq -c >x && sort others | uniq -c >y
awk '{ if ($1 > most[$2]) most[$2] = $1 } END { for (line in most) print most[line], line }' x y | sort >wanted
for method in ccf-query ccf-decode; do
    for far in others "host:$PWD/others"; do
        cp many here && "$ROOST" reconcile -q --multiset --fetch --method $method here "$far" --roost "$ROOST" 2>"$output/err"
        [ $? -eq 1 ] && [ "$(sort here | uniq -c | awk '{ print $1, $2 }' | sort | comm -13 wanted - | wc -l)" -le 20 ] &&
            [ -z "$(sort here | uniq -c | awk 'NR == FNR { most[$2] = $1; next } $1 > most[$2]' wanted -)" ]
        verdict "$method --fetch takes in nearly all, and nothing twice: $far"
    done
done

# ---- --fetch ---------------------------------------------------------------------------------------------------------------------

seq 1 1000 >left && seq 501 1200 | tac >right
chmod 640 left
{ seq 1 1000; seq 1001 1200 | tac; } >wanted
cp -p left here && "$ROOST" reconcile -q here right --fetch
[ $? -eq 1 ] && cmp -s here wanted && [ "$(stat -c %a here)" = 640 ]
verdict "--fetch makes A the union, in order"
cp -p left here && "$ROOST" reconcile -q here "host:$PWD/right" --fetch --roost "$ROOST"
[ $? -eq 1 ] && cmp -s here wanted
verdict "from another machine"
cp -p left here && "$ROOST" reconcile -q "host:$PWD/here" right --fetch --roost "$ROOST"
[ $? -eq 1 ] && cmp -s here wanted && [ "$(stat -c %a here)" = 640 ]
verdict "to another machine"
before=$(snapshot)
"$ROOST" reconcile -q wanted right --fetch >"$output/out"
[ "$before" = "$(snapshot)" ]
verdict "A that lacks nothing is left alone"
cp m m2 && "$ROOST" reconcile -q --multiset m2 n --fetch
[ "$(cat m2)" = $'x\nx\ny\nw\ny\nz' ]
verdict "--multiset: the larger count of each"
seq 1 5 >short
ln -s short link
"$ROOST" reconcile -q link <(seq 4 7) --fetch
[ -L link ] && [ "$(tr '\n' ' ' <short)" = '1 2 3 4 5 6 7 ' ]
verdict "a link stays one"

# ---- errors ---------------------------------------------------------------------------------------------------------------------

refuses "a file that is not there" 'nosuch: No such file' reconcile a nosuch
refuses "a directory" 'shells: Is a directory' reconcile shells a
"$ROOST" create filter --capacity 10
refuses "a filter, on either side" 'filter: is a filter, not a file of lines; roost sync' reconcile a filter
refuses "and the other way round" 'filter: is a filter, not a file of lines' reconcile filter a
rm filter
refuses "an unknown method" '--method magic: must be auto, riblt, dbf, ccf-query or ccf-decode' reconcile a b --method magic
refuses "dbf for multisets" '--method dbf: cannot be used with --multiset' reconcile a b --method dbf --multiset
refuses "riblt for multisets" '--method riblt: cannot be used with --multiset' reconcile a b --method riblt --multiset
for name in ssh://host/b redis://host/key https://host/b; do
    refuses "$name is no file" "^roost: $name: must be a path or HOST:PATH" reconcile a $name
    refuses "$name is none where it comes first" "^roost: $name: must be a path or HOST:PATH" reconcile $name a
done
refuses "two other machines" 'only one of the two' reconcile host:a host:b
refuses "--fetch into a pipe" 'not a regular file' reconcile -q /dev/stdin a --fetch </dev/null
refuses "a peer that is no roost" 'does not speak.*it says: hello' reconcile a host:b --roost 'echo hello;:'
roost reconcile a "host:$PWD/nosuch" --roost "$ROOST"
[ "$status" -eq 2 ] && [ ! -s "$output/out" ] && grep -q 'nosuch: No such file' "$output/err"
verdict "a file that is not there, there"
if [ "$(id -u)" -ne 0 ]; then
    chmod 0 c && refuses "a file that may not be read" 'c: Permission denied' reconcile a c
fi

# A peer that answers the first request with such bytes: one line, exit 2, and A is as it was.
answer_with() { # NAME BYTES (as printf has them)
    printf '#!/bin/sh\nprintf "%s"\n' "$2" >shells/liar
    chmod +x shells/liar
    refuses "a peer that sends $1" 'roost: host:b: ' reconcile a host:b --fetch -q --rsh "$PWD/shells/liar"
}
answer_with "garbage" 'garbage'
answer_with "a message of 4 GiB" '\\325\\200\\200\\200\\200\\020xxxxx'
answer_with "a message of no type" '\\325\\002\\377\\377'
answer_with "the end at once" '\\325\\005eabcd'
answer_with "a failure" '\\325\\002X\\012'
answer_with "a count of keys beyond all" '\\325\\013\\005\\377\\377\\377\\377\\377\\377\\377\\377\\377\\001'
printf '#!/bin/sh\nhead -c 1 >/dev/null\nprintf "\\325\\100half"\n' >shells/liar # once it was asked: who ends before that is no roost
refuses "a peer that stops in a message" 'broke off' reconcile a host:b --fetch -q --rsh "$PWD/shells/liar"
yes '' | head -c 3000000 | tr '\n' '\325' >flood
printf '#!/bin/sh\ncat "%s"\n' "$PWD/flood" >shells/liar
refuses "a peer that sends megabytes of noise" 'roost: host:b: ' reconcile a host:b --fetch -q --rsh "$PWD/shells/liar"
rm flood

# ---- the connection breaks, processes die -----------------------------------------------------------------------------------------

# Cut at many places in either direction: exit 2 and A as it was, or all of it.
{ seq 1 400; seq 1001 1040; } >before && { seq 1 400; seq 2001 2050; } >other
{ cat before; seq 2001 2050; } >united
cut_everywhere() { # UP or DOWN, A, B, the file that changes
    local at=0 step wrong=0 through=
    until [ $through ] || [ $at -gt 4000 ]; do
        cp before here
        UP=1000000 DOWN=1000000
        declare $1=$at
        export UP DOWN
        "$ROOST" reconcile -q --fetch "$2" "$3" --rsh "$PWD/shells/cut" --roost "$ROOST" 2>/dev/null
        case $? in
        1) through=yes && cmp -s here united || wrong=$((wrong + 1)) ;;
        2) cmp -s here before || { [ "$2" != here ] && cmp -s here united; } || wrong=$((wrong + 1)) ;;
        *) wrong=$((wrong + 1)) ;;
        esac
        step=$((at < 60 ? 7 : 61))
        at=$((at + step))
    done
    [ $through ] && [ $at -gt 60 ] && [ $wrong -eq 0 ]
    verdict "cut ${1,,} at every so many bytes, $2: nothing is half done"
}
cut_everywhere UP here "host:$PWD/other"
cut_everywhere DOWN here "host:$PWD/other"
cut_everywhere UP "host:$PWD/here" other
cut_everywhere DOWN "host:$PWD/here" other

# Killed while it waits for a peer that never answers.
printf '#!/bin/sh\necho $$ >"%s"\nexec sleep 30\n' "$output/deaf" >shells/deaf && chmod +x shells/deaf
cp before here
before=$(snapshot)
"$ROOST" reconcile -q --fetch here host:other --rsh "$PWD/shells/deaf" 2>/dev/null &
pid=$!
wait_until test -s "$output/deaf"
kill -9 $pid
wait $pid 2>/dev/null
[ "$before" = "$(snapshot)" ]
verdict "kill -9 while it waits: A is as it was"
kill "$(cat "$output/deaf")"
rm "$output/deaf"
"$ROOST" reconcile -q --fetch here host:other --rsh "$PWD/shells/deaf" >"$output/out" 2>"$output/err" &
pid=$!
wait_until test -s "$output/deaf"
kill -TERM $pid
wait $pid
[ $? -eq 2 ] && one_line 'interrupted' && [ "$before" = "$(snapshot)" ]
verdict "a signal while it waits: one line, and A is as it was"

# ---- serve -----------------------------------------------------------------------------------------------------------------------

printf 'nonsense' | "$ROOST" serve --lines a >"$output/out" 2>"$output/err"
[ $? -eq 2 ] && one_line 'received bytes that are not a message'
verdict "serve refuses what is no message"
printf '\325\003abc' | "$ROOST" serve --lines a >"$output/out" 2>"$output/err"
[ $? -eq 2 ] && one_line 'uses another version of'
verdict "and a message that opens no session"
"$ROOST" serve --lines a </dev/null >"$output/out" 2>"$output/err"
[ $? -eq 0 ] && [ ! -s "$output/out" ] && [ ! -s "$output/err" ]
verdict "and ends with its input"

finish
