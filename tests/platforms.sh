#!/usr/bin/env bash
# Roost on other machines: built for them here, and run by qemu-user.
#
#   tests/platforms.sh short     the transcript of every kind of filter, delta, sync and reconciliation, on aarch64 and on
#                                big-endian s390x, beside the golden one
#   tests/platforms.sh all       that, and all unit tests, on aarch64, s390x and riscv64 and with musl (make check-platforms);
#                                on aarch64 also without the extensions of the processor that kernels are made for
#   tests/platforms.sh golden    writes the golden transcript anew, for a change of bytes that is meant
#
# A second argument names the machines: tests/platforms.sh all "s390x musl".
# Only the library and the tests are built, without servers; `all` builds the program too. What cannot be tried is skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
form=${1:-short}
build=${ROOST_BUILD:-$PWD/build}
things=$build/platforms
export ROOST_GOLDEN=$PWD/tests/golden CMOCKA_MESSAGE_OUTPUT=TAP
mkdir -p "$things"
rm -f "$things/failed"
report() { # status, what
    if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; echo "$2" >>"$things/failed"; fi
}

# ---- what the builds need: headers and libraries of their own, as pkg-config files in one folder for each machine ----

offer() { # machine, package, version, flags, libraries
    mkdir -p "$things/$1/pkgconfig"
    printf 'Name: %s\nDescription: %s for %s\nVersion: %s\nCflags: %s\nLibs: %s\n' "$2" "$2" "$1" "$3" "$4" "$5" \
        >"$things/$1/pkgconfig/$2.pc"
}
offer_xxhash() { # machine: the header is all, and the same for all
    mkdir -p "$things/include"
    cp /usr/include/xxhash.h "$things/include/" && offer "$1" libxxhash "$(env -u PKG_CONFIG_LIBDIR pkg-config --modversion libxxhash)" "-I$things/include" ""
}
offer_cmocka() { # machine, compiler
    local source=$things/cmocka object=$things/$1/cmocka.o
    packaging/apart cmocka "$things" || return 1
    "$2" -O1 -w -I"$source/include" -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_STRINGS_H -DHAVE_STRUCT_TIMESPEC \
        -DHAVE_SIGNAL_H -DHAVE_CLOCK_GETTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE -DHAVE_CLOCK_REALTIME -D_GNU_SOURCE \
        -c "$source/src/cmocka.c" -o "$object" || return 1
    ar rcs "$things/$1/libcmocka.a" "$object"
    offer "$1" cmocka 1.1.5 "-I$source/include" "-L$things/$1 -lcmocka"
}

# ---- builds -------------------------------------------------------------------------------------------------------------

cross_file() { # machine, byte order, processor as qemu calls it
    printf '%s\n' '[binaries]' "c = [$(! command -v ccache >/dev/null || printf "'ccache', ")'$1-linux-gnu-gcc']" "ar = '$1-linux-gnu-ar'" "objcopy = '$1-linux-gnu-objcopy'" "strip = '$1-linux-gnu-strip'" \
        "pkgconfig = 'pkg-config'" "exe_wrapper = ['qemu-$1', '-L', '/usr/$1-linux-gnu']" \
        '[properties]' "pkg_config_libdir = '$things/$1/pkgconfig'" \
        '[host_machine]' "system = 'linux'" "cpu_family = '$1'" "cpu = '$1'" "endian = '$2'" >"$things/$1/cross"
}
configure() { # machine, options
    local folder=$things/$1/build; shift
    test -f "$folder/build.ninja" && set -- --reconfigure "$@"
    [ "$form" = all ] || set -- -Doptimization=0 "$@" # less to compile
    meson setup "$folder" -Dservers=disabled -Dwerror=true "$@"
}
can_build() { # machine, compiler, runner
    for tool in "$2" $3; do
        command -v "$tool" >/dev/null && continue
        echo "skipped: $1: there is no $tool"
        return 1
    done
}

# ---- runs ---------------------------------------------------------------------------------------------------------------

