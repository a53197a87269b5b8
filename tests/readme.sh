# README and the pages of docs, as a reader meets them: every command block runs and prints what the page says (tests/pages), the C
# block builds against the library, links lead somewhere, lines fit.
set -u
fail=0
result() { if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fail=1; fi; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Those that need servers are left out where there are none. embed.md needs an installed library: tests/install.sh runs it.
serving=$([ -f build/roost.so ] && command -v redis-server redis-cli >/dev/null && echo yes)
for page in README.md docs/*.md; do
    case $page in
    docs/embed.md) ;;
    README.md | docs/active-active.md | docs/module.md)
        if [ "$serving" ]; then tests/pages "$page" || fail=1; else echo "skipped: $page, for want of the module or redis-server"; fi ;;
    *) tests/pages "$page" || fail=1 ;;
    esac
done

awk '/^```c / { on = 1; next } /^```/ { on = 0 } on' README.md >"$folder/snippet.c"
cc -std=c17 -Wall -Wextra -Werror -Iinclude "$folder/snippet.c" build/src/libroost.a -lm -o "$folder/snippet" 2>"$folder/errors"
result $? "the C block of README builds" || cat "$folder/errors"
[ "$("$folder/snippet" | tr '\n' ' ')" = "swift 1 martin 1 " ]; result $? "and prints what its comments say"

# Tables and links may be longer than 100 columns: a table has no line breaks, a link no spaces.
for page in *.md docs/*.md; do
    missing=$(grep -oE '\]\([^)# ]+' "$page" | cut -c3- | grep -v '^https:' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$link"; done)
    [ -z "$missing" ]; result $? "links of $page lead somewhere $missing"
    ! grep -nE '^[A-Z_]+$' "$page"; result $? "$page is complete"
    ! LC_ALL=C.UTF-8 awk 'length($0) > 100 && !/^\|/ { print FILENAME ":" FNR ": " $0; found = 1 } END { exit !found }' "$page"
    result $? "$page has at most 100 columns"
    ! grep -nE '^(    |\t)(\$ |> |sudo |make |roost |redis-|valkey-|cc |cmake |meson )' "$page"
    result $? "commands of $page are in fenced blocks"
done
exit $fail
