#!/usr/bin/env bash
# Two files become equal, on one machine or through a remote shell, for few bytes; peers that are not roost are detected.
. "$(dirname "$0")/harness.sh"
. "$tests/peers.bash"

# ---- paths -------------------------------------------------------------------------------------------------------------

for kind in bloom cuckoo orcuckoo; do
    fresh $kind
    roost sync a b
    [ "$status" -eq 0 ] && [ ! -s "$output/err" ] &&
        grep -qE '^sent [0-9,]+ bytes, received [0-9,]+ bytes in [0-9]+ rounds?; the two are equal$' "$output/out"
    verdict "$kind: a report in one line"
    equal
    verdict "$kind: equal"
    both_hold expected
    verdict "$kind: nothing is lost"
    json_says "$kind: --json" 'list(r) == ["sent", "received", "rounds", "equal", "changed"] and r["equal"] is True and
        r["changed"] is False and r["rounds"] >= 1 and 0 < r["sent"] + r["received"] <= 100' sync a b --json
    before=$(snapshot)
    gives "$kind: -q is silent" 0 '' sync a b -q
    is "$kind: where nothing is new, the files are left alone" "$before" "$(snapshot)"
    "$ROOST" add b late
    json_says "$kind: changed is true if FILE has changed" 'r["changed"] is True and r["equal"] is True' sync a b --json
    rm -f c
    gives "$kind: a peer that is missing is made" 0 '' sync -q a c
    is "$kind: and equal" "$(digest a)" "$(digest c)"
    rm -f empty nothing
    "$ROOST" create empty --capacity 1000 --kind $kind
    "$ROOST" sync -q empty nothing
    is "$kind: even where there is nothing to put in it" "$(digest empty)" "$(digest nothing)"
done

# What the manual says of ten new keys in a filter for a million.
for claim in bloom:300 cuckoo:130 orcuckoo:170; do
    rm -f a b
    "$ROOST" create a --capacity 1M --kind ${claim%:*}
    seq 5000 | "$ROOST" add a
    "$ROOST" sync -q a b
    "$ROOST" sync -q a b
    "$ROOST" add a $(seq 10001 10010)
    json_says "${claim%:*}: ten new keys take few bytes" "r['equal'] and r['sent'] + r['received'] < ${claim#*:}" sync a b --json
done

fresh orcuckoo
"$ROOST" sync -q a b
"$ROOST" remove a 1 2 50
"$ROOST" remove b 99
"$ROOST" add b 50
"$ROOST" add b 101
"$ROOST" sync -q a b
equal
verdict "removals travel: equal"
is "removals travel, and an add wins over one that did not see it" $'3\n50\n98\n101' "$("$ROOST" check b 1 2 3 50 98 99 101)"
actors="$(field a actor) $(field b actor)"
"$ROOST" add a 102
"$ROOST" add b 103
is "a sync leaves both the replicas that they are" "$actors" "$(field a actor) $(field b actor)"
is "and remembers the peer" 1 "$(field a peers)"
ln -s a link
for name in a ./a link "$PWD/a"; do
    gives "a file with itself, as $name" 0 "a and $name are the same file: nothing to do" sync a "$name"
done
gives "a file with itself, --json" 0 '{"sent":0,"received":0,"rounds":0,"equal":true,"changed":false}' sync a a --json
cd shells && "$ROOST" sync -q ../a ../b && cd ..
is "the same peer by another way is the same peer" 1 "$(field a peers)"
rm -f link

for ((i = 0; i < 70; i++)); do
    "$ROOST" sync -q a "peer $i"
done
is "of 70 peers it remembers 64" 64 "$(field a peers)"
"$ROOST" add a 'to the last'
last=$("$ROOST" sync a 'peer 69' --json)
is "the last one among them: what is sent is what changed" yes "$([[ $last =~ \"sent\":([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -lt 200 ] && echo yes)"
rm -f peer*

# ---- bytes -----------------------------------------------------------------------------------------------------------------

