# `make install` into an empty folder gives all that a user of the library needs, and the example builds against it.
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
for file in usr/local/include/roost.h $(cd include && printf 'usr/local/include/%s ' roost/*.h) usr/local/bin/roost \
    usr/local/share/man/man1/roost.1 usr/local/lib/libroost.a usr/local/lib/pkgconfig/roost.pc; do
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
for how in "" --static; do
    # the static build does not use the shared library
    archive=; [ -z "$how" ] || archive="-Wl,-Bstatic -lroost -Wl,-Bdynamic"
    flags=$(pkg-config $how --cflags --libs roost)
    check "the example builds ${how:-shared}" sh -c "cc -Wall -Werror examples/two_replicas.c -o '$root/example' -L'$lib' $archive $flags -lm"
    check "and runs" sh -c "LD_LIBRARY_PATH='$lib' '$root/example' | grep -qx 'swift 1, martin 1, heron 0'"
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
check "a C++ program may include it" sh -c "! command -v g++ >/dev/null || echo '#include <roost.h>
int main() { return roost_version() == nullptr; }' | g++ -x c++ - -I'$root/usr/local/include' -L'$lib' -lroost -o '$root/cxx'"
check "has completions" test -f "$root/usr/local/share/bash-completion/completions/roost"
export CMAKE_PREFIX_PATH=$root/usr/local LD_LIBRARY_PATH=$lib
without=
command -v cmake >/dev/null && [ -d "$lib/cmake" ] || without="--without=CMake"
command -v c++ >/dev/null && [ -f "$root/usr/local/include/roost.hpp" ] || without="$without --without=C++"
check "docs/embed.md does what it says" tests/pages $without docs/embed.md
check "uninstalls" make --no-print-directory uninstall DESTDIR="$root"
check "and leaves no file behind" sh -c "! find '$root/usr' -type f | grep ."
exit $fail
