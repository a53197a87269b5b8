#!/usr/bin/env bash
# Keys are bytes: whatever stands before the newline goes in, and comes out of check, unchanged.
. "$(dirname "$0")/harness.sh"

"$ROOST" create f --capacity 10000 --fpr 1e-9

# ---- where keys come from ---------------------------------------------------------------------------------------------

gives "add is silent" 0 '' add f alpha beta
gives "check prints what is in" 0 alpha check f alpha gamma
gives "check -v prints what is not" 0 gamma check f -v alpha gamma
gives "check finds nothing" 1 '' check f gamma delta
gives "check -v finds nothing" 1 '' check -v f alpha beta
gives "check -c counts" 0 2 check f -c alpha beta gamma
gives "check -c counts nothing" 1 0 check -c f gamma
gives "check -vc counts the others" 0 1 check -vc f alpha gamma
gives "check -q is silent and finds" 0 '' check f -q alpha
gives "check -q is silent and finds none" 1 '' check f -q gamma
gives "check -qv" 0 '' check -qv f gamma
gives "check -qc is as silent as -q" 0 '' check -qc f alpha
gives "check --json counts" 0 '{"keys":3,"selected":2}' check f --json alpha beta gamma
gives "repeated keys are repeated" 0 $'alpha\nalpha' check f alpha alpha

printf 'one\ntwo\n' | "$ROOST" add f
gives "keys on standard input" 0 $'one\ntwo' check f one two three
printf 'four\nfive\n' | "$ROOST" add f three - six
gives "- is standard input between operands" 0 $'three\nfour\nfive\nsix' check f three four five six seven
is "check reads standard input" $'one\nfive' "$(printf 'one\nnine\nfive\n' | "$ROOST" check f)"
is "check - reads it too" $'alpha\none\ntwo' "$(printf 'one\nnine\n' | "$ROOST" check f alpha - two)"
"$ROOST" add f -- -v --json -
gives "behind -- all are keys" 0 $'-v\n--json\n-' check f -- -v --json - -c </dev/null
printf '' | "$ROOST" check f >"$output/out"
is "no keys at all select none" 1 $?
"$ROOST" add f </dev/null
is "no keys at all are fine to add" 0 $?
gives "an empty operand is the empty key" 1 '' check f ''

# ---- keys from files and with NUL ---------------------------------------------------------------------------------------

printf 'from file\nlast of file' >list
printf 'second\n' >list2
gives "add -f adds the lines of a file" 0 '{"keys":2,"new":2,"elements":13,"promise_holds":true}' add --json -f list f </dev/null
gives "check -f checks them" 0 $'from file\nlast of file' check f --file=list
gives "-f may be glued" 0 2 check -cflist f
gives "-f may be repeated, after operands" 0 $'alpha\nfrom file\nlast of file' check f alpha -f list -f list2
is "-f - is standard input" $'alpha\nfrom file\nlast of file\none' "$(echo one | "$ROOST" check f alpha -f list -f -)"
is "with -f standard input is not read otherwise" 0 "$(echo one | "$ROOST" check -c f -f list2)"
refuses "-f of a file that is missing" '^roost: missing: No such file or directory$' add f -f missing
refuses "-f of a directory" '^roost: \.: Is a directory$' add f -f .
refuses "-f without a value" '^roost: --file: needs a value \(KEYS\)$' add f -f
refuses "an error in a later file adds nothing of an earlier one" '^roost: missing: No such' add f -f list2 -f missing
gives "nothing of it" 1 '' check f second
printf 'two\nlines\0from file\0stop' >nul
is "add -0 takes NUL-terminated keys" '"new":2' "$("$ROOST" add f -0 --json <nul | cut -d, -f2)"
"$ROOST" check -0 f -f nul >"$output/back"
{ cat nul; printf '\0'; } | cmp - "$output/back"
verdict "check -0 prints them as they came"
printf 'absent\0stop\0' | "$ROOST" check --null -v f | cmp - <(printf 'absent\0')
verdict "check -0 -v, too"
printf 'two\nlines\0' | xargs -0 "$ROOST" check -0 f | cmp - <(printf 'two\nlines\0')
verdict "operands are printed with NUL, too"
"$ROOST" create r --capacity 1000 --kind orcuckoo
"$ROOST" add r -f list -0f nul # all of them split at NUL
is "-0 is for all files" 4 "$(field r elements)"
is "remove takes both" '"removed":3' "$("$ROOST" remove r --json -0 -f nul | cut -d, -f2)"
rm -f r nul list2

# ---- hints on a terminal ------------------------------------------------------------------------------------------------

