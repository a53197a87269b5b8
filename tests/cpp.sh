# roost.hpp with gcc and clang, as C++17 and C++20, with and without exceptions and run-time types, with the warnings that libraries
# are read with; its unit tests, in two files of one program; and the hostile calls, under sanitizers with gcc. With ROOST_LONG=1
# every combination, and the hostile calls with clang as well.
#
#   bash tests/cpp.sh LIBRARY [LIBRARY-UNDER-SANITIZERS] [SECONDS [SEED]]    only the hostile calls where SECONDS are given
set -u
plain=$1 sanitized=${2-} seconds=${3-} seed=${4-}
fail=0
check() { # description, command
    local what=$1; shift
    if "$@" >"$folder/printed" 2>&1; then echo "ok $what"; else echo "not ok $what"; cat "$folder/printed"; fail=1; fi
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
is_long() { [ -n "${ROOST_LONG-}" ]; }
has() { command -v "$1" >/dev/null; }
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wsign-compare -Wold-style-cast -Wnon-virtual-dtor -Werror"

# ---- hostile calls ----------------------------------------------------------------------------------------------------------

# Thin archives of objects: those of kernels for some processors are apart.
hostile_under_sanitizers() { # seconds, options of the compiler
    local seconds=$1; shift
    # -lubsan: the library may be one of make fuzz-cpp, which says what it finds, where this file traps.
    check "g++: the hostile calls build under sanitizers" g++ -std=c++17 -Wall -Wextra -Wshadow -fsanitize=address,undefined "$@" -Iinclude \
        tests/property/hostile.cpp "$sanitized" -lm -lubsan -o "$folder/hostile"
    [ "$fail" -eq 0 ] && "$folder/hostile" --seconds "$seconds" ${seed:+--seed $seed} || { fail=1; echo "not ok hostile calls under sanitizers"; }
}
if [ -n "$seconds" ]; then
    has g++ || { echo "roost: the hostile calls of C++ need g++"; exit 1; }
    hostile_under_sanitizers "$seconds" -g1
    exit $fail
fi
if is_long && has clang++; then
    check "clang++: the hostile calls build" clang++ -std=c++17 -Wall -Wextra -Wshadow -Werror -Iinclude tests/property/hostile.cpp "$plain" -lm -pthread -o "$folder/hostile"
    "$folder/hostile" --seconds 2 || { fail=1; echo "not ok hostile calls"; }
fi
# The short form always makes the same calls; make fuzz-cpp and ROOST_LONG=1 make others each time.
is_long || seed=7
# In the short form the compiler takes a quarter less: undefined behaviour traps, and memory is checked by calls.
[ -z "$sanitized" ] || ! has g++ || hostile_under_sanitizers 2 $(is_long && echo -g1 || echo -fsanitize-undefined-trap-on-error --param asan-instrumentation-with-call-threshold=0)

# ---- the header and its unit tests --------------------------------------------------------------------------------------------

units() { # compiler, options of the file with the tests, options of the one elsewhere
    local compile="$1 $warnings -Iinclude -c tests/unit/test_cpp.cpp"
    check "$1: the unit tests build with $2, and $3 elsewhere" sh -c "$compile $2 -o '$folder/unit.o' && $compile -DELSEWHERE $3 -o '$folder/elsewhere.o' &&
        $1 '$folder/unit.o' '$folder/elsewhere.o' '$plain' -lm -pthread -o '$folder/unit'"
    "$folder/unit" || fail=1
}
reads() { # compiler, options
    # -include: clang warns of a header that is the main file
    check "$1 $2 reads roost.hpp" $1 $2 $warnings -Iinclude -fsyntax-only -include roost.hpp -x c++ /dev/null
}
macros() { # of a file, sorted
    $compiler -std=c++17 -Iinclude -dM -E "$1" | cut -d' ' -f2 | cut -d'(' -f1 | LC_ALL=C sort
}
more_macros() { LC_ALL=C comm -13 <(macros "$folder/standard.cpp") <(macros "$folder/header.cpp") | grep -v '^ROOST_' | { ! grep .; }; }
printf '#include <roost.hpp>\n' >"$folder/header.cpp"
# They are in the way of a header that calls std::min(a, b), or has members of these names.
printf '#define min(a, b) ((a) < (b) ? (a) : (b))\n#define max(a, b) ((a) > (b) ? (a) : (b))\n' >"$folder/foreign.h"
printf '#define slots\n#define signals public\n#define emit\n#define foreach for\n#define near\n#define far\n#define small char\n' >>"$folder/foreign.h"
sed -n 's/^#include </&/p' include/roost.hpp include/roost/*.h include/roost/*.hpp >"$folder/standard.cpp"

for compiler in g++ clang++; do
    has $compiler || { echo "skipped: there is no $compiler"; continue; }
    check "$compiler: no macros but ROOST_*" more_macros
    cat "$folder/standard.cpp" "$folder/foreign.h" "$folder/header.cpp" >"$folder/foreign.cpp"
    check "$compiler: roost.hpp behind the macros of windows.h and Qt" $compiler -std=c++17 $warnings -Iinclude -fsyntax-only "$folder/foreign.cpp"
    ! is_long || for standard in c++17 c++20 c++2b; do
        for options in "" -fno-exceptions -fno-rtti; do reads $compiler "-std=$standard $options"; done
    done
done
# clang 14 does not read the ranges of gcc's library: there C++20 is the header alone. -Weffc++ of clang is another thing.
! has g++ || units g++ -std=c++17 "-std=c++20 -fno-exceptions -Weffc++"
! has clang++ || { units clang++ "-std=c++17 -fno-exceptions -fno-rtti" -std=c++17; reads clang++ -std=c++20; }
is_long || exit $fail
! has g++ || units g++ -std=c++20 -std=c++2b
! has clang++ || units clang++ -std=c++17 "-std=c++17 -fno-exceptions"
exit $fail
