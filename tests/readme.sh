# The snippets of README and tutorial, run as a reader would: the shell blocks of a page in one shell, the C block built against the library.
set -u
fail=0
result() { if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fail=1; fi; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } $0 == "```" { on = 0 } on' "$2"; }
shell() { # page: what its blocks print goes to $folder/printed
    mkdir "$folder/$(basename "$1")"
    block sh "$1" >"$folder/shell"
    [ "$(wc -l <"$folder/shell")" -ge 8 ]; result $? "$1 has shell snippets"
    (cd "$folder/$(basename "$1")" && PATH=$OLDPWD/build:$PATH bash -e ../shell) >"$folder/printed" 2>&1
    result $? "the shell snippets of $1 run"
}

shell README.md
tr '\n' ' ' <"$folder/printed" | grep -qx 'swift heron heron '; result $? "they print what the README says"
shell docs/shell.md
sed -n 1,2p "$folder/printed" | tr '\n' ' ' | grep -qx 'swift heron '; result $? "they print what the page says"
tail -n 2 "$folder/printed" | tr '\n' ' ' | grep -qx '< martin > heron '; result $? "the lists differ as the page says"
grep -qE '^[0-9a-f]{32}$' "$folder/printed"; result $? "the digest is shown"
grep -x -A1 '3 applied' "$folder/printed" | grep -qx '3 duplicate'; result $? "an operation counts once"
[ $fail -eq 0 ] || cat "$folder/printed"

block c README.md >"$folder/snippet.c"
cc -std=c17 -Wall -Wextra -Werror -Iinclude "$folder/snippet.c" build/src/libroost.a -lm -o "$folder/snippet" 2>"$folder/errors"
result $? "the C snippet builds" || cat "$folder/errors"
[ "$("$folder/snippet")" = "1 1" ]; result $? "and prints 1 1"

# Every relative link of the README and the docs leads somewhere, and nothing was left to be filled in.
for page in README.md CONTRIBUTING.md docs/*.md; do
    missing=$(grep -oE '\]\([^)# ]+' "$page" | cut -c3- | grep -v '^https:' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$link"; done)
    [ -z "$missing" ]; result $? "links of $page lead somewhere $missing"
    ! grep -nE '^[A-Z_]+$' "$page"; result $? "$page is complete"
done
exit $fail
