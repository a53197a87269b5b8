#!/usr/bin/env bash
# Verbs, options and their values: what is taken, and what is refused in one line.
. "$(dirname "$0")/harness.sh"

# ---- help -------------------------------------------------------------------------------------------------------------

for words in help --help -h; do
    roost $words
    [ "$status" -eq 0 ] && [ ! -s "$output/err" ] && grep -q '^usage: roost VERB' "$output/out"
    verdict "roost $words explains the program"
done
verbs=$("$ROOST" help | awk '/^  [a-z]/ && $1 != "roost" { print $1 }' | grep -vx help)
is "there are 14 verbs" 14 "$(wc -w <<<"$verbs")"
for verb in '' $verbs; do
    is "roost help $verb fits into 80 columns" "" "$("$ROOST" help $verb | awk 'length > 80 || / $/')"
done
for verb in $verbs; do
    roost help $verb
    cp "$output/out" "$output/help"
    [ "$status" -eq 0 ] && grep -q "^usage: roost $verb" "$output/help"
    verdict "roost help $verb explains it"
    roost $verb --help
    [ "$status" -eq 0 ] && cmp -s "$output/out" "$output/help"
    verdict "roost $verb --help says the same"
    roost help
    grep -q "^  $verb " "$output/out"
    verdict "roost help lists $verb"
done
roost --version
[ "$status" -eq 0 ] && grep -qE '^roost [0-9]+\.[0-9]+\.[0-9]+$' "$output/out"
verdict "roost --version is one line"
roost help create
grep -q 'effect without --scalable' "$output/out"
verdict "the help says where --writers has no effect"
# default_growth KIND: of a filter that is made without the option.
default_growth() {
    "$ROOST" create grown --scalable --kind "$1" && field grown growth
    rm -f grown
}
wanted="(default $(default_growth bloom))"
is "cuckoo filters grow like Bloom filters" "$(default_growth cuckoo) $(default_growth orcuckoo)" "$(default_growth bloom) $(default_growth bloom)"
is "the help knows the default of --growth" 1 "$("$ROOST" help create | tr -s ' \n' ' ' | grep -cF "$wanted")"
kind_of() { "$ROOST" create made "$@" && field made kind; rm -f made; }
is "the help knows the kind of a fixed size" "bloom: fastest, never full (default for a fixed size)" \
    "$("$ROOST" help create | grep -oF "$(kind_of --capacity 10): fastest, never full (default for a fixed size)")"
is "and that of filters that grow" "cuckoo cuckoo" "$(kind_of) $(kind_of --capacity 10 --scalable)"
is "the synopsis has the methods" 1 "$("$ROOST" help reconcile | grep -cF '[--method auto|riblt|dbf|ccf-query|ccf-decode]')"

# ---- verbs ------------------------------------------------------------------------------------------------------------

refuses "no verb" 'the verb is missing.*create, add, remove, check, merge, sync, info, digest, serve, reconcile, window, counter, link, demo and help'
refuses "an unknown verb" '^roost: frobnicate: unknown verb; there are create, add, remove, check' frobnicate
refuses "help for an unknown verb" 'unknown verb' help frobnicate
refuses "an option in place of a verb" '^roost: --frobnicate: unknown option; the verb comes first: roost VERB' --frobnicate

# ---- did you mean -----------------------------------------------------------------------------------------------------

refuses "a letter too few" '^roost: chek: unknown verb; did you mean check\?$' chek
refuses "a letter too many" '^roost: addd: unknown verb; did you mean add\?$' addd
refuses "two letters swapped" '^roost: mrege: unknown verb; did you mean merge\?$' mrege
refuses "the beginning of a verb" '^roost: rec: unknown verb; did you mean reconcile\?$' rec
refuses "help for a verb that is misspelt" '^roost: creat: unknown verb; did you mean create\?$' help creat
refuses "a misspelt option of the program" '^roost: --versoin: unknown option; did you mean --version\?$' --versoin
refuses "a misspelt option" '^roost: --capcity: unknown option; did you mean --capacity\?$' create f --capcity 10
refuses "a misspelt option with a value" '^roost: --capcity: unknown option; did you mean --capacity\?$' create f --capcity=10
refuses "a long option with one dash" '^roost: -capacity: unknown option; did you mean --capacity\?$' create f -capacity 10
refuses "an option of another verb" '^roost: --capacity: unknown option; see roost help check$' check f --capacity 10
refuses "a misspelt action of a window" '^roost: dedupe: unknown action; did you mean dedup\?$' window dedupe
refuses "another action of a window" '^roost: frobnicate: unknown action; there are add, check and dedup$' window frobnicate
refuses "a misspelt action of a counter" '^roost: inc: unknown action; did you mean incr\?$' counter inc f

