# `make install` into an empty folder gives all that a user of the library needs, and the examples build against it and run:
# with pkg-config and with CMake, shared and static, in C and in C++. With ROOST_LONG=1 every program is compiled in every way, and
# the library is also installed below another prefix; the short form compiles each in one way, and C++ pages with a precompiled header.
set -u
is_long() { [ -n "${ROOST_LONG-}" ]; }
fail=0
check() { # description, command
    local what=$1; shift
    if "$@" >/tmp/roost-install.$$ 2>&1; then echo "ok $what"; else echo "not ok $what"; cat /tmp/roost-install.$$; fail=1; fi
}
root=$(mktemp -d)
trap 'rm -rf "$root" /tmp/roost-install.$$' EXIT
check "installs" make --no-print-directory install DESTDIR="$root"
lib=$root/usr/local/lib
for file in usr/local/include/roost.h usr/local/include/roost.hpp usr/local/include/roost/result.hpp $(cd include && printf 'usr/local/include/%s ' roost/*.h) usr/local/bin/roost \
    usr/local/share/man/man1/roost.1 usr/local/lib/libroost.a usr/local/lib/pkgconfig/roost.pc usr/local/lib/cmake/roost/roost-config.cmake; do
    case $file in
    */evaluation.h) check "leaves $file out" test ! -e "$root/$file" ;;
    *) check "has $file" test -f "$root/$file" ;;
    esac
done
unit=$lib/systemd/system/roost-link.service
check "has the unit, which starts what was installed" grep -q '^ExecStart=/usr/local/bin/roost link ' "$unit"
check "and which stays down where settings are wrong" sh -c "'$root/usr/local/bin/roost' link; grep -qx RestartPreventExitStatus=\$? '$unit'"
check "which systemd understands" sh -c "! command -v systemd-analyze >/dev/null || sed 's,=/usr/local/bin/roost,=$root/usr/local/bin/roost,' '$unit' >'$root/roost-link.service' &&
    ! systemd-analyze verify --man=no '$root/roost-link.service' 2>&1 | grep 'roost-link.service:[0-9]'"
[ ! -f build/roost.so ] || check "has the module" test -f "$lib/roost/roost.so"
check "has a shared library" test -e "$lib/libroost.so"
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
check "pkg-config knows it, and asks for nothing else" sh -c "pkg-config --exists roost && ! pkg-config --print-requires-private roost | grep ."
replicas='swift 1, martin 1, heron 0\nequal after the sync: 1 1\nonly here: martin\nonly there: stork\nseen 0, then 1; an hour later 0\ncounted once: 5\n'
for how in "" --static; do
    # the static build does not use the shared library
    archive=; [ -z "$how" ] || archive="-Wl,-Bstatic -lroost -Wl,-Bdynamic"
    flags=$(pkg-config $how --cflags --libs roost)
    build_example() { # compiler with options, source, then the output expected and, optionally, its input
        check "$2 builds with ${1%% *}, ${how:-shared}" sh -c "$1 -Wall -Wextra -Werror examples/$2 -o '$root/example' -L'$lib' $archive $flags -lm"
        check "and runs" sh -c "printf '${4-}' | LD_LIBRARY_PATH='$lib' '$root/example' >'$root/printed' && printf '$3' | diff - '$root/printed'"
    }
    build_example "cc -std=c17" two_replicas.c 'swift 1, martin 1, heron 0\n'
    build_example cc window_dedup.c 'a\nb\n' 'a\nb\na\n'
    build_example cc reconcile_pipe.c 'only at the responder: 17\nonly at the initiator: 4242\n'
    build_example cc sync_socket.c 'responder: swift 1, martin 1, heron 0 (fine)\nsynced in 2 rounds, equal: yes\ninitiator: swift 1, martin 1, heron 0 (fine)\n'
    for compiler in $([ -n "$how" ] || { echo clang++; ! is_long && command -v cmake >/dev/null || echo g++; }); do # CMake calls g++; tests/languages links C++ with the archive
        command -v $compiler >/dev/null || { echo "skipped: there is no $compiler"; continue; }
        build_example "$compiler -std=c++17 -Wshadow -Wpedantic" replicas.cpp "$replicas"
    done
    # A program and the library write the same file in turn, and after the first sync there is a replica section in it.
    check "the example with a file builds ${how:-shared}" sh -c "cc -Wall -Werror examples/filter_file.c -o '$root/example' -L'$lib' $archive $flags -lm"
    check "reads what the program wrote, and the program what it wrote" sh -ec "
        cd '$root' && rm -f seen peer && export LD_LIBRARY_PATH='$lib' PATH='$root/usr/local/bin:$PATH'
        ./example seen swift && roost add seen martin && roost sync -q seen peer && ./example seen heron && roost sync -q seen peer
        test \$(roost check -c peer swift martin heron) = 3 && test \$(roost info --json seen | grep -c '\"peers\": *1') = 1"