# on_the_wire FILE PEER: bytes in both directions.
on_the_wire() {
    "$ROOST" sync "$1" "$2" --json "${there[@]}" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["sent"] + r["received"])'
}
"$ROOST" create large --kind orcuckoo --capacity 50000
seq 40000 | "$ROOST" add large
for peer in other "here:$PWD/other"; do
    on_the_wire large "$peer" >/dev/null
    bytes=$(on_the_wire large "$peer")
    echo "# already equal, $peer: $bytes bytes"
    [ "$bytes" -le 100 ]
    verdict "already equal: at most 100 bytes"
    "$ROOST" add large "$peer "{1..3}
    "$ROOST" remove large 1 2
    "$ROOST" add other "$peer "{4..5}
    "$ROOST" remove other 11 12 13
    bytes=$(on_the_wire large "$peer")
    echo "# ten changes, $peer: $bytes bytes"
    [ "$bytes" -le 200 ]
    verdict "ten changes on two sides: at most 200 bytes"
    is "and they arrive" "$(digest large)" "$(digest other)"
    seq 1 20 | "$ROOST" add large
    "$ROOST" sync -q large other
done
cp large copy # without the cursor of any peer
"$ROOST" add copy x
bytes=$(on_the_wire copy other)
echo "# one change, without a cursor: $bytes bytes"
[ "$bytes" -le 4000 ]
verdict "without a cursor: still far from the whole"
rm -f large other copy

# ---- through a remote shell --------------------------------------------------------------------------------------------------

fresh orcuckoo
gives "HOST:PATH" 0 '' sync -q a "host:$PWD/b" "${there[@]}"
equal && both_hold expected
verdict "HOST:PATH: equal, and nothing is lost"
"$ROOST" add a 'more 1'
"$ROOST" add b 'more 2'
HOSTS=$output/hosts gives "user@HOST:PATH, --rsh with arguments" 0 '' \
    sync -q a "someone@host.example:$PWD/b" --rsh "env X=1 $PWD/shells/near" "${there[@]}"
is "the host is what the shell gets" someone@host.example "$(cat "$output/hosts")"
HOSTS=$output/address "$ROOST" sync -q a "someone@[::1]:$PWD/b" "${there[@]}"
is "an address in brackets" someone@::1 "$(cat "$output/address")"
equal
verdict "equal again"
odd="it's \"odd\" \$HOME \`id\` !x \\ *"
for path in "$odd" -dash; do
    "$ROOST" merge ./"$path" a
    "$ROOST" add a "for $path"
    gives "the path $path" 0 '' sync -q a "host:$path" "${there[@]}"
    is "the path $path: equal" "$(digest a)" "$(digest ./"$path")"
    rm -f ./"$path"
done
mkdir home && mv b home/b
HOME=$PWD/home gives "a path in the home directory" 0 '' sync -q a host:~/b "${there[@]}"
HOME=$PWD/home gives "as the shell there sees it" 0 '' sync -q a 'host:~/b' "${there[@]}"
mv home/b b
PATH=$PWD/bin:$PATH gives "the program is called roost" 0 '' sync -q a "host:$PWD/b"
json_says "--json through a shell" 'r["equal"] is True and 0 < r["sent"] + r["received"] <= 100' \
    sync a "host:$PWD/b" --json "${there[@]}"
"$ROOST" create 'colon:file' --capacity 10 && "$ROOST" create d --capacity 10
gives "a path with a colon needs ./" 0 '' sync -q d ./colon:file
rm -f d colon:file

# ---- peers that are not roost -----------------------------------------------------------------------------------------------------------------

