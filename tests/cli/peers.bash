# What the tests of sync share: two files, and shells that lead from one to the other. Sourced behind harness.sh.

# What stands in for ssh: runs the command on this machine, as sshd would, with a shell that reads the words again.
mkdir shells
cat >shells/near <<'END'
#!/bin/sh
printf '%s\n' "$1" >>"${HOSTS:-/dev/null}"
shift
exec sh -c "$*"
END

# The same through a connection that is cut after so many bytes in either direction. Nobody but dd may keep its ends open.
cat >shells/cut <<'END'
#!/bin/sh
shift
exec 3<&0
dd bs=1 count="$UP" status=none <&3 3<&- | sh -c "$*" 3<&- 2>/dev/null | dd bs=1 count="$DOWN" status=none 3<&- &
exec 3<&- </dev/null >/dev/null
wait
END

# The same after something else has happened meanwhile.
cat >shells/late <<'END'
#!/bin/sh
shift
sh -c "$MEANWHILE" </dev/null >/dev/null
exec sh -c "$*"
END
chmod +x shells/*
mkdir bin && ln -s "$ROOST" bin/roost
export ROOST_RSH=$PWD/shells/near
there=(--roost "$ROOST")

# fresh KIND [OPTION...]: a holds 1 to 60, b 41 to 100; the file `expected` has what both must hold in the end.
fresh() {
    rm -f a b
    "$ROOST" create a --capacity 1000 --fpr 1e-6 --kind "$@"
    "$ROOST" create b --capacity 1000 --fpr 1e-6 --kind "$@"
    seq 1 60 | "$ROOST" add a
    seq 41 100 | "$ROOST" add b
    seq 1 100 >expected
}

# both_hold FILE: each key in the file, in a and in b.
both_hold() {
    local count
    count=$(wc -l <"$1")
    [ "$("$ROOST" check -c a <"$1")" -eq "$count" ] && [ "$("$ROOST" check -c b <"$1")" -eq "$count" ]
}

equal() {
    [ "$(digest a)" = "$(digest b)" ]
}