done
tests/symbols "$lib" || fail=1
echo 'int read_bytes = 1, make_room = 2; extern int main_of_example(void); int main(void) { return main_of_example() || read_bytes + make_room != 3; }' >"$root/names.c"
check "a static link does not collide with names of the caller" sh -c "cc -Dmain=main_of_example -c examples/two_replicas.c -I'$root/usr/local/include' -o '$root/example.o' &&
    cc '$root/names.c' '$root/example.o' '$lib/libroost.a' -lm -o '$root/names' && '$root/names' | grep -qx 'swift 1, martin 1, heron 0'"
check "the shared library has its soname" sh -c "readelf -d '$lib/libroost.so' | grep -q 'SONAME.*\[libroost.so.0\]'"

# ---- CMake, and what C++ compilers say of the headers -------------------------------------------------------------------

block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } $0 == "```" { on = 0 } on' docs/api.md; }
{ printf '#include <iostream>\n#include <roost.hpp>\nint main()\n{\n'; block cpp; echo '}'; } >"$root/page.cpp"
if command -v cmake >/dev/null; then
    # One project with that of docs/api.md and the examples in it: what takes longest is that CMake looks at the compilers.
    mkdir "$root/both" && cp "$root/page.cpp" "$root/both"
    { printf 'cmake_minimum_required(VERSION 3.16)\nproject(page CXX)\nadd_executable(program page.cpp)\ntarget_compile_features(program PRIVATE cxx_std_17)\n'; block cmake
        echo "add_subdirectory($PWD/examples/cmake examples)"; } >"$root/both/CMakeLists.txt"
    check "CMake finds it, and builds the examples and the C++ of docs/api.md" sh -c "cmake -S '$root/both' -B '$root/cmake' -DCMAKE_PREFIX_PATH='$root/usr/local' \
        -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror -Wshadow -Wpedantic' && cmake --build '$root/cmake'"
    for program in two_replicas two_replicas_static; do
        check "$program of CMake runs" sh -c "'$root/cmake/examples/$program' | grep -qx 'swift 1, martin 1, heron 0'"
    done
    check "replicas of CMake runs" sh -c "'$root/cmake/examples/replicas' >'$root/printed' && printf '$replicas' | diff - '$root/printed'"
    check "the C++ of docs/api.md runs" "$root/cmake/program"
    check "the static one needs no shared library" sh -c "! readelf -d '$root/cmake/examples/two_replicas_static' | grep libroost"
    ! is_long || check "the examples alone are a project, too" sh -c "cmake -S examples/cmake -B '$root/alone' -DCMAKE_PREFIX_PATH='$root/usr/local' && cmake --build '$root/alone'"
    # Each in a folder of its own, whose imported targets are not those of the others.
    mkdir "$root/versions"
    printf 'cmake_minimum_required(VERSION 3.16)\nproject(versions NONE)\n' >"$root/versions/CMakeLists.txt"
    asked=0
    asks() { # the prefixes to look in, then the arguments of find_package: CMake says what it finds
        asked=$((asked + 1)); mkdir "$root/versions/$asked"; echo "add_subdirectory($asked)" >>"$root/versions/CMakeLists.txt"
        printf 'set(CMAKE_LIBRARY_ARCHITECTURE .)\nset(CMAKE_PREFIX_PATH "%s")\nunset(roost_DIR CACHE)\nfind_package(%s QUIET)\n' "$1" "$2" >"$root/versions/$asked/CMakeLists.txt"
        printf 'set(headers "")\nif(TARGET roost::roost)\n  get_target_property(headers roost::roost INTERFACE_INCLUDE_DIRECTORIES)\nendif()\nmessage("%s: ${roost_FOUND} ${headers}")\n' "$2 in $1" >>"$root/versions/$asked/CMakeLists.txt"
    }
    finds() { check "find_package($2)${4:+ $4} is $3" grep -qix "$2 in $1: $3 *${5-.*}" "$root/found"; } # prefixes, arguments, 0 or 1, where, folder of the headers
    series=$(pkg-config --modversion roost | cut -d. -f1,2)
    # /lib may be a link to /usr/lib, and a distribution may have headers that are no neighbours of its libraries.
    mkdir "$root/merged" && ln -s ../usr/local/lib "$root/merged/lib"
    for version in "" " $series" " $series.0 EXACT" " $series...<1" " 0.0" " 0.99" " 1.0"; do asks "$root/usr/local" "roost$version"; done
    asks "$root/merged" roost
    cmake -S "$root/versions" -B "$root/versions/build" >"$root/found" 2>&1
    for version in "" " $series" " $series.0 EXACT" " $series...<1"; do finds "$root/usr/local" "roost$version" 1 "" "$root/usr/local/include"; done
    for version in " 0.0" " 0.99" " 1.0"; do finds "$root/usr/local" "roost$version" 0; done
    finds "$root/merged" roost 1 "by way of a link to lib" "$root/usr/local/include"
