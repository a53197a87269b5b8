# The rules of the house that a program can check: who may include whom, nothing that belongs to one machine.
fail=0
expect_none() { # description, then a command that prints offenders
    local what=$1 found; shift
    found=$("$@" || true)
    if [ -z "$found" ]; then echo "ok $what"; else echo "not ok $what"; printf '%s\n' "$found"; fail=1; fi
}
# A room may include itself and the rooms before it.
includes() { grep -nE "#include \"\.\./($2)/" "src/$1"/*.[ch]; }
expect_none "base includes no other room" includes base 'causal|filter|multiset|window|sync'
expect_none "causal includes only base" includes causal 'filter|multiset|window|sync'
expect_none "filter does not include multiset or sync" includes filter 'multiset|sync'
expect_none "multiset does not include window or sync" includes multiset 'window|sync'
expect_none "window does not include multiset or sync" includes window 'multiset|sync'
outside() { grep -nE '#include "(\.\./|base/|causal/|filter/|multiset/|window/|sync/)' "$1"/*.[ch]; }
for room in cli module eval bench examples; do
    expect_none "$room includes only the public headers" outside "$room"
done
expect_none "no file is about nothing" bash -c "git ls-files | grep -E '(^|/)(util|utils|helpers|common|misc)\.[ch]$'"
expect_none "no note to self" bash -c "git grep -nE '\b(TODO|FIXME|XXX|HACK)\b' -- '*.c' '*.h' '*.sh' ':!tests/house.sh'"
expect_none "the man page is well-formed" mandoc -T lint -W warning docs/roost.1
exit $fail
