# `make install` into an empty folder gives all that a user of the library needs, and the examples build against it and run:
# with pkg-config and with CMake, shared and static, in C and in C++.
set -u
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
    for compiler in $([ -n "$how" ] || echo g++ clang++); do # tests/languages links C++ with the archive
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

if command -v cmake >/dev/null; then
    check "CMake finds it, and builds the examples" sh -c "cmake -S examples/cmake -B '$root/cmake' -DCMAKE_PREFIX_PATH='$root/usr/local' && cmake --build '$root/cmake'"
    for program in two_replicas two_replicas_static; do
        check "$program of CMake runs" sh -c "'$root/cmake/$program' | grep -qx 'swift 1, martin 1, heron 0'"
    done
    check "replicas of CMake runs" sh -c "'$root/cmake/replicas' >'$root/printed' && printf '$replicas' | diff - '$root/printed'"
    check "the static one needs no shared library" sh -c "! readelf -d '$root/cmake/two_replicas_static' | grep libroost"
    finds() { # version, then what CMake is to say
        printf 'cmake_minimum_required(VERSION 3.16)\nproject(versions C)\nfind_package(roost %s QUIET)\nmessage("found ${roost_FOUND}")\n' "$1" >"$root/CMakeLists.txt"
        check "find_package(roost $1) is $2" sh -c "cmake -U roost_DIR -S '$root' -B '$root/versions' -DCMAKE_PREFIX_PATH='$root/usr/local' 2>&1 | grep -qix 'found $2'"
    }
    series=$(pkg-config --modversion roost | cut -d. -f1,2)
    finds "" 1; finds "$series" 1; finds "$series.0 EXACT" 1; finds "$series...<1" 1; finds 0.0 0; finds 0.99 0; finds 1.0 0
else
    echo "skipped: there is no cmake"
fi
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    reads="$compiler -Wall -Wextra -Werror -I$root/usr/local/include -fsyntax-only"
    # -include: clang warns of a header that is the main file
    check "$compiler: roost.hpp does without exceptions" $reads -std=c++17 -fno-exceptions -include roost.hpp -x c++ /dev/null
    check "$compiler: C++20 reads it" $reads -std=c++20 examples/replicas.cpp
done
if command -v g++ >/dev/null; then
    block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } $0 == "```" { on = 0 } on' docs/api.md; }
    { printf '#include <iostream>\n#include <roost.hpp>\nint main()\n{\n'; block cpp; echo '}'; } >"$root/page.cpp"
    check "the C++ of docs/api.md builds and runs" sh -c "g++ -std=c++17 -Wall -Wextra -Werror -I'$root/usr/local/include' '$root/page.cpp' '$lib/libroost.a' -lm -o '$root/page' && '$root/page'"
    { printf 'cmake_minimum_required(VERSION 3.16)\nproject(page CXX)\nadd_executable(program page.cpp)\ntarget_compile_features(program PRIVATE cxx_std_17)\n'; block cmake; } >"$root/CMakeLists.txt"
    check "and so does its CMake" sh -c "command -v cmake >/dev/null || exit 0
        cmake -S '$root' -B '$root/page-build' -DCMAKE_PREFIX_PATH='$root/usr/local' && cmake --build '$root/page-build' && '$root/page-build/program'"
    printf '#include <roost.hpp>\nint main() { auto f = roost::Filter::create(10); f->add("x"); }\n' >"$root/ignored.cpp"
    check "a result that nobody looks at is a warning" sh -c "! g++ -std=c++17 -Werror=unused-result -I'$root/usr/local/include' -fsyntax-only '$root/ignored.cpp' 2>/dev/null"
fi
check "has completions" test -f "$root/usr/local/share/bash-completion/completions/roost"
export CMAKE_PREFIX_PATH=$root/usr/local LD_LIBRARY_PATH=$lib
without=
command -v cmake >/dev/null && [ -d "$lib/cmake" ] || without="--without=CMake"
command -v c++ >/dev/null && [ -f "$root/usr/local/include/roost.hpp" ] || without="$without --without=C++"
check "docs/embed.md does what it says" tests/pages $without docs/embed.md
case $without in *C++) ;; *) check "docs/cpp.md does what it says" tests/pages docs/cpp.md ;; esac
installs() { # folder, what it is, then the libraries that are installed from it
    check "$2 installs $3" sh -c "meson introspect --installed '$1' | grep -oE 'libroost\.[a-z]+' | sort -u | xargs | grep -qx '$3'"
}
check "sets up a static library without servers" meson setup "$root/static" -Ddefault_library=static -Dservers=disabled -Dtests=false
check "sets up a shared library" meson setup "$root/shared" -Ddefault_library=shared -Dtests=false
installs "$root/static" -Ddefault_library=static libroost.a
installs "$root/shared" -Ddefault_library=shared libroost.so
installs build "make install" 'libroost.a libroost.so'
check "-Dservers=disabled installs no unit" sh -c "! meson introspect --installed '$root/static' | grep roost-link"
check "make dist without git says so" sh -c "mkdir -p '$root/nothing' && cp Makefile meson.build '$root/nothing' && ! make -C '$root/nothing' dist >'$root/printed' 2>&1 && grep -q 'needs a clone with git' '$root/printed'"
mkdir -p "$root/project/subprojects" && ln -s "$PWD" "$root/project/subprojects/roost"
printf "project('birds', 'c')\nexecutable('birds', 'two_replicas.c', dependencies: dependency('roost'))\n" >"$root/project/meson.build"
cp examples/two_replicas.c "$root/project"
check "Meson finds it as a subproject, without its tests" sh -c "unset PKG_CONFIG_PATH CMAKE_PREFIX_PATH
    meson setup '$root/project/build' '$root/project' | grep 'Dependency roost found: YES.*overridden' &&
    ninja -C '$root/project/build' -n birds | grep -q 'subprojects/roost/src/archive' && meson introspect --tests '$root/project/build' | grep -qx '\[\]'"
check "does not uninstall what was installed elsewhere" sh -c "! make --no-print-directory uninstall DESTDIR='$root/elsewhere' | grep -v 'the last make install was not to' && test -f '$lib/libroost.a'"
check "uninstalls" make --no-print-directory uninstall DESTDIR="$root"
check "and leaves no file behind" sh -c "! find '$root/usr' -type f | grep ."
exit $fail
