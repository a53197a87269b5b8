# Completion of roost for bash. Verbs, options and the values of options come from the program's own help and messages, so they
# are never out of date.
_roost_verbs() { roost help 2>/dev/null | awk '/^  [a-z]/ && $1 != "roost" { print $1 }'; }
_roost_options() { # verb
    roost help "$1" 2>/dev/null | awk '/^  -/ { for (i = 1; i <= NF && $i ~ /^-/; i++) { sub(/,$/, "", $i); print $i } }'
}
# What the help calls the value of an option, as FILE; nothing if the option takes none.
_roost_value_name() { # verb, option
    [[ $2 =~ ^--?[0a-z-]+$ ]] || return
    roost help "$1" 2>/dev/null | sed -nE "s/^  (-., )?$2(, --[a-z-]+)? ([A-Z]+)( .*)?\$/\3/p"
}
# From the message about a wrong value, if that names them. With --help behind it the program does nothing else.
_roost_values() { # verb, option
    roost "$1" "$2" '?' --help 2>&1 >/dev/null </dev/null |
        sed -nE '/: must be ([^ ,]+, )*[^ ,]+ or [^ ,]+$/ { s/.*: must be //; s/,| or / /g; p }'
}
_roost() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} kind=FILE choices= name
    # bash takes --kind=bloom for three words.
    if [ "$word" = = ]; then
        word=
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        if [[ $word == -* ]]; then kind=OPTION choices="--help --version"; else kind=VERB choices=$(_roost_verbs); fi
    elif name=$(_roost_value_name "$verb" "$before") && [ -n "$name" ]; then
        kind=$name choices=$(_roost_values "$verb" "$before")
    elif [[ $word == -* ]]; then
        kind=OPTION choices=$(_roost_options "$verb")
    else
        case $verb:$COMP_CWORD in
        help:2) kind=VERB choices=$(_roost_verbs) ;;
        window:2) kind=ACTION choices="add check dedup" ;;
        counter:2) kind=ACTION choices="incr show" ;;
        help:* | link:* | demo:*) kind=NOTHING ;;
        esac
    fi
    COMPREPLY=()
    case $kind in
    FILE | KEYS | PATH) ;; # those of readline
    COMMAND) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
        compopt +o default 2>/dev/null # no files
        ;;
    esac
}
complete -o default -F _roost roost
