#!/usr/bin/env bash
# What is printed: reports that other programs can read, and an error where it does not arrive.
. "$(dirname "$0")/harness.sh"

# ---- JSON -------------------------------------------------------------------------------------------------------------------

"$ROOST" create bloom --capacity 1000 --seed 0xfeed
"$ROOST" create cuckoo --capacity 1000 --kind cuckoo --bucket 2
seq 500 | "$ROOST" add bloom
seq 500 | "$ROOST" add cuckoo
common='r["capacity"] == 1000 and 480 < r["elements"] < 520 and r["fpr_promised"] == 0.01 and 0 < r["fpr_now"] < 0.01
    and r["promise_holds"] is True and r["bytes_memory"] > 500 and 0 < r["load"] < 1 and len(r["digest"]) == 32
    and r["entries"] > 0 and r["overflow"] == 0'
json_says "info --json of a bloom filter" "$common and r['kind'] == 'bloom' and r['layout'] == 'blocked' and
    r['seed'] == '0xfeed' and r['bits'] % 512 == 0 and r['probes'] == 8" info bloom --json
json_says "info --json of a cuckoo filter" "$common and r['kind'] == 'cuckoo' and 'layout' not in r and
    r['seed'] == '0x526f6f7374' and 4 <= r['fingerprint_bits'] <= 32 and r['bucket_size'] == 2 and
    r['buckets'] * 2 >= 1000" info cuckoo --json
json_says "bytes_encoded is the size of the file" "r['bytes_encoded'] == $(stat -c %s bloom)" info bloom --json
json_says "digest --json" "r['digest'] == '$(digest bloom)'" digest --json bloom
json_says "check --json" "r == {'keys': 2, 'selected': 1}" check --json bloom 1 no-such-key
json_says "add --json" "r['keys'] == 3 and r['new'] == 2" add --json bloom 1 new-one new-two
json_says "merge --json" "r['changed'] is True" merge --json copy bloom
odd=$'a "quoted" \\ name\twith\nlines, \xc3\xa9 and \xff\xfe'
cp bloom "$odd"
json_says "a file name that needs escapes" 'r["file"] == "a \"quoted\" \\ name\twith\nlines, \u00e9 and \ufffd\ufffd"' info --json "$odd"
is "digest is 32 hex digits" 32 "$(digest bloom | tr -cd 0-9a-f | wc -c)"
# ---- digests of several files -----------------------------------------------------------------------------------------------

gives "digest of one file has no name" 0 "$(digest bloom)" digest bloom
gives "of several each has its name, as sha256sum prints it" 0 "$(digest bloom)  bloom
$(digest cuckoo)  cuckoo" digest bloom cuckoo
roost digest bloom missing cuckoo
[ "$status" -eq 2 ] && [ "$(cut -d' ' -f3 "$output/out" | paste -sd' ')" = 'bloom cuckoo' ] &&
    [ "$(cat "$output/err")" = 'roost: missing: No such file or directory' ]
verdict "an error in one file does not stop the others"
roost digest --json bloom cuckoo
[ "$(python3 -c 'import json, sys; print(*[json.loads(line)["file"] for line in sys.stdin])' <"$output/out")" = 'bloom cuckoo' ]
verdict "digest --json prints an object a line"
cp bloom $'new\nline\\'
is "a name with a newline stays on its line" "\\$(digest bloom)  new\\nline\\\\" "$("$ROOST" digest bloom $'new\nline\\' | tail -n 1)"
rm $'new\nline\\'

is "numbers follow no locale" '"fpr_promised":0.01' \
    "$(LC_ALL=de_DE.UTF-8 "$ROOST" info bloom --json | grep -o '"fpr_promised":[^}]*' | cut -d, -f1)"

# ---- tables -------------------------------------------------------------------------------------------------------------------

roost info bloom
grep -q '1 % promised' "$output/out" && grep -q 'of 1,000' "$output/out" && grep -q "$(digest bloom)" "$output/out"
verdict "info tells what matters"
# promises FPR: how info writes this rate.
promises() {
    "$ROOST" create rate --force --kind "${2-bloom}" --capacity 1000 --fpr "$1"
    "$ROOST" info rate | sed -n 's/^false positives *\(.*\) promised.*/\1/p'
}
is "rates are percentages" "0.7 % 0.001 %" "$(promises 0.007) $(promises 1e-5)"
is "low ones are 1 in so many" "1 in 1,000,000; 1 in 333,000,000" "$(promises 1e-6); $(promises 3e-9 cuckoo)"
"$ROOST" add rate one # of a filter whose fingerprints have 32 bits
is "no rate or load of info has an exponent" 0 "$("$ROOST" info rate | grep -c '[0-9]e-')"
"$ROOST" create rate --force --capacity 1M --layout classic
gives "a single key is hardly ever taken for another one" 0 "" add rate one
is "the lowest rates are not spelt out" 1 "$("$ROOST" info rate | grep -c '1 % promised, under 1 in 10^15 now')"
is "nor are the lowest loads" 1 "$("$ROOST" info rate | grep -c 'bits set, under 0.0001 %')"
json_says "JSON has the exact figure" "0 < r['fpr_now'] < 1e-15" info rate --json
rm -f rate
seq 10000 | "$ROOST" add copy 2>/dev/null
roost info copy
grep -q 'NO LONGER HOLDS' "$output/out"
verdict "info says when the promise is void"

