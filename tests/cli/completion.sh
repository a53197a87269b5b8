#!/usr/bin/env bash
# Completion for bash, zsh and fish: what it offers is what the program knows.
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/cli/harness.sh"
completions=$top/packaging/completions
. "$completions/roost.bash"
unset -f roost # that of the harness
export PATH=$(dirname "$ROOST"):$PATH
touch a-file

# bash, zsh, fish WORD...: the choices for the last word, one a line. Where files are wanted these have the name of the only one.
compopt() { files=no; }
bash() {
    local files=yes
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _roost
    printf '%s\n' "${COMPREPLY[@]}"
    [ $files = no ] || compgen -f -- "${!#}"
}
# The script of zsh is the body of a function, which speaks to the shell by these others.
zsh() {
    command zsh -f -c '
        compset() { :; }
        compadd() { while [[ $1 == (-a|--) ]]; do [[ $1 == -- ]] || set -- "$@" $choices; shift; done; print -l -- ${@:#choices}; }
        _describe() { print -l -- ${choices%%:*}; }
        _files() { print -l -- *; }
        _command_names() { print -l -- ${(k)commands}; }
        complete_words() { local -a words=("$@"); local CURRENT=$#; . '"$completions/_roost"'; }
        complete_words "$@"' zsh "$@" | awk -v begin="$(sed -E 's/^--[a-z-]+=//' <<<"${!#}")" 'index($0, begin) == 1'
}
fish() {
    command fish --no-config -c "source $completions/roost.fish; complete -C \"\$argv\"" -- "$@" | cut -f 1 | sed -E 's/^--[a-z-]+=//'
}
offers() { echo "$("$@" | sort | grep .)"; }
lines() { tr ' ' '\n' <<<"$*" | sort; }

verbs=$("$ROOST" help | sed -nE 's/^  ([a-z]+)  .*/\1/p' | sort)
check_shell() {
    is "$1: verbs" "$verbs" "$(offers "$1" roost '')"
    is "$1: verbs that begin so" "$(lines reconcile remove)" "$(offers "$1" roost re)"
    is "$1: verbs behind help" digest "$(offers "$1" roost help dig)"
    is "$1: options without a verb" "$(lines --help --version)" "$(offers "$1" roost --)"
    for verb in $verbs; do
        [ $verb = help ] || is "$1: options of $verb" "$("$ROOST" help $verb | grep -oE -- '^  (-., )?--[a-z-]+' | tr -d ' ' | tr , '\n' | sort)" \
            "$(offers "$1" roost $verb -)"
    done
    while read -r verb option values; do
        is "$1: values of $verb $option" "$(lines $values)" "$(offers "$1" roost $verb $option '')"
    done <<'END'
create --kind bloom cuckoo orcuckoo
create --layout blocked classic
create --bucket 1 2 4 8
create --semantics add-wins remove-wins last-writer-wins
create --entry 32 64
create --growth 1 2 4 8
create --schedule gentle quadratic halving
reconcile --method auto riblt dbf ccf-query ccf-decode
demo --kind bloom cuckoo orcuckoo
END
    is "$1: values that begin so" orcuckoo "$(offers "$1" roost create f --kind o)"
    is "$1: what a window does" "$(lines add check dedup)" "$(offers "$1" roost window '')"
    is "$1: what a counter does" "$(lines incr show)" "$(offers "$1" roost counter '')"
    for line in add 'add f -f' 'add f -0' 'check --file' 'sync --cacert' 'info --password-file' 'serve --lines' 'window add' 'merge f g'; do
        is "$1: files behind $line" a-file "$(offers "$1" roost $line '')"
    done
    for line in help\ add link demo 'demo --loss' 'create --capacity' 'create f --seed' 'counter incr f --id'; do
        is "$1: no files behind $line" '' "$(offers "$1" roost $line '')"
    done
    [ -n "$(offers "$1" roost sync f --rsh s | grep -x sh)" ]
    verdict "$1: commands behind --rsh"
}
for shell in bash zsh fish; do
    if [ -n "$(type -P $shell)" ]; then check_shell $shell; else skip "completion of $shell" "there is no $shell"; fi
done
# bash takes these for three words.
is "bash: --kind=o" orcuckoo "$(offers bash roost create --kind = o)"
is "bash: --kind=" "$(lines bloom cuckoo orcuckoo)" "$(offers bash roost create --kind =)"
for shell in zsh fish; do
    [ -z "$(type -P $shell)" ] || is "$shell: --kind=o" orcuckoo "$(offers $shell roost create --kind=o)"
done
finish
