#!/bin/sh
# Builds the release libraries and installs what C and C++ programs need:
#
#     packaging/install.sh PREFIX [DESTDIR]
#     LIBDIR=lib64 packaging/install.sh PREFIX [DESTDIR]      libraries elsewhere below PREFIX than in lib
#
#     PREFIX/include/anyhost.h, anyhost.hpp
#     PREFIX/lib/libanyhost.so.0.x.y, with its links, and libanyhost.a
#     PREFIX/lib/pkgconfig/anyhost.pc
#     PREFIX/share/cmake/anyhost/
#     PREFIX/share/anyhost/anyhost.cdef     the declarations alone, for LuaJIT and cffi
#
# The tree holds no path of this machine and may be moved. Needs cargo, and strip if it is there. A tree
# of the same files comes from `cargo cinstall` (cargo-c), which also knows systems beside Linux.
set -eu

usage() {
    echo "usage: $0 PREFIX [DESTDIR]" >&2
    exit 2
}

[ $# -eq 1 ] || [ $# -eq 2 ] || usage
case $1 in /*) ;; *) echo "PREFIX has to be an absolute path" >&2; usage ;; esac
libdir=${LIBDIR:-lib}
case $libdir in
/* | *..*) echo "LIBDIR has to be a folder below PREFIX, like lib64" >&2; usage ;;
esac
if [ "$(uname -s)" != Linux ]; then
    echo "this script knows Linux; elsewhere use cargo cinstall" >&2
    exit 1
fi

root=$(cd "$(dirname "$0")/.." && pwd)
tree=${2:-}$1
target=${CARGO_TARGET_DIR:-$root/target}

# macro NAME: a number of the header.
macro() {
    sed -n "s/^#define ANYHOST_$1 \([0-9][0-9]*\)\$/\1/p" "$root/include/anyhost.h"
}
abi=$(macro ABI)
version=$(macro VERSION_MAJOR).$(macro VERSION_MINOR).$(macro VERSION_PATCH)
file=libanyhost.so.$abi.$(macro VERSION_MINOR).$(macro VERSION_PATCH)

# With the Rust library among the crate types, cargo would skip link-time optimisation. The texts of
# panics have the paths of sources, which are not to be those of this machine; RUSTFLAGS of the caller's
# go before that.
(cd "$root" && cargo rustc --locked --release --lib --crate-type cdylib,staticlib \
    --target-dir "$target" --config "build.rustflags=[
        \"--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo\", \"--remap-path-prefix=$root=/anyhost\"]")

install -d "$tree/include" "$tree/$libdir/pkgconfig" "$tree/share/cmake/anyhost" "$tree/share/anyhost"
install -m 644 "$root/include/anyhost.h" "$root/include/anyhost.hpp" "$tree/include"
install -m 644 "$root/include/anyhost.cdef" "$tree/share/anyhost"
install -m 644 "$root"/packaging/cmake/*.cmake "$tree/share/cmake/anyhost"
install -m 755 "$target/release/libanyhost.so" "$tree/$libdir/$file"
ln -sf "$file" "$tree/$libdir/libanyhost.so.$abi"
ln -sf "libanyhost.so.$abi" "$tree/$libdir/libanyhost.so"
install -m 644 "$target/release/libanyhost.a" "$tree/$libdir"
# Debug information of the standard library, most of the file.
if command -v strip >/dev/null; then strip -S "$tree/$libdir/libanyhost.a"; fi
up=$(echo "$libdir/pkgconfig" | sed 's,[^/][^/]*,..,g')
sed -e "s,@UP@,$up," -e "s,@LIBDIR@,$libdir," -e "s/@VERSION@/$version/" \
    -e "s/@STATIC_LIBRARIES@/-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc/" \
    "$root/packaging/anyhost.pc.in" >"$tree/$libdir/pkgconfig/anyhost.pc"

echo "anyhost $version is in $tree"
[ -z "${2:-}" ] || exit 0
# What a person asks next.
echo "to build:  cc app.c \$(PKG_CONFIG_PATH=$tree/$libdir/pkgconfig pkg-config --cflags --libs anyhost) -o app"
echo "to run:    ldconfig, as root, if the loader looks into $tree/$libdir; else LD_LIBRARY_PATH=$tree/$libdir ./app,"
echo "           or link with -Wl,-rpath,$tree/$libdir"