# foreign NAME PATTERN SHELL: exit 2, one line of ours among those of the shell itself, and nothing is changed.
foreign() {
    local before
    before=$(snapshot)
    PATH=$PWD/bin:$PATH timeout 300 "$ROOST" sync a host:b --rsh "$3" >"$output/out" 2>"$output/err"
    status=$?
    grep '^roost: ' "$output/err" >"$output/ours"
    mv "$output/ours" "$output/err"
    [ $status -eq 2 ] && one_line "^roost: $2" && [ "$before" = "$(snapshot)" ]
    verdict "$1"
}
cat >shells/hello <<'END'
#!/bin/sh
echo "Welcome to this machine"
shift
exec sh -c "$*"
END
cat >shells/silent <<'END'
#!/bin/sh
exec sleep 600
END
cat >shells/mute <<'END'
#!/bin/sh
cat >/dev/null
END
cat >shells/echo <<'END'
#!/bin/sh
exec cat
END
cat >shells/127 <<'END'
#!/bin/sh
echo "sh: roost: not found" >&2
exit 127
END
cat >shells/boast <<'END'
#!/bin/sh
printf '\325\377\377\377\377\377\377\377\377\177'
exec cat
END
cat >shells/noise <<'END'
#!/bin/sh
printf '\325\020'
exec head -c 5000 /dev/urandom
END
cat >shells/empty <<'END'
#!/bin/sh
while printf '\325\000'; do :; done
END
cat >shells/killed <<'END'
#!/bin/sh
kill -9 $$
END
chmod +x shells/*
no_roost="host:b: the peer does not speak roost's sync protocol \\(is roost installed there\\?\\)"
foreign "cat" 'host:b: no answer: cat ended with exit status 1$' cat
foreign "true" "$no_roost\$" true
foreign "yes" "$no_roost; it says: " yes
foreign "echo hello" "$no_roost; it says: hello host " "echo hello"
foreign "a shell that says hello first" "$no_roost; it says: Welcome to this machine\$" "$PWD/shells/hello"
foreign "a command that is not found there" 'host:b: no answer: roost was not found there; --roost gives its path' "$PWD/shells/127"
foreign "a shell that is not found here" 'nonesuch: No such file or directory' nonesuch
foreign "a shell that may not be run" "$PWD/expected: Permission denied" "$PWD/expected"
foreign "false" 'host:b: no answer: false ended with exit status 1' false
foreign "a peer that listens, says nothing and leaves" 'host:b: no answer: timeout 0.5 .* ended with exit status 124$' "timeout 0.5 $PWD/shells/mute"
foreign "our own words" 'host:b: ' "$PWD/shells/echo"
foreign "messages without end, and nothing in them" "$no_roost\$" "$PWD/shells/empty"
foreign "a message beyond any memory" "$no_roost\$" "$PWD/shells/boast"
foreign "noise in the form of a message" 'host:b: ' "$PWD/shells/noise"
foreign "a peer that is killed" 'host:b: no answer: .* was stopped by signal 9' "$PWD/shells/killed"
before=$(snapshot)
roost sync a host:missing "${there[@]}"
is "a peer that is missing there: both ends say so" \
    "2 $before roost: missing: No such file or directory; copy the filter of the other side there, or create one with the same options roost: host:missing: no answer: $ROOST_RSH ended with exit status 2" \
    "$status $(snapshot) $(tr '\n' ' ' <"$output/err" | sed 's/ $//')"
refuses "no host" '^roost: :b: the host before the colon must not be empty' sync a :b
refuses "a host that is an option" '^roost: -oProxyCommand=x:b: the host before the colon must not be empty' sync a -- -oProxyCommand=x:b

# What ssh gets: a host is never an option, in whatever form it is written. This ssh writes its arguments down.
cat >bin/ssh <<'END'
#!/bin/sh
printf '<%s>' "$@" >>"$SSH_WORDS"
echo >>"$SSH_WORDS"
[ "$1" != -- ] || shift
shift
exec sh -c "$*"
END
chmod +x bin/ssh
cp a lines
: >"$output/words"
for verb in sync reconcile; do
    [ $verb = sync ] || seq 3 >lines # reconcile wants a file of lines
    for peer in '[-oProxyCommand=touch owned]:x' '[-oProxyCommand=touch${IFS}owned]:x' '-oProxyCommand=x:b' '[-l]:x' 'me@[-oX]:x' 'me@-oX:x' \
        '-oX@host:x' '[-oX@host]:x' 'me@you@-oX:x' '[[-oX]]:x' '][-oX:x' ']-oX:x' '[]:x' '@host:x' 'me@:x' 'me@[]:x' '[]-oX:x' \
        'me@[]-oX:x' 'ho[st:x' '[host:x' '[host]x:x' 'me@[::1]x:x' $'-\noX:x' 'a b:x' '$(id):x' '`id`:x' 'a;b:x' $'a\nb:x' 'a\b:x' '`id`@host:x' 'a"b@host:x'; do
        SSH_WORDS=$output/words PATH=$PWD/bin:$PATH refuses "$verb: no host for ssh: $peer" '^roost: .*: (the host before the colon must not|has characters that are not allowed)' \
            $verb --rsh ssh -- lines "$peer"
        SSH_WORDS=$output/words PATH=$PWD/bin:$PATH ROOST_RSH='' refuses "$verb: nor where ssh is not named: $peer" '^roost: .*: (the host before the colon must not|has characters that are not allowed)' \
            $verb -- lines "$peer"
    done
    refuses "$verb: a program that is an option" '^roost: --roost: must name a program' $verb lines host:b --roost=-oProxyCommand=x
done
rm -f lines
is "ssh was never started" '' "$(cat "$output/words")"
for rsh in ssh "ssh -p 22" "$PWD/bin/ssh -o Batch=yes"; do
    SSH_WORDS=$output/words PATH=$PWD/bin:$PATH "$ROOST" sync a "someone@[::1]:$PWD/b" -q --rsh "$rsh" --roost "$ROOST" 2>"$output/err"
done
is "ssh gets -- before the host" \
    "$(printf '%s<--><someone@::1><%s><serve><--><'"'%s/b'"'>\n' '' "$ROOST" "$PWD" '<-p><22>' "$ROOST" "$PWD" '<-o><Batch=yes>' "$ROOST" "$PWD")" "$(cat "$output/words")"
refuses "no path" '^roost: host:: the path behind the colon is missing' sync a host:
refuses "an empty shell" '^roost: --rsh: must name a program' sync a host:b --rsh ' '
refuses "no shell at all" '^roost: --rsh: must not be empty' sync a host:b --rsh ''
refuses "a server that is not there, and its password is not shown" \
    '^roost: redis://(127.0.0.1:1/key: Connection refused|: this roost was built without hiredis.*)$' sync a redis://me:secret@127.0.0.1:1/key
refuses "what else looks like an address" '^roost: ssh://host/b: a peer is a path, HOST:PATH or redis://HOST/KEY' sync a ssh://host/b
env --default-signal=INT "$ROOST" sync a host:b --rsh "$PWD/shells/silent" >"$output/out" 2>"$output/err" &
initiator=$!
wait_until pgrep -P $initiator sleep >"$output/child"
kill -INT $initiator
wait $initiator
is "a silent peer can be interrupted" "2 roost: interrupted" "$? $(cat "$output/err")"
! kill -0 "$(cat "$output/child")" 2>/dev/null
verdict "and its process is gone"

# ---- what does not go together ---------------------------------------------------------------------------------------------------

"$ROOST" create else --kind orcuckoo --capacity 2000 --fpr 1e-6
refuses "another configuration" '^roost: else: does not merge into a: its capacity is 2000, not 1000' sync a else
refuses "another configuration, through a shell" "^roost: host:$PWD/else: was created with other options than a" \
    sync a "host:$PWD/else" "${there[@]}"
echo text >text
refuses "a peer that is no filter" '^roost: text: not a Roost filter' sync a text
refuses "a file that is missing" '^roost: missing: No such file' sync missing b
refuses "a peer in a directory that is missing" '^roost: nowhere/b: No such file' sync a nowhere/b
refuses "a peer that is a directory" '^roost: shells: Is a directory' sync a shells

# ---- serve -----------------------------------------------------------------------------------------------------------------------

gives "serve ends with its input" 0 '' serve a </dev/null
refuses "serve without a filter" '^roost: missing: No such file' serve missing
printf 'hello\n' | "$ROOST" serve a >"$output/out" 2>"$output/err"
is "serve and a person" 2 $?
one_line '^roost: a: received bytes that are not a message of roost sync$'
verdict "serve and a person: one line"
printf '\325\020abc' | "$ROOST" serve a >"$output/out" 2>"$output/err"
is "serve and half a message" 2 $?
one_line '^roost: a: the connection ended within a message$'
verdict "serve and half a message: one line"
printf '\325\003abc' | "$ROOST" serve a >"$output/out" 2>"$output/err"
is "serve and a message that makes no sense" 2 $?
[ -s "$output/out" ]
verdict "which gets an answer"
# Over TCP a second write of a message would wait 40 ms, until the first is acknowledged. Here each write is a packet.
holds "which is sent in one write" python3 -c '
import socket, subprocess, sys
here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
with here, there:
    subprocess.run([sys.argv[1], "serve", "a"], input=b"\xd5\x03abc", stdout=there, stderr=subprocess.DEVNULL)
    there.shutdown(socket.SHUT_WR)
    packet = here.recv(1000)
    assert packet[0] == 0xd5 and len(packet) == 2 + packet[1] > 2 and here.recv(1000) == b"", packet' "$ROOST"
mkfifo request
exec 8<>request
"$ROOST" serve b <request >/dev/null 8>&- &
server=$!
holds "a silent peer does not block the file" timeout 300 "$ROOST" add b meanwhile
exec 8>&-
wait $server
rm -f request

finish