# ---- operands ---------------------------------------------------------------------------------------------------------

refuses "link without a region" '^roost: link: URL is missing' link
refuses "link with a single region" '^roost: link: URL is missing' link redis://amsterdam
refuses "link with a pattern that is none" '^roost: --match: \[a is not a valid pattern$' link redis://amsterdam redis://tokyo --match '[a'
refuses "link with no interval" '^roost: --interval: must be from 1ms to 1h$' link redis://amsterdam redis://tokyo --interval 1us
refuses "certificates where nothing is encrypted" '^roost: --cacert: only for servers with rediss://' link redis://amsterdam redis://tokyo --cacert ca
refuses "a key without its certificate" '^roost: --key: needs --cert' link redis://amsterdam rediss://tokyo --key k
refuses "sync with a path and certificates" '^roost: --cert: only for servers with rediss://' sync f g --cert c
refuses "sync with certificates where nothing is encrypted" '^roost: --insecure: only for servers with rediss://' sync f redis://host/key --insecure
refuses "sync with a path and passwords" '^roost: --password-file: only for a PEER of redis://' sync f g --password-file p
for verb in create add remove check info; do
    refuses "$verb of a file with shards" '^roost: --shards: only for a filter in servers' $verb f --shards 3
    refuses "$verb with passwords for a file" '^roost: --password-file: only for a filter in servers' $verb f --password-file p
    refuses "$verb with certificates where nothing is encrypted" '^roost: --cacert: only for servers with rediss://' $verb redis://host/key --cacert c
done
refuses "no shards at all" '^roost: --shards 0: ' check redis://host/key --shards 0
refuses "too many shards" '^roost: --shards 16385: ' check redis://host/key --shards 16385
refuses "a server as a new replica" '^roost: --new-replica: only for a FILE' info redis://host/key --new-replica
for verb in create add remove check sync info digest serve; do
    refuses "$verb without a file" "^roost: $verb: FILE is missing" $verb
done
for words in digest 'window check' 'counter show' 'merge f'; do
    refuses "$words of a URL" '^roost: redis://me:\*\*\*@host/key: is a URL where a file is needed; roost sync FILE URL ' \
        $words redis://me:secret@host/key
done
refuses "add without a filter" '^roost: missing: No such file or directory; roost create makes a filter$' add missing x
refuses "remove without a filter" '^roost: missing: No such file or directory; roost create makes a filter$' remove missing x
refuses "window without an action" '^roost: window: add, check or dedup is missing; usage' window
refuses "a counter with too many operands" '^roost: x: one argument too many; usage: roost counter' counter show f x
if "$ROOST" link redis://a redis://a 2>&1 | grep -q 'built without'; then
    skip "regions that are none" "this roost was built without servers"
else
    refuses "a region that is no URL" '^roost: localhost:1: a region is redis://' link localhost:1 redis://tokyo
    refuses "a server without a key" '^roost: redis://: a filter in servers is redis://' check redis://tokyo a
    for option in --cacert --cert; do
        refuses "$option without its file" '^roost: none\.pem: (No such file or directory|.*without OpenSSL)' link rediss://amsterdam rediss://tokyo $option none.pem
    done
    refuses "a region with a key" '^roost: redis://tokyo/key: a region is redis://' link redis://tokyo/key redis://amsterdam
fi
refuses "merge without a destination" '^roost: merge: DEST is missing' merge
refuses "merge without a source" '^roost: merge: SRC is missing' merge f
refuses "sync without a peer" '^roost: sync: PEER is missing' sync f
refuses "info with two files" 'one argument too many' info f g
refuses "demo with an operand" 'one argument too many' demo f

# ---- options ----------------------------------------------------------------------------------------------------------

refuses "an unknown long option" '^roost: --frob: unknown option' create f --frob --capacity 10
refuses "an unknown long option with a value" '^roost: --frob: unknown option' create f --frob=3 --capacity 10
refuses "an unknown letter" '^roost: -x: unknown option' check f -x
refuses "an unknown letter among known ones" '^roost: -x: unknown option' check f -vx
refuses "a beginning of an option" '^roost: --cap: unknown option; did you mean --capacity\?$' create f --cap 10
refuses "an option without its value" '^roost: --capacity: needs a value' create f --capacity
refuses "a switch with a value" '^roost: --force: takes no value' create f --capacity 10 --force=yes
refuses "a demo of another kind" '^roost: --kind tree: must be bloom, cuckoo or orcuckoo' demo --kind tree
refuses "another kind" '^roost: --kind tree: must be bloom, cuckoo or orcuckoo' create f --capacity 10 --kind tree
refuses "another layout" '^roost: --layout tall: must be blocked or classic' create f --capacity 10 --layout tall
refuses "--layout with cuckoo" '^roost: --layout: only for --kind bloom' create f --capacity 10 --kind cuckoo --layout classic
refuses "--layout with orcuckoo" '^roost: --layout: only for --kind bloom' create f --capacity 10 --kind orcuckoo --layout classic
refuses "--bits with bloom" '^roost: --bits: only for --kind cuckoo and orcuckoo' create f --capacity 10 --bits 8
refuses "--bucket with bloom" '^roost: --bucket: only for --kind cuckoo and orcuckoo' create f --capacity 10 --kind bloom --bucket 4
for value in 0 3 16 x ''; do
    refuses "--bucket '$value'" '^roost: --bucket' create f --capacity 10 --kind cuckoo --bucket "$value"
