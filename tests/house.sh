# The rules of the house that a program can check: who may include whom, nothing that belongs to one machine.
fail=0
expect_none() { # description, then a command that prints offenders
    local what=$1 found; shift
    found=$("$@" || true)
    if [ -z "$found" ]; then echo "ok $what"; else echo "not ok $what"; printf '%s\n' "$found"; fail=1; fi
}
tests/includes || fail=1
tests/documented || fail=1
tests/figures || fail=1
if command -v doxygen >/dev/null; then
    folder=$(mktemp -d)
    expect_none "Doxygen has no warnings" bash -c "(cat docs/Doxyfile; echo OUTPUT_DIRECTORY=$folder) | doxygen - 2>&1"
    rm -rf "$folder"
else
    echo "skipped: there is no doxygen"
fi
# What the newest release added has the names of today; older ones keep theirs.
added() { awk '/^## \[/ && ++release > 2 { exit } /^##/ { on = /^### Added/ } on' CHANGELOG.md | grep -oE '\broost(_[a-z_]+|/[a-z]+\.h)' | sort -u; }
unknown() { added | while read -r name; do grep -rqwF "${name%.h}" include || [ -f "include/$name" ] || echo "$name"; done; }
expect_none "functions and headers that the changelog names are there" unknown
expect_none "no file is about nothing" bash -c "git ls-files | grep -E '(^|/)(util|utils|helpers|common|misc)\.[ch]$'"
expect_none "no note to self" bash -c "git grep -nE '\b(TODO|FIXME|XXX|HACK)\b' -- '*.c' '*.h' '*.sh' ':!tests/house.sh'"
targets() { sed -n 's/^\.PHONY: //p' Makefile | tr ' ' '\n' | grep -vx all; }
listed() { make --no-print-directory help | sed -n 's/^make \([a-z-]\+\) .*/\1/p'; }
unlisted() { diff <(targets | sort) <(listed | sort); }
expect_none "make help has the targets of the Makefile" unlisted
expect_none "make help fits in 100 columns" bash -c "make --no-print-directory help | grep -E '^.{101}'"
expect_none "pictures have colours for dark pages (eval/draw.py)" bash -c "git ls-files '*.svg' | xargs grep -L prefers-color-scheme"
expect_none "docs/speed.md has the figures of bench/results.csv" bash -c "bench/speed_page --check 2>&1"
expect_none "the man page is well-formed" mandoc -T lint -W warning docs/roost.1
# The packages for Debian: what is installed is there, and changes are made in both places.
exported() { sed -n 's/^    \(roost_[a-z0-9_]*\);$/\1/p' src/roost.map | sort; }
packaged() { sed -n 's/^ \(roost_[a-z0-9_]*\)@ROOST_0 [0-9.]*$/\1/p' debian/libroost0.symbols | sort; }
apart() { diff <(exported) <(packaged); }
expect_none "debian/libroost0.symbols has the symbols of src/roost.map" apart
versions() { diff <(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build) <(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' debian/changelog); }
expect_none "debian/changelog has the version of meson.build" versions
next_series=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build | awk -F. '{ print $1 "." $2 + 1 }')
expect_none "debian/libroost0.symbols ends with this minor version" sh -c "head -n 1 debian/libroost0.symbols | grep -vF '(<< $next_series~)'"
absent() { cat debian/*.docs debian/*.examples | while read -r path; do compgen -G "$path" >/dev/null || echo "$path"; done; }
expect_none "the documents that debian/ names are there" absent
generated() { git ls-files '*.html' '*.js' | LC_ALL=C xargs awk 'length > 512 { print FILENAME ": " FNR ": " length " bytes" }'; }
expect_none "no line of a page is so long that lintian takes the page for a generated one" generated
exit $fail
