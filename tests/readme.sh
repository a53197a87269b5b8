# The README's snippets, run as a reader would: its shell blocks in one shell, its C block built against the library.
set -u
fail=0
result() { if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fail=1; fi; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } $0 == "```" { on = 0 } on' README.md; }

block sh >"$folder/shell"
[ "$(wc -l <"$folder/shell")" -ge 8 ]; result $? "the README has shell snippets"
(cd "$folder" && PATH=$OLDPWD/build:$PATH bash -e ./shell) >"$folder/printed" 2>&1
result $? "the shell snippets run"
sed -n 1,3p "$folder/printed" | tr '\n' ' ' | grep -qx 'swift heron heron '
result $? "they print what the README says"
grep -qE '^[0-9a-f]{32}$' "$folder/printed"; result $? "the digest is shown"
grep -x -A1 '3 applied' "$folder/printed" | grep -qx '3 duplicate'; result $? "an operation counts once"
[ $fail -eq 0 ] || cat "$folder/printed"

block c >"$folder/snippet.c"
cc -std=c17 -Wall -Wextra -Werror -Iinclude "$folder/snippet.c" build/src/libroost.a -lm -o "$folder/snippet" 2>"$folder/errors"
result $? "the C snippet builds" || cat "$folder/errors"
[ "$("$folder/snippet")" = "1 1" ]; result $? "and prints 1 1"

# Every relative link of the README and the docs leads somewhere, and nothing was left to be filled in.
for page in README.md CONTRIBUTING.md docs/*.md; do
    missing=$(grep -oE '\]\([^)#: ]+' "$page" | cut -c3- | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$link"; done)
    [ -z "$missing" ]; result $? "links of $page lead somewhere $missing"
    ! grep -nE '^[A-Z_]+$' "$page"; result $? "$page is complete"
done
exit $fail
