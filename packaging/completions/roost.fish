# Completion of roost for fish. Verbs and options come from the program's own help, so they are never out of date.
function __roost_verbs
    roost help 2>/dev/null | string match -r '^  (?!roost )[a-z]+ .*' | string replace -r '^  ([a-z]+) +(.*)' '$1\t$2'
end
function __roost_options
    set -l words (commandline -opc)
    test (count $words) -gt 1; and roost help $words[2] 2>/dev/null | string match -ra '^  (-[^ ]+)(?: (--[^ ]+))?' | string match -r '^-.*' | string replace ',' ''
end
complete -c roost -n 'test (count (commandline -opc)) -eq 1' -f -a '(__roost_verbs)'
complete -c roost -n 'test (count (commandline -opc)) -gt 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__roost_options)'
complete -c roost -n 'test (count (commandline -opc)) -eq 2; and contains window (commandline -opc)' -a 'add check dedup'
complete -c roost -n 'test (count (commandline -opc)) -eq 2; and contains counter (commandline -opc)' -a 'incr show'
