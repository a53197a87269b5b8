#!/bin/sh
# The npm package: build.sh FOLDER [--quick] leaves it in FOLDER/package, and as roost-filter-VERSION.tgz in FOLDER.
#
# Three modules are made of the library's own sources, by clang, lld and wasi-libc: roost.wasm has all that the package offers,
# removal.wasm what most pages need, core.wasm the same without removal. Each has a twin, as roost-simd.wasm, for engines with
# vectors of 128 bits. In the first two, what is called most is compiled for speed. Of core.wasm every byte counts: it is compiled
# for size and as a whole (LTO), but for Bloom filters, the hash and single calls; what is called most of filters that grow is
# inlined. --quick makes the two smaller ones alone, with vectors, hardly optimized, and no archive: for tests that must not take long.
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
# Left out of the smaller two, with a word in wasm/left_out.c: filters of other kinds than bloom of fixed size, and cuckoo and
# orcuckoo that grow, add-wins; windows, counters, reconciliation, imported parts. The linker leaves out what only these use.
beyond='^(multiset|gossip|reconcile|window|imported|series)/|^filter/importing|^bloom/bloom_block_rate_table|^cuckoo/(gcuckoo|cuckoo_table|cuckoo_many)|^observed/orcuckoo|^frame/(merge_job|multiset)|^base/field|^growing/last_writer'
removal=$(printf '%s\n' $all | grep -vE "$beyond")
core=$(printf '%s\n' $removal | grep -v '^growing/growing_orcuckoo')
# Filters that grow gain by vectors, so these are compiled twice.
without=-DROOST_WITHOUT_REMOVAL vectors="-msimd128 -fno-vectorize -fno-slp-vectorize" kernel=prefix/search_simd128.c
fast='^(base/hash|base/hash_kernel|bloom/bloom_plain|filter/filter|prefix/(search_plain|search_simd128|segment|segment_build|table|directory|tagged)|growing/(growing_cuckoo|growing_orcuckoo|prefix_set|tagged_set)|observed/observed)\.c$'
fast_in_core='^(base/hash|base/hash_kernel|bloom/bloom_plain|filter/filter)\.c$'
inlined_in_core='^prefix/(search_plain|search_simd128|segment_build)\.c$'

# ---- rules ------------------------------------------------------------------------------------------------------------

mkdir -p "$out/include" "$out/package"
# Debian has the header for all machines in /usr/include, whose other headers are for this one.
cmp -s /usr/include/xxhash.h "$out/include/xxhash.h" || cp /usr/include/xxhash.h "$out/include/"
cache=$(command -v ccache || true)
flags="--target=wasm32-wasi -std=gnu17 -mbulk-memory -msign-ext -mnontrapping-fptoint -ffunction-sections -fdata-sections"
flags="$flags -fvisibility=hidden -ffp-contract=off -DROOST_WITHOUT_SERVERS -DROOST_WITHOUT_THREADS -I$here/wasm -I$here/wasm/include -isystem $out/include -I$root/include -I$root/src"
link="--target=wasm32-wasi -nostartfiles -Wl,--no-entry,--gc-sections,--strip-all,--import-memory,--stack-first,-z,stack-size=262144"
# There are no constructors. Unless they are exported, the linker puts a function around each export that calls them.
link="$link,--export=__wasm_call_ctors,--export=__stack_pointer,--no-check-features"
# With the stack first, nothing is ever at the lowest addresses.
optimizer=$(command -v wasm-opt || true)
optimize="-Oz --converge --low-memory-unused --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals --enable-simd"
speed=-O2 size="-Oz -Dalways_inline=" core_speed="-O2 -flto" core_inlined="-Oz -flto" core_size="-Oz -Dalways_inline= -flto"
link_core="-flto -Wl,--lto-O2 -Wl,-mllvm,-inline-threshold=-100,-mllvm,-inlinehint-threshold=0"
modules="core removal roost"
[ -z "$quick" ] || { optimizer= speed=-O1 size=-O0 modules="core removal"; }

node "$here/wasm/core_rates.js" "$root/src/bloom/bloom_block_rate_table.c" "$here/wasm/core.h" >"$out/core_rates.new"
cmp -s "$out/core_rates.new" "$out/core_rates.c" || cp "$out/core_rates.new" "$out/core_rates.c"