done
for value in 3 33 0 8.5 -8; do
    refuses "--bits $value" 'must be a whole number from 4 to 32' create f --capacity 10 --kind cuckoo --bits=$value
done
for kind in bloom cuckoo; do
    refuses "--multiset with $kind" '^roost: --multiset: only for --kind orcuckoo' create f --capacity 10 --kind $kind --multiset
    refuses "--entry with $kind" '^roost: --entry: only for --kind orcuckoo' create f --capacity 10 --kind $kind --entry 64
done
for kind in bloom cuckoo; do
    refuses "--semantics with $kind" '^roost: --semantics: only for --kind orcuckoo' create f --kind $kind --semantics remove-wins
done
refuses "--semantics of a filter of fixed size" '^roost: --semantics: a filter of fixed size is add-wins; for remove-wins add --scalable' \
    create f --kind orcuckoo --capacity 10 --semantics remove-wins
refuses "--semantics of a multiset" '^roost: --semantics: a multiset is add-wins; leave --multiset out for last-writer-wins' \
    create f --kind orcuckoo --multiset --semantics last-writer-wins
refuses "--semantics that there are not" '^roost: --semantics mine: must be add-wins, remove-wins or last-writer-wins' \
    create f --kind orcuckoo --semantics mine
refuses "--entry 32 in a set" '^roost: --entry 32: only with --multiset' create f --capacity 10 --kind orcuckoo --entry 32
refuses "--entry 16" '^roost: --entry 16: must be 32 or 64' create f --capacity 10 --kind orcuckoo --entry 16
refuses "--entry 32 with other bits than it has" '^roost: --bits: entries of 32 bits have fingerprints of 8 bits' \
    create f --capacity 10 --kind orcuckoo --multiset --entry 32 --bits 12
for value in 15 29 4; do
    refuses "--bits $value in an orcuckoo set" '^roost: --bits: must be from 16 to 28' \
        create f --capacity 10 --kind orcuckoo --bits $value
done
for value in 7 29; do
    refuses "--bits $value in an orcuckoo multiset" '^roost: --bits: must be from 8 to 28' \
        create f --capacity 10 --kind orcuckoo --multiset --bits $value
done
refuses "16 bits for a rate that they cannot keep" '^roost: .*16 bits cannot keep a rate of 1e-06' \
    create f --capacity 10 --kind orcuckoo --bits 16 --fpr 1e-6
refuses "entries of 32 bits for a rate that they cannot keep" '^roost: .*8 bits cannot keep a rate of 0.001' \
    create f --capacity 10 --kind orcuckoo --multiset --entry 32 --fpr 0.1%
for value in 0 1025 65536 -1 many; do
    refuses "--writers $value" 'must be a whole number from 1 to 1024' create f --capacity 10 --writers=$value
done

# ---- numbers ----------------------------------------------------------------------------------------------------------

for value in 0 0k -1 +1 1.5 1e-1 1e30 18446744073709551616 1x 1kk 0x10 ' 1' '' . e6 1e; do
    refuses "--capacity '$value'" '^roost: --capacity' create f --capacity="$value"
done
for value in 1e12 1e15 1e19 1000G 18446744073709551615; do
    for kind in bloom cuckoo orcuckoo; do
        refuses "--capacity $value of a $kind is beyond any memory" '^roost: f: too large for the memory of this machine' \
            create f --capacity $value --kind $kind
    done
done
for value in 0 1 1.0 100% 0% 2 -0.1 +0.1 nan inf 0x1p-4 1/100 '' % 1%% ' 0.1' 0,01; do
    refuses "--fpr '$value'" '^roost: --fpr' create f --capacity 10 --fpr="$value"
