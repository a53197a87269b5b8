# Completion of roost for fish. Verbs, options and the values of options come from the program's own help and messages, so they are
# never out of date.
function __roost_verbs
    roost help 2>/dev/null | string match -r '^  (?!roost )[a-z]+ .*' | string replace -r '^  ([a-z]+) +(.*)' '$1\t$2'
end
function __roost_options -a verb
    roost help $verb 2>/dev/null | string match -ra '^  (-[^ ]+)(?: (--[^ ]+))?' | string match -r '^-.*' | string replace ',' ''
end
# What the help calls the value of an option, as FILE; nothing if the option takes none.
function __roost_value_name -a verb option
    string match -qr '^--?[0a-z-]+$' -- $option
    and roost help $verb 2>/dev/null | string replace -rf '^  (?:-., )?'$option'(?:, --[a-z-]+)? ([A-Z]+)(?: .*)?$' '$1'
end
# From the message about a wrong value, if that names them. With --help behind it the program does nothing else.
function __roost_values -a verb option
    roost $verb $option '?' --help 2>&1 >/dev/null </dev/null | string replace -rf '.*: must be ((?:[^ ,]+, )*[^ ,]+) or ([^ ,]+)$' '$1, $2' | string split ', '
end
# The option whose value is to be completed: the word before, or that of --option=value.
function __roost_option
    set -l words (commandline -opc)
    string replace -rf '^(--[a-z-]+)=.*' '$1' -- (commandline -ct); or echo $words[-1]
end
function __roost_kind # of the word to complete
    set -l words (commandline -opc)
    set -l name
    if test (count $words) -gt 1
        set name (__roost_value_name $words[2] (__roost_option))
    end
    if test (count $words) -eq 1
        echo VERB
    else if test -n "$name"
        echo $name
    else if string match -q -- '-*' (commandline -ct)
        echo OPTION
    else if test (count $words) -eq 2; and contains $words[2] help window counter
        echo $words[2]
    else if contains $words[2] help link demo
        echo NOTHING
    else
        echo FILE
    end
end
function __roost_choices
    set -l words (commandline -opc)
    switch (__roost_kind)
        case VERB
            __roost_verbs
            string match -q -- '-*' (commandline -ct); and printf '%s\n' --help --version
        case help
            __roost_verbs
        case window
            printf '%s\n' add check dedup
        case counter
            printf '%s\n' incr show
        case OPTION
            __roost_options $words[2]
        case COMMAND
            __fish_complete_command
        case FILE KEYS PATH NOTHING
        case '*'
            set -l start (string replace -rf '^(--[a-z-]+=).*' '$1' -- (commandline -ct))
            __roost_values $words[2] (__roost_option) | string replace -r -- '^' "$start"
    end
end
function __roost_without_files
    not contains (__roost_kind) FILE KEYS PATH
end
complete -c roost -n __roost_without_files -f
complete -c roost -a '(__roost_choices)'