object_of() { echo "$1" | sed 's,/,_,; s,\.c$,.o,'; }
compile() { # prefix of objects and of rules, which files are hot, and which are inlined, definitions, then sources of the library
    prefix=$1 rules=$2 hot=$3 inlined=$4 more=$5; shift 5
    for source; do
        case $(echo "$source" | sed -E "s,$hot,hot,; s,$inlined,inlined,") in
        hot) rule=${rules}fast ;;
        inlined) rule=${rules}inlined ;;
        *) rule=${rules}small ;;
        esac
        echo "build $prefix$(object_of "$source"): $rule $root/src/$source
  more = $more"
    done
}
own() { # prefix of objects, rules for the binding, for XXH3 and for all else, definitions
    echo "build $1binding.o: $2 $here/wasm/binding.c
  more = $5
build $1own_xxhash.o: $3 $here/wasm/xxhash.c
  more = $5"
    for name in system left_out; do
        echo "build $1own_$name.o: $4 $here/wasm/$name.c
  more = $5"
    done
    echo "build $1rates.o: $4 $out/core_rates.c"
}
objects_of() { # empty or -simd, prefix of objects, sources of the library
    twin=$1 prefix=$2; shift 2
    for source in "$@" ${twin:+$kernel}; do
        case $twin$source in -simdprefix/*|-simdgrowing/*) printf simd_ ;; esac
        printf '%s ' "$prefix$(object_of "$source")"
    done
}
module() { # name, options of the linker, own objects, prefix of those of the library, sources of the library
    name=$1 options=$2 objects=$3 prefix=$4; shift 4
    for twin in "" -simd; do
        [ "$twin" ] || [ -z "$quick" ] || continue
        echo "build package/$name$twin.wasm: link heap.o $objects $(objects_of "$twin" "$prefix" "$@")
  options = $options"
    done
}
rule() { # name, flags
    echo "rule $1
  command = $cache clang $flags $2 \$more -MMD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  description = \$out"
}
{
    rule fast "$speed"
    rule small "$size"
    rule core_fast "$core_speed"
    rule core_inlined "$core_inlined"
    rule core_small "$core_size"
    echo "rule link
  command = clang $link \$options \$in -o \$out${optimizer:+ && $optimizer $optimize \$out -o \$out}
  description = \$out
rule copy
  command = cp \$in \$out
  description = \$out"
    smaller="-DROOST_JS_CORE" smallest="-DROOST_JS_CORE -DROOST_JS_WITHOUT_REMOVAL" owned="binding.o own_xxhash.o own_system.o"
    echo "build heap.o: small $here/wasm/heap.c"
    own removal_ fast small small "$smaller"
    module removal "" "$(printf 'removal_%s ' $owned own_left_out.o rates.o)" "" $removal
    if [ "$quick" ]; then
        compile "" "" "$fast" "^$" "" $removal
        compile simd_ "" "$fast" "^$" "$vectors" $(printf '%s\n' $removal $kernel | grep -E '^(prefix|growing)/')
        own core_ fast small small "$smallest"
        module core "" "$(printf 'core_%s ' $owned own_left_out.o rates.o)" "" $core
    else
        compile "" "" "$fast" "^$" "" $all
        compile simd_ "" "$fast" "^$" "$vectors" $(printf '%s\n' $all $kernel | grep -E '^(prefix|growing)/')
        compile core_ core_ "$fast_in_core" "$inlined_in_core" "$without" $core
        compile simd_core_ core_ "$fast_in_core" "$inlined_in_core" "$without $vectors" $(printf '%s\n' $core $kernel | grep -E '^(prefix|growing)/')
        own core_ core_fast core_small core_small "$smallest"
        module core "$link_core" "$(printf 'core_%s ' $owned own_left_out.o rates.o)" core_ $core
        own "" fast fast small ""
        module roost "" "$owned" "" $all
    fi
    # Tests of the library that test/kernel.test.js runs as WebAssembly, with the kernel for vectors.
    echo "rule unit
  command = clang $flags $vectors -O1 -I$here/test/include -I$root/tests \$in -Wl,-z,stack-size=1048576 -o \$out"
    for unit in prefix_table tagged_table; do
        echo "build unit_$unit.wasm: unit $root/tests/unit/test_$unit.c removal_own_xxhash.o removal_own_left_out.o removal_rates.o $(objects_of -simd "" $removal)"
    done
    for file in "$here"/src/* "$here/README.md" "$root/LICENSE"; do echo "build package/$(basename "$file"): copy $file"; done
    echo "default $(for module in $modules; do echo "$([ "$quick" ] || echo "package/$module.wasm") package/$module-simd.wasm"; done | tr '\n' ' ') $(for file in "$here"/src/* README.md LICENSE; do echo "package/$(basename "$file")"; done | tr '\n' ' ')"
} >"$out/build.ninja.new"
cmp -s "$out/build.ninja.new" "$out/build.ninja" || cp "$out/build.ninja.new" "$out/build.ninja"
ninja -C "$out" --quiet

# ---- the package ------------------------------------------------------------------------------------------------------

version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")
# The tests are not in the package.
sed "s/\"version\": \".*\"/\"version\": \"$version\"/; /^  \"scripts\"/d" "$here/package.json" >"$out/package/package.json"
[ -z "$quick" ] || exit 0
tar -C "$out" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - package | gzip -9n >"$out/roost-filter-$version.tgz"
for module in $modules; do
    for file in $module.wasm $module-simd.wasm; do
        echo "$file: $(stat -c %s "$out/package/$file") bytes, $(gzip -9c "$out/package/$file" | wc -c) gzipped"
    done
done
echo "$out/roost-filter-$version.tgz"
