# README and the pages of docs, as a reader meets them: every command block runs and prints what the page says (tests/pages), the C
# block builds against the library, links lead somewhere, lines fit.
set -u
fail=0
result() { if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fail=1; fi; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build=$(realpath "${ROOST_BUILD:-build}")

# A page that is wrong is found out, and what it started is ended.
expect_wrong() { # what is wrong, then the page
    printf '%s\n' "$2" >"$folder/wrong.md"
    ! tests/pages "$folder/wrong.md" >"$folder/printed"; result $? "a page is found out: $1"
    grep -q '^not ok' "$folder/printed"; result $? "and named"
}
expect_wrong "another output" $'```console\n$ echo swift\nmartin\n```'
expect_wrong "output where there is none" $'```console\n$ true\nmartin\n```'
expect_wrong "output that is not shown" $'```console\n$ echo swift\n```'
expect_wrong "a command that fails" $'```sh\ntrue\nfalse\ntrue\n```'
expect_wrong "a shell that ends" $'```console\n$ exit 0\n$ true\n```'
expect_wrong "a block of no kind" $'```\n$ echo swift\n```'
expect_wrong "a heading that is not there" $'# One\n[two](#two)'
printf '%s\n' '```sh' "setsid sleep 1000 & echo \$! >$folder/pid" '```' >"$folder/wrong.md"
tests/pages "$folder/wrong.md" >/dev/null && ! kill -0 "$(cat "$folder/pid")" 2>/dev/null; result $? "what a page starts ends with it"

# Those that need servers are left out where there are none. embed.md and cpp.md need an installed library: tests/install.sh runs
# them. javascript.md needs the package: make check-js does.
serving=$([ -f "$build/roost.so" ] && command -v redis-server redis-cli >/dev/null && echo yes)
for page in README.md docs/*.md; do
    case $page in
    docs/embed.md | docs/cpp.md | docs/javascript.md) ;;
    README.md | docs/active-active.md | docs/module.md)
        if [ "$serving" ]; then tests/pages "$page" || fail=1; else echo "skipped: $page, for want of the module or redis-server"; fi ;;
    *) tests/pages "$page" || fail=1 ;;
    esac
done

# The regions of Valkey are set up like those of Redis.
valkey=$PWD/build/servers/valkey/usr/bin
if [ "$serving" ] && [ -x "$valkey/valkey-server" ]; then
    mkdir "$folder/bin" && ln -s "$valkey/valkey-server" "$folder/bin/redis-server" && ln -s "$valkey/valkey-cli" "$folder/bin/redis-cli"
    echo "# the same with Valkey"
    PATH=$folder/bin:$PATH tests/pages docs/active-active.md || fail=1
fi
# What the page adds to the unit; the program is the one that was built.
unit=$build/packaging/roost-link.service
if command -v systemd-analyze >/dev/null && [ -f "$unit" ]; then
    mkdir -p "$folder/units/roost-link.service.d"
    sed "s,=/usr/local/bin/roost,=$build/roost," "$unit" >"$folder/units/roost-link.service"
    awk '/^```ini link.tls.conf/ { on = 1; next } /^```/ { on = 0 } on' docs/active-active.md |
        sed "s,=/usr/local/bin/roost,=$build/roost," >"$folder/units/roost-link.service.d/tls.conf"
    [ "$(wc -l <"$folder/units/roost-link.service.d/tls.conf")" -eq 5 ] &&
        SYSTEMD_UNIT_PATH="$folder/units:" systemd-analyze verify --man=no roost-link.service >"$folder/errors" 2>&1
    ! grep roost "$folder/errors"; result $? "systemd understands the unit with what docs/active-active.md adds"
fi

# The commands of README compile its C and C++ without warnings; those who copy it ask for more.
block() { awk -v kind="^\`\`\`$1 " '$0 ~ kind { on = 1; next } /^```/ { on = 0 } on' README.md >"$folder/snippet.$1"; }
block c && cc -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$folder/snippet.c"
result $? "the C block of README has no warnings"
block cpp && c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$folder/snippet.cpp"
result $? "the C++ block of README has no warnings"

# Tables and links may be longer than 100 columns: a table has no line breaks, a link no spaces.
export LC_ALL=C.UTF-8
prose() { awk '/^```/ { on = !on; print ""; next } { print on ? "" : $0 }' "$1"; } # without blocks, the lines where they were
for page in *.md docs/*.md; do
    missing=$(prose "$page" | grep -oE '\]\([^)# ]+' | cut -c3- | grep -v '^https:' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$link"; done)
    [ -z "$missing" ]; result $? "links of $page lead somewhere $missing"
    ! prose "$page" | grep -nE '^[A-Z_]+$'; result $? "$page is complete"
    ! grep -nE '^.{101}' "$page" | grep -vE '^[0-9]+:(\||!\[)'; result $? "$page has at most 100 columns"
    ! prose "$page" | grep -nE '^(    |\t)(\$ |> |sudo |make |roost |redis-|valkey-|cc |cmake |meson )'
    result $? "commands of $page are in fenced blocks"
done
exit $fail