# ---- more than it was made for ---------------------------------------------------------------------------------------------------

"$ROOST" create full --capacity 100
seq 100 | "$ROOST" add full 2>"$output/err"
is "up to the capacity add is silent" '' "$(cat "$output/err")"
cp full half
seq 10000 >many
"$ROOST" add full <many >"$output/out" 2>"$output/err"
is "past it add succeeds" 0 $?
one_line '^roost: full: was created for 100 elements and holds more: .* % false positives now, 1 % promised; .*--scalable'
verdict "and says so, once"
"$ROOST" add full one >"$output/out" 2>"$output/err"
one_line '^roost: full: was created for 100 elements and holds more: 100 % false positives now'
verdict "also where no key seems to be new any more"
for verb in "merge half full" "sync -q half full"; do
    cp half kept
    "$ROOST" ${verb% half full} half full >"$output/out" 2>"$output/err"
    one_line '^roost: half: was created for 100 elements and holds more'
    verdict "$verb says it, too"
    mv kept half
done
rm -f full half many
roost add copy -v again
grep -q 'the promised rate no longer holds' "$output/out"
verdict "so does add -v"

# ---- output that does not arrive ----------------------------------------------------------------------------------------------

# full NAME ARGUMENT...: with a full device for standard output, exit 2 and one line.
full() {
    local name=$1
    shift
    "$ROOST" "$@" >/dev/full 2>"$output/err"
    status=$?
    : >"$output/out"
    [ $status -eq 2 ] && one_line '^roost: standard output: No space left on device$'
    verdict "a full device: $name"
}
full "info" info bloom
full "info --json" info bloom --json
full "digest" digest bloom
full "check" check bloom 1
full "check -c" check bloom -c 1
full "add -v" add bloom -v 1
full "merge -v" merge copy bloom -v
full "help" help
full "help of a verb" help create
full "version" --version
full "demo" demo --fast --elements 100
seq 500 >numbers
"$ROOST" check bloom <numbers >/dev/full 2>"$output/err"
is "a full device: a long check" 2 $?

"$ROOST" digest bloom >&- 2>"$output/err"
is "a closed standard output is noticed" 2 $?
before=$(sha256sum bloom)
"$ROOST" add bloom 1 >&- 2>&-
is "closed descriptors do not matter where nothing is said" "0 $before" "$? $(sha256sum bloom)"
"$ROOST" add -v bloom with-closed-output >&- 2>/dev/null
gives "a report never ends up in the file" 0 with-closed-output check bloom with-closed-output
"$ROOST" add bloom <&- 2>"$output/err"
is "a closed standard input is noticed" 2 $?
"$ROOST" add bloom <. 2>"$output/err"
is "a directory as standard input is noticed" 2 $?
"$ROOST" check bloom 1 2>&- >"$output/out"
is "a closed standard error is fine" 0 $?

seq 1000000 | "$ROOST" check -v bloom 2>"$output/err" | head -n 1 >/dev/null
[ "${PIPESTATUS[1]}" -ne 0 ] && [ ! -s "$output/err" ]
verdict "a broken pipe ends check without a word"

# ---- progress -----------------------------------------------------------------------------------------------------------------

if script -qec true /dev/null >/dev/null 2>&1; then
    # The keys come slowly; standard error is a terminal, standard input is not.
    keys='for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done'
    script -qec "{ $keys; } | '$ROOST' add bloom -v" /dev/null >"$output/terminal" </dev/null
    grep -q 'keys, .* a second' "$output/terminal" && grep -q '8 keys, 0 new' "$output/terminal"
    verdict "a terminal sees progress"
    grep -q $'\r \{10,\}\r8 keys, 0 new' "$output/terminal"
    verdict "which is erased at the end"
    script -qec "seq 1000 | '$ROOST' add bloom -v" /dev/null >"$output/terminal" </dev/null
    ! grep -q 'a second' "$output/terminal"
    verdict "short work shows none"
else
    skip "progress" "there is no script command"
fi
{ for i in 1 2 3; do echo $i; sleep 0.6; done; } | "$ROOST" add bloom 2>"$output/err"
[ ! -s "$output/err" ]
verdict "where there is no terminal there is no progress"

# ---- one of a thing ---------------------------------------------------------------------------------------------------------

"$ROOST" create one-cuckoo --capacity 1 --kind cuckoo
"$ROOST" create one-bloom --capacity 1 --layout classic --fpr 0.9
"$ROOST" create one-prefix
for file in one-cuckoo one-bloom one-prefix; do "$ROOST" add $file swift; done
"$ROOST" window add one-window --window 10s swift
is "one thing is none of several" "1 bit set, |1 bucket of 4|1 entry, |1 prefix, |1 entry, " \
    "$(for file in one-*; do "$ROOST" info $file; done | grep -oE '\b1 (bucket of 4|(bit set|entry|prefix), )' | paste -sd'|')"
is "nor is an element of the demo" 0 "$("$ROOST" demo --kind bloom --fast --elements 1 --replicas 2 --seed 1 | grep -cE "\b1 elements")"

finish