else
    echo "skipped: there is no cmake"
fi
for compiler in $(! is_long || echo g++ clang++); do # tests/cpp.sh has the combinations
    command -v $compiler >/dev/null || continue
    reads="$compiler -Wall -Wextra -Werror -I$root/usr/local/include -fsyntax-only"
    # -include: clang warns of a header that is the main file
    check "$compiler: roost.hpp does without exceptions" $reads -std=c++17 -fno-exceptions -include roost.hpp -x c++ /dev/null
    check "$compiler: C++20 reads it" $reads -std=c++20 examples/replicas.cpp
done
if command -v g++ >/dev/null; then
    # What all programs of docs/cpp.md begin with, compiled once; g++ takes it where the other options are the same.
    mkdir "$root/precompiled" "$root/bin"
    printf '#include <iostream>\n#include <roost.hpp>\n' >"$root/precompiled/page.hpp"
    check "g++ precompiles roost.hpp" g++ -std=c++17 -Wall -Wextra -Werror -I"$root/usr/local/include" -x c++-header "$root/precompiled/page.hpp" -o "$root/precompiled/page.hpp.gch"
    printf '#!/bin/sh\nexec g++ -include "%s" "$@"\n' "$root/precompiled/page.hpp" >"$root/bin/c++" && chmod +x "$root/bin/c++"
    ! is_long || check "the C++ of docs/api.md builds without CMake" sh -c "g++ -std=c++17 -Wall -Wextra -Werror -I'$root/usr/local/include' '$root/page.cpp' '$lib/libroost.a' -lm -o '$root/page' && '$root/page'"
    printf '#include <roost.hpp>\nint main() { auto f = roost::Filter::create(10); f->add("x"); }\n' >"$root/ignored.cpp"
    check "a result that nobody looks at is a warning" sh -c "! '$root/bin/c++' -std=c++17 -Werror=unused-result -I'$root/usr/local/include' -fsyntax-only '$root/ignored.cpp' 2>'$root/printed' && grep -q unused-result '$root/printed'"