done
refuses "a rate that no filter reaches" '^roost: .*1e-300' create f --capacity 10 --fpr 1e-300
# accepts_what_it_names ARGUMENT...: the message about the rate names another choice, and that is accepted.
accepts_what_it_names() {
    local advice
    advice=$("$ROOST" create f --capacity 10 "$@" 2>&1 | sed -nE 's/.*(--layout classic|--fpr [0-9e-]+).*/\1/p')
    rm -f f
    # shellcheck disable=SC2086 # two words
    [ -n "$advice" ] && "$ROOST" create f --capacity 10 "$@" $advice
    verdict "create $* is told of $advice, which does"
    rm -f f
}
accepts_what_it_names --fpr 1e-20
accepts_what_it_names --fpr 1e-10
accepts_what_it_names --fpr 1e-300 --layout classic
accepts_what_it_names --fpr 1e-300 --kind cuckoo
accepts_what_it_names --fpr 1e-300 --kind orcuckoo
refuses "a rate that no fingerprint reaches" '^roost: .*1e-300' create f --capacity 10 --fpr 1e-300 --kind cuckoo
refuses "a rate that no entry reaches" '^roost: .*1e-300' create f --capacity 10 --fpr 1e-300 --kind orcuckoo
refuses "fingerprints that are too short for the rate" '4 bits cannot keep a rate of 0.001' \
    create f --capacity 10 --kind cuckoo --bits 4 --fpr 0.1%
for value in -1 0x 0xg 1e3 18446744073709551616 0x10000000000000000 ''; do
    refuses "--seed '$value'" '^roost: --seed' create f --capacity 10 --seed="$value"
done

# made_with FIELD VALUE ARGUMENT...: create takes these, and info --json says so.
made_with() {
    local field=$1 value=$2
    shift 2
    rm -f made
    "$ROOST" create made "$@" >"$output/out" 2>"$output/err" &&
        [ "$(field made "$field")" = "$value" ]
    verdict "create $* makes $field $value"
    rm -f made
}
made_with capacity 1000 --capacity 1000
made_with capacity 1000 --capacity=1k
made_with capacity 1000 --capacity 1e3
made_with capacity 1000 --capacity 0.001M
made_with capacity 2500 --capacity 2.5k
made_with capacity 1000000 --capacity 1e6
made_with fpr_promised 0.01 --capacity 10
made_with fpr_promised 0.001 --capacity 10 --fpr 0.1%
made_with fpr_promised 0.001 --capacity 10 --fpr 1e-3
made_with fpr_promised 0.007 --capacity 10 --fpr=0.7%
made_with kind bloom --capacity 10
made_with kind cuckoo --capacity 10 --kind cuckoo
made_with kind orcuckoo --capacity 10 --kind orcuckoo
made_with semantics add-wins --capacity 10 --kind orcuckoo --semantics add-wins
made_with semantics remove-wins --kind orcuckoo --semantics remove-wins
made_with semantics last-writer-wins --capacity 10 --scalable --kind orcuckoo --semantics last-writer-wins
made_with multiset false --capacity 10 --kind orcuckoo
made_with multiset true --capacity 10 --kind orcuckoo --multiset
made_with entry_bits 64 --capacity 10 --kind orcuckoo
made_with entry_bits 64 --capacity 10 --kind orcuckoo --entry 64
made_with entry_bits 32 --capacity 10 --kind orcuckoo --multiset --entry 32
made_with fingerprint_bits 8 --capacity 10 --kind orcuckoo --multiset --entry 32
made_with fingerprint_bits 8 --capacity 10 --kind orcuckoo --multiset --bits 8
made_with fingerprint_bits 24 --capacity 10 --kind orcuckoo
made_with fingerprint_bits 20 --capacity 10 --kind orcuckoo --bits 20
made_with bucket_size 2 --capacity 10 --kind orcuckoo --bucket 2
made_with actor null --capacity 10 --kind orcuckoo
made_with layout blocked --capacity 10
made_with layout classic --capacity 10 --layout=classic
made_with bucket_size 8 --capacity 10 --kind cuckoo --bucket 8
made_with fingerprint_bits 13 --capacity 10 --kind cuckoo --bits 13
made_with seed 0x526f6f7374 --capacity 10
made_with seed 0xff --capacity 10 --seed 255
made_with seed 0xabcdef --capacity 10 --seed 0xABCdef
made_with seed 0xffffffffffffffff --capacity 10 --seed 18446744073709551615
made_with capacity 10 --capacity 10 --writers 1024
made_with capacity 7 --capacity 10 --capacity 7

# With --bits alone the rate is what the bits give, not the default.
"$ROOST" create bits --capacity 1000 --kind cuckoo --bits 16
holds "--bits alone promises what they give" python3 -c '
import json, subprocess, sys
promised = json.loads(subprocess.check_output([sys.argv[1], "info", "bits", "--json"]))["fpr_promised"]
sys.exit(not 0 < promised < 0.001)' "$ROOST"

finish
