#!/bin/sh
# archive.sh OUTPUT NAMES AR OBJCOPY COMPILER... -- ARCHIVE...: one static library out of several.
# Everything is linked into one object in which only the symbols of NAMES stay global: a program that links libseam.a
# sees none of Seam's internals and none of its jemalloc.
set -eu
output=$1
names=$2
ar=$3
objcopy=$4
shift 4
compiler=
while [ "$1" != -- ]; do
	compiler="$compiler $1"
	shift
done
shift
object=$output.seam.o
# shellcheck disable=SC2086 # a compiler may come with arguments
$compiler -r -nostdlib -Wl,--whole-archive "$@" -Wl,--no-whole-archive -o "$object"
"$objcopy" --keep-global-symbols="$names" "$object"
rm -f "$output"
"$ar" rcs "$output" "$object"
rm -f "$object"
