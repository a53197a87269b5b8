#!/bin/sh
# The npm package: build.sh FOLDER [--quick] leaves it in FOLDER/package, and as roost-filter-VERSION.tgz in FOLDER.
#
# Two modules are made of the library's own sources, by clang, lld and wasi-libc: roost.wasm has all that the package offers,
# core.wasm what most pages need. What is called most is compiled for speed, all else for size. --quick makes core.wasm alone,
# hardly optimized, and no archive: for tests that must not take long.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
quick=${2-}
exec 9>"$out/lock" # tests that run at the same time build it once
flock 9

complain() { echo "roost: $*" >&2; exit 1; }
for tool in clang wasm-ld ninja node; do
    command -v $tool >/dev/null || complain "the package for JavaScript needs $tool: packaging/dependencies js installs it"
done
[ -f /usr/lib/wasm32-wasi/libc.a ] || complain "the package for JavaScript needs wasi-libc: packaging/dependencies js installs it"

# ---- what is in the modules -------------------------------------------------------------------------------------------

# Files belong to programs with an operating system, and threads have no use in one instance.
all=$(sed -n "/^library_sources/,/^)/s/^  '\(.*\)',/\1/p" "$root/src/meson.build" | grep -vE '^(file|concurrent)/|^gossip/gossip')
# Left out of the core, with a word in wasm/left_out.c: filters of other kinds than bloom of fixed size, and cuckoo and orcuckoo
# that grow; windows, counters, reconciliation, imported parts.
beyond_core='^(multiset|gossip|reconcile|window|imported)/|^filter/(series|gcuckoo|orcuckoo|cuckoo_table|cuckoo_many|bloom_block_rate_table)|^frame/multiset|^base/field'
core=$(printf '%s\n' $all | grep -vE "$beyond_core")
fast='^(base/hash|filter/bloom_plain|filter/filter|growing/search_plain|growing/growing_cuckoo)\.c$'

# ---- rules ------------------------------------------------------------------------------------------------------------

mkdir -p "$out/include" "$out/package"
# Debian has the header for all machines in /usr/include, whose other headers are for this one.
cmp -s /usr/include/xxhash.h "$out/include/xxhash.h" || cp /usr/include/xxhash.h "$out/include/"
cache=$(command -v ccache || true)
flags="--target=wasm32-wasi -std=gnu17 -mbulk-memory -msign-ext -mnontrapping-fptoint -ffunction-sections -fdata-sections"
flags="$flags -fvisibility=hidden -ffp-contract=off -I$here/wasm/include -isystem $out/include -I$root/include -I$root/src"
link="--target=wasm32-wasi -nostartfiles -Wl,--no-entry,--gc-sections,--strip-all,--import-memory,--stack-first,-z,stack-size=262144"
link="$link,--export=__stack_pointer,--no-check-features"
optimize=$(command -v wasm-opt || true) speed=-O2 size="-Oz -Dalways_inline="
[ -z "$quick" ] || { optimize= speed=-O1 size=-O0; }

# Of the table of rates, the rows from 1e-5 up: a third of its 44 kB.
awk '/BLOCK_RATES/ { print "#include <stdint.h>"; print "const uint64_t bloom_block_rates[] = {"; on = 1; next } /16 probes/ { exit } on
     END { print "};" }' "$root/src/filter/bloom_block_rate_table.c" >"$out/core_rates.new"
cmp -s "$out/core_rates.new" "$out/core_rates.c" || cp "$out/core_rates.new" "$out/core_rates.c"

object_of() { echo "$1" | sed 's,/,_,; s,\.c$,.o,'; }
compile() { # sources of the library
    for source; do
        rule=small
        ! echo "$source" | grep -qE "$fast" || rule=fast
        echo "build $(object_of "$source"): $rule $root/src/$source"
    done
}
module() { # name, own objects, sources of the library
    name=$1 own=$2; shift 2
    echo "build package/$name.wasm: link$own $(for source; do object_of "$source"; done | tr '\n' ' ')"
}
{
    echo "rule fast
  command = $cache clang $flags $speed \$more -MMD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  description = \$out
rule small
  command = $cache clang $flags $size -MMD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  description = \$out
rule link
  command = clang $link \$in -o \$out${optimize:+ && $optimize -Oz --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals \$out -o \$out}
  description = \$out
rule copy
  command = cp \$in \$out
  description = \$out"
    echo "build core_rates.o: small $out/core_rates.c"
    for own in xxhash system left_out; do echo "build own_$own.o: small $here/wasm/$own.c"; done
    echo "build binding.o: fast $here/wasm/binding.c"
    echo "build core_binding.o: fast $here/wasm/binding.c
  more = -DROOST_JS_CORE"
    if [ "$quick" ]; then compile $core; else compile $all; fi
    module core " core_binding.o own_xxhash.o own_system.o own_left_out.o core_rates.o" $core
    [ "$quick" ] || module roost " binding.o own_xxhash.o own_system.o" $all
    for file in "$here"/src/* "$here/README.md" "$root/LICENSE"; do echo "build package/$(basename "$file"): copy $file"; done
    echo "default package/core.wasm $([ "$quick" ] || echo package/roost.wasm) $(for file in "$here"/src/* README.md LICENSE; do echo "package/$(basename "$file")"; done | tr '\n' ' ')"
} >"$out/build.ninja.new"
cmp -s "$out/build.ninja.new" "$out/build.ninja" || cp "$out/build.ninja.new" "$out/build.ninja"
ninja -C "$out" --quiet

# ---- the package ------------------------------------------------------------------------------------------------------

version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")
sed "s/\"version\": \".*\"/\"version\": \"$version\"/" "$here/package.json" >"$out/package/package.json"
[ -z "$quick" ] || exit 0
tar -C "$out" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - package | gzip -9n >"$out/roost-filter-$version.tgz"
for module in core roost; do
    echo "$module.wasm: $(stat -c %s "$out/package/$module.wasm") bytes, $(gzip -9c "$out/package/$module.wasm" | wc -c) gzipped"
done
echo "$out/roost-filter-$version.tgz"
