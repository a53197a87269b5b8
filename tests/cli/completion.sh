#!/usr/bin/env bash
# Completion for bash: what it offers is what the program knows.
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/cli/harness.sh"
. "$top/packaging/completions/roost.bash"
unset -f roost # that of the harness
PATH=$(dirname "$ROOST"):$PATH

# offers WORD...: the choices for the last word.
offers() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _roost
    echo "${COMPREPLY[*]}"
}

is "verbs" "reconcile remove" "$(offers roost re | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
is "verbs behind help" "digest" "$(offers roost help dig)"
is "options of a verb" "--capacity" "$(offers roost create f --cap)"
is "short options" "-h -f" "$(offers roost create f - | tr ' ' '\n' | grep -xE -- '-.' | sort -r | tr '\n' ' ' | sed 's/ $//')"
is "short options that take a value" "-0 -f" \
    "$(offers roost add f - | tr ' ' '\n' | grep -xE -- '-[0f]' | sort | tr '\n' ' ' | sed 's/ $//')"
is "what a window does" "dedup" "$(offers roost window d)"
is "files elsewhere" "" "$(offers roost add s)"
for verb in $("$ROOST" help | awk '/^  [a-z]/ && $1 != "roost" { print $1 }'); do
    [ "$verb" = help ] || [ "$(offers roost "$verb" --he)" = --help ]
    verdict "$verb has options"
done
finish
