# Completion of roost for bash. Verbs and options come from the program's own help, so they are never out of date.
_roost() {
    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} choices=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$verb" = help ]; }; then
        choices=$(roost help 2>/dev/null | awk '/^  [a-z]/ && $1 != "roost" { print $1 }')
    elif [[ $word == -* ]]; then
        choices=$(roost help "$verb" 2>/dev/null | awk '/^  -/ { for (i = 1; i <= NF && $i ~ /^-/; i++) { sub(/,$/, "", $i); print $i } }')
    else
        case $verb in
        window) [ "$COMP_CWORD" -eq 2 ] && choices="add check dedup" ;;
        counter) [ "$COMP_CWORD" -eq 2 ] && choices="incr show" ;;
        esac
    fi
    [ -z "$choices" ] || mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}
complete -o default -F _roost roost
