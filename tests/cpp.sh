# roost.hpp with gcc and clang, as C++17 and C++20, with and without exceptions and run-time types, with the warnings that libraries
# are read with; its unit tests, in two files of one program; and the hostile calls, under sanitizers with gcc:
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
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Werror"

# Thin archives of objects: those of kernels for some processors are apart.
hostile_under_sanitizers() {
    check "g++: the hostile calls build under sanitizers" g++ -std=c++17 -g1 -Wall -Wextra -Wshadow -fsanitize=address,undefined -Iinclude \
        tests/property/hostile.cpp "$sanitized" -lm -o "$folder/hostile"
    [ "$fail" -eq 0 ] && "$folder/hostile" --seconds "$1" ${seed:+--seed $seed} || { fail=1; echo "not ok hostile calls under sanitizers"; }
}
if [ -n "$seconds" ]; then
    command -v g++ >/dev/null || { echo "roost: the hostile calls of C++ need g++"; exit 1; }
    hostile_under_sanitizers "$seconds"
    exit $fail
fi

for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { echo "skipped: there is no $compiler"; continue; }
    [ $compiler = clang++ ] || warnings="$warnings -Weffc++"
    for options in "-std=c++17" "-std=c++17 -fno-exceptions" "-std=c++20 -fno-rtti"; do
        # -include: clang warns of a header that is the main file
        check "$compiler $options reads roost.hpp" $compiler $options $warnings -Iinclude -fsyntax-only -include roost.hpp -x c++ /dev/null
    done
    warnings=${warnings% -Weffc++}
    printf '#include <roost.hpp>\n' >"$folder/macros.cpp"
    check "$compiler: no macros but ROOST_*" sh -c "$compiler -std=c++17 -Iinclude -dM -E '$folder/macros.cpp' | cut -d' ' -f2 | cut -d'(' -f1 | sort >'$folder/with'
        sed -n 's/^#include </&/p' include/roost.hpp include/roost/*.h include/roost/*.hpp | cut -d: -f2 >'$folder/standard.cpp'
        $compiler -std=c++17 -dM -E '$folder/standard.cpp' | cut -d' ' -f2 | cut -d'(' -f1 | sort | comm -13 - '$folder/with' | grep -v '^ROOST_' | { ! grep .; }"
    # One file without exceptions, one with.
    standard=$([ $compiler = g++ ] && echo c++20 || echo c++17) # clang 14 does not read the ranges of gcc's library
    unit="$compiler -Wall -Wextra -Wpedantic -Wshadow -Werror -Iinclude -c tests/unit/test_cpp.cpp"
    check "$compiler: the unit tests build" sh -c "$unit -std=$standard -o '$folder/unit.o' && $unit -std=c++17 -fno-exceptions -DELSEWHERE -o '$folder/elsewhere.o' &&
        $compiler '$folder/unit.o' '$folder/elsewhere.o' '$plain' -lm -pthread -o '$folder/unit'"
    "$folder/unit" || fail=1
done
if command -v clang++ >/dev/null; then
    check "clang++: the unit tests build without exceptions" clang++ -std=c++17 -fno-exceptions -fno-rtti -Iinclude -Wall -Wextra -Werror -fsyntax-only tests/unit/test_cpp.cpp
    check "clang++: the hostile calls build" clang++ -std=c++17 -Wall -Wextra -Wshadow -Werror -Iinclude tests/property/hostile.cpp "$plain" -lm -pthread -o "$folder/hostile"
    "$folder/hostile" --seconds 2 || { fail=1; echo "not ok hostile calls"; }
fi
[ -z "$sanitized" ] || ! command -v g++ >/dev/null || hostile_under_sanitizers 3
exit $fail