fi
check "has completions" test -f "$root/usr/local/share/bash-completion/completions/roost"
export CMAKE_PREFIX_PATH=$root/usr/local LD_LIBRARY_PATH=$lib
without=
command -v cmake >/dev/null && [ -d "$lib/cmake" ] || without="--without=CMake"
command -v c++ >/dev/null && [ -f "$root/usr/local/include/roost.hpp" ] || without="$without --without=C++"
reader=$PATH # who compiles each program by itself
is_long || reader=$root/bin:$PATH
check "docs/embed.md does what it says" env PATH="$reader" tests/pages $without docs/embed.md
case $without in *C++) ;; *) check "docs/cpp.md does what it says" env PATH="$reader" tests/pages docs/cpp.md ;; esac
installs() { # folder, what it is, then the libraries that are installed from it
    check "$2 installs $3" sh -c "grep -oE 'libroost\.[a-z]+' '$1/meson-info/intro-installed.json' | sort -u | xargs | grep -qx '$3'"
}
check "sets up a static library without servers" meson setup "$root/static" -Ddefault_library=static -Dservers=disabled -Dtests=false
installs "$root/static" -Ddefault_library=static libroost.a
installs build "make install" 'libroost.a libroost.so'
check "-Dservers=disabled installs no unit" sh -c "! grep roost-link '$root/static/meson-info/intro-installed.json'"
check "make dist without git says so" sh -c "mkdir -p '$root/nothing' && cp Makefile meson.build '$root/nothing' && ! make -C '$root/nothing' dist >'$root/printed' 2>&1 && grep -q 'needs a clone with git' '$root/printed'"
mkdir -p "$root/project/subprojects" && ln -s "$PWD" "$root/project/subprojects/roost"
printf "project('birds', 'c')\nexecutable('birds', 'two_replicas.c', dependencies: dependency('roost'))\n" >"$root/project/meson.build"
cp examples/two_replicas.c "$root/project"
check "Meson finds it as a subproject, without its tests" sh -c "unset PKG_CONFIG_PATH CMAKE_PREFIX_PATH
    meson setup '$root/project/build' '$root/project' $(is_long || echo -Droost:default_library=shared) | grep 'Dependency roost found: YES.*overridden' &&
    ninja -C '$root/project/build' -n birds | grep -q 'subprojects/roost/src/archive' && grep -qx '\[\]' '$root/project/build/meson-info/intro-tests.json'"
if is_long; then
    check "sets up a shared library" meson setup "$root/shared" -Ddefault_library=shared -Dtests=false
    installs "$root/shared" -Ddefault_library=shared libroost.so
    # Another prefix, with a space in it, as DESTDIR is not used.
    other="$root/another place"
    unset PKG_CONFIG_SYSROOT_DIR
    check "installs below another prefix" make --no-print-directory install install_folder="$root/other" PREFIX="$other/"
    check "where pkg-config finds it" sh -c "export PKG_CONFIG_PATH='$other/lib/pkgconfig' LD_LIBRARY_PATH='$other/lib'
        eval cc examples/two_replicas.c -o '$root/example' \$(pkg-config --cflags --libs roost) && '$root/example' | grep -qx 'swift 1, martin 1, heron 0'"
    check "and CMake" sh -c "unset LD_LIBRARY_PATH; cmake -S examples/cmake -B '$root/cmake-other' -DCMAKE_PREFIX_PATH='$other' && cmake --build '$root/cmake-other' &&
        '$root/cmake-other/two_replicas' | grep -qx 'swift 1, martin 1, heron 0' && ldd '$root/cmake-other/two_replicas' | grep -F '$other/lib/libroost.so.0'"
    check "the program there runs" "$other/bin/roost" --version
    check "systemd finds it" sh -c "! command -v systemd-analyze >/dev/null ||
        ! systemd-analyze verify --man=no '$other/lib/systemd/system/roost-link.service' 2>&1 | grep -E 'roost-link.service:[0-9]|executable'"
    check "uninstalls from another prefix" make --no-print-directory uninstall install_folder="$root/other" PREFIX="$other"
    check "and leaves no file there" sh -c "! find '$other' -type f -o -type l | grep ."
else
    installs "$root/project/build" "a subproject with -Ddefault_library=shared" libroost.so
fi
check "does not uninstall what was installed elsewhere" sh -c "! make --no-print-directory uninstall DESTDIR='$root/elsewhere' | grep -v 'the last make install was not to' && test -f '$lib/libroost.a'"
check "uninstalls, also from a prefix that ends with a slash" make --no-print-directory uninstall PREFIX=/usr/local/ DESTDIR="$root"
check "and leaves no file behind" sh -c "! find '$root/usr' -type f | grep ."
near=$(realpath --relative-to=. "$root")/'a [place]'/
check "installs below a relative DESTDIR" make --no-print-directory install DESTDIR="$near"
check "which is one of the folder of make" test -f "$root/a [place]/usr/local/lib/libroost.a"
check "uninstalls from there" make --no-print-directory uninstall DESTDIR="$near"
check "and leaves nothing there" sh -c "! find '$root/a [place]' -mindepth 1 | grep ."
check "a relative PREFIX is refused" sh -c "! make --no-print-directory install PREFIX=place DESTDIR='$root' >'$root/printed' && grep -q 'PREFIX=place: must be an absolute path' '$root/printed'"
check "PREFIX=/ is not the default" sh -c "make -n install PREFIX=/ | grep -- '--prefix \"/\"'"
exit $fail