transcript() { # machine, runner, what is special about it
    local result=$things/$1/transcript.txt
    $2 "$things/$1/build/tests/transcript" tests/golden/accept/*.roost >"$result" && diff tests/golden/transcript.txt "$result" >"$result.diff"
    report $? "$1${3:-}: $(wc -l <"$result") lines of the transcript are the golden ones"
    head -n 20 "$result.diff"
}
unit() { # machine, name, command
    local log=$things/$1/$2.log
    ${*:3} >"$log" 2>&1
    local status=$?
    report $status "$1: $2"
    [ $status -eq 0 ] || grep -vE '^ok' "$log" | tail -n 20
}
without_extensions() { # machine, compiler, runner: the system says that the processor has none, so that plain kernels are used
    local library=$things/$1/without_extensions.so
    echo 'unsigned long getauxval(unsigned long type) { return type & 0; }' | "$2" -shared -fPIC -x c -o "$library" -
    transcript "$1" "$3 -E LD_PRELOAD=$library" " without extensions"
}
who_has_neon() { # machine, compiler: not big-endian builds, nor those without vectors or without the compiler's header
    local flags wrong=
    has_neon() { echo '#include "src/base/neon.h"' | "$@" -I. -E -dM -x c - | grep -q HAS_NEON; }
    has_neon "$2" || wrong=default
    for flags in -mbig-endian -march=armv8-a+nosimd -nostdinc; do
        ! has_neon "$2" "$flags" || wrong="$wrong $flags"
    done
    [ -z "$wrong" ]
    report $? "$1: kernels for NEON are built where they may be${wrong:+, but: $wrong}"
}
program() { # machine, runner: create, add, query, merge; a copy is another replica
    local roost="$2 $things/$1/build/roost" folder
    folder=$(mktemp -d)
    (cd "$folder" && $roost create a --kind orcuckoo --capacity 1000 && cp a b && $roost add a one two && $roost add b three &&
        $roost merge a b && $roost sync a b && [ "$($roost check a one two three four | wc -l)" -eq 3 ] &&
        [ "$($roost digest a | cut -c1-32)" = "$($roost digest b | cut -c1-32)" ]) >"$things/$1/program.log" 2>&1
    report $? "$1: the program"
    rm -rf "$folder"
}
one_machine() { # machine, compiler, runner with its options, options of meson setup
    local machine=$1 compiler=$2 runner=$3; shift 3
    can_build "$machine" "$compiler" "${runner%% *}" || return 0
    local log=$things/$machine/log targets="tests/transcript src/libroost.a"
    mkdir -p "$things/$machine"
    offer_xxhash "$machine"
    if [ "$form" = all ]; then
        targets="$targets roost"
        if offer_cmocka "$machine" "$compiler" >"$log" 2>&1; then
            for name in $(cat tests/units); do targets="$targets tests/test-$name"; done
        else
            echo "skipped: $machine: cmocka cannot be had, so there are no unit tests"
        fi
    fi
    { configure "$machine" "$@" && ninja -C "$things/$machine/build" --quiet $targets; } >"$log" 2>&1
    local status=$?
    report $status "$machine: builds"
    [ $status -eq 0 ] || { tail -n 20 "$log"; return; }
    transcript "$machine" "$runner"
    if [ "$form $machine" = "all aarch64" ]; then
        without_extensions "$machine" "$compiler" "$runner"
        who_has_neon "$machine" "$compiler"
    fi
    [ "$form" = all ] && [ -f "$things/$machine/libcmocka.a" ] || return 0
    program "$machine" "$runner"
    for name in $(cat tests/units); do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        unit "$machine" "$name" $runner "$things/$machine/build/tests/test-$name" &
    done
    wait
}
emulated() { # machine, byte order
    mkdir -p "$things/$1"
    cross_file "$1" "$2"
    local options=()
    [ "$form" = all ] && options=(-Doptimization=2) || options=(-Doptimization=1)
    ROOST_MOST_FAULTS=50000 one_machine "$1" "$1-linux-gnu-gcc" "qemu-$1 -L /usr/$1-linux-gnu" --cross-file "$things/$1/cross" "${options[@]}"
}

if [ "$form" = golden ]; then
    "$build/tests/transcript" tests/golden/accept/*.roost >tests/golden/transcript.txt
    exit
fi
"$build/tests/transcript" tests/golden/accept/*.roost | diff tests/golden/transcript.txt - | head -n 20
report ${PIPESTATUS[1]} "this machine: the transcript is the golden one"
for machine in ${2:-$(if [ "$form" = all ]; then echo aarch64 s390x riscv64 musl; else echo aarch64 s390x; fi)}; do
    case $machine in
    musl) CC=musl-gcc PKG_CONFIG_LIBDIR=$things/musl/pkgconfig one_machine musl musl-gcc env -Doptimization=2 ;;
    s390x) emulated $machine big ;;
    *) emulated $machine little ;;
    esac
done
[ ! -e "$things/failed" ]