# on_terminal COMMAND: what a person at a terminal sees of it, standard error above all.
on_terminal() {
    script -qec "$1" /dev/null </dev/null | tr -d '\r'
}
if script -qec true /dev/null >/dev/null 2>&1; then
    is "the name of a file as a key: a hint" \
        "roost: added the key 'list' itself; to add the lines of that file: roost add -f list f" \
        "$(on_terminal "'$ROOST' add f list")"
    is "check has it, too" \
        $'list\nroost: checked the key \'list\' itself; to check the lines of that file: roost check -f list f' \
        "$(on_terminal "'$ROOST' check f list")"
    is "one hint for many" 1 "$(on_terminal "'$ROOST' add f list list f" | grep -c itself)"
    is "none behind --" "" "$(on_terminal "'$ROOST' add f -- list")"
    is "none for a directory" "" "$(mkdir folder; on_terminal "'$ROOST' add f folder")"
    is "none in a pipe" "" "$(on_terminal "'$ROOST' add f list 2>&1 | cat")"
    is "keys from a terminal: a hint" 'roost: reading keys from the terminal, one a line; Ctrl-D ends' \
        "$(echo alpha | script -qec "'$ROOST' check -q f" /dev/null | tr -d '\r' | grep ^roost)"
else
    skip "hints" "there is no script command"
fi
"$ROOST" add f list 2>"$output/err"
is "without a terminal there is no hint" "" "$(cat "$output/err")"
rm -rf list folder

# ---- strange keys -----------------------------------------------------------------------------------------------------

# comes_back NAME FILE: each line of the file, added, is printed again byte by byte; nothing of it was in before.
comes_back() {
    "$ROOST" check -c f <"$2" >"$output/out"
    is "$1: not in before" 1 $?
    holds "$1: added" "$ROOST" add f <"$2"
    "$ROOST" check f <"$2" >"$output/back"
    [ "$?" -eq 0 ] && { cat "$2"; [ -z "$(tail -c 1 "$2")" ] || echo; } | cmp - "$output/back"
    verdict "$1: comes back unchanged"
}
printf '\n' >empty
comes_back "the empty key" empty
gives "an empty operand is the same empty key" 0 '' check f ''
printf 'carriage return\r\n\r\n' >cr
comes_back "CR" cr
gives "a CR is part of the key" 1 '' check f 'carriage return'
printf 'before\0after\n\0\n\0\0\n' >nul
comes_back "NUL" nul
gives "a NUL does not end the key" 1 '' check f before
printf '\xff\xfe\x80 not UTF-8\n\x01\x1b[31m\n' >raw
comes_back "control characters and bytes that are no text" raw
printf '  blanks  \n\ttab\n' >blanks
comes_back "blanks" blanks
printf 'last line without newline' >open
comes_back "no last newline" open
gives "a last line without newline is the same key" 0 'last line without newline' check f 'last line without newline'
{ head -c 10485760 /dev/zero | tr '\0' 'x'; echo; } >long
comes_back "a key of 10 MB" long
{ head -c 10485759 /dev/zero | tr '\0' 'x'; echo; } >shorter
"$ROOST" check -q f <shorter
is "one byte less is another key" 1 $?
{ echo short; head -c 33554433 /dev/zero | tr '\0' 'y'; printf '\nend'; } >mixed
comes_back "32 MB between short keys" mixed
rm -f long shorter mixed

# ---- many keys --------------------------------------------------------------------------------------------------------

# More than one buffer, more than one batch, a frame of several megabytes; through a pipe and from a file.
seq 1000000 1999999 >million
"$ROOST" create large --capacity 3e6
"$ROOST" create piped --capacity 3e6
is "a million keys from a file" '{"keys":1000000' "$("$ROOST" add large --json <million | cut -d, -f1)"
cat million | "$ROOST" add piped
holds "a pipe gives the same file" cmp large piped
"$ROOST" check large <million >"$output/back"
holds "a million keys come back in order" cmp million "$output/back"
is "check -c counts them all" 1000000 "$(cat million | "$ROOST" check -c piped)"
is "hardly any other key is in" yes "$(seq 5000000 5999999 | "$ROOST" check -c large | awk '{ print $1 < 10000 ? "yes" : $1 }')"
is "adding them again changes nothing" '"new":0' "$("$ROOST" add large --json <million | cut -d, -f2)"
rm -f million piped

# ---- reports ----------------------------------------------------------------------------------------------------------

"$ROOST" create g --capacity 1000
gives "add -v tells" 0 '3 keys, 2 new; about 2 elements' add g -v a b a
gives "add --json tells" 0 '{"keys":2,"new":1,"elements":3,"promise_holds":true}' add g --json a c
modified=$(stat -c '%i %Y' g)
"$ROOST" add g a b c
is "adding nothing new leaves the file alone" "$modified" "$(stat -c '%i %Y' g)"

# ---- answers as they come ---------------------------------------------------------------------------------------------

mkfifo slow
exec 8<>slow
echo alpha >&8
timeout 300 "$ROOST" check -q f <slow
is "check -q stops at the first key" 0 $?
"$ROOST" check f <slow >"$output/stream" &
stream=$!
echo alpha >&8
holds "check answers before its input ends" wait_until grep -q alpha "$output/stream"
kill $stream
wait $stream 2>/dev/null
exec 8>&-

"$ROOST" add f redis://user:word@host
is "a key that looks like a URL with a password" redis://user:word@host "$(echo redis://user:word@host | "$ROOST" check f)"
gives "and as an operand" 0 redis://user:word@host check f redis://user:word@host

finish
