#!/bin/sh
# Configures and builds jemalloc out of tree, and puts libseam_je.a and seam_je.h into OUTDIR.
# build_private.sh SOURCEDIR OUTDIR COMPILER...
# Where SEAM_CACHE names a folder, a finished build is kept there and reused by other build directories.
set -eu
source_dir=$1
out_dir=$(cd "$2" && pwd)
shift 2

# Not by compiler: any C compiler's library serves the others of the same target.
key=$( { cat "$0"; "$@" -dumpmachine; } | cksum | tr -d ' ')
cached=${SEAM_CACHE:+$SEAM_CACHE/jemalloc-$key}
if [ -n "$cached" ] && [ -f "$cached/libseam_je.a" ] && [ -f "$cached/seam_je.h" ]; then
	cp "$cached/libseam_je.a" "$cached/seam_je.h" "$out_dir"
	exit 0
fi

work=$out_dir/work
log=$out_dir/build.log
rm -rf "$work"
mkdir -p "$work"
cd "$work"
# oversize_threshold:0: arrays of 8 MiB and more, which planning makes again and again, do not go back to the system at
# each free.
# -g0: jemalloc asks for -g3, which makes an archive of 40 MB out of one of 1 MB.
if ! { "$source_dir/configure" CC="$*" CFLAGS="-O2 -g0 -fPIC -fvisibility=hidden" \
	--with-jemalloc-prefix=seam_je_ --with-private-namespace=seam_je_private_ \
	--with-malloc-conf=narenas:1,background_thread:false,oversize_threshold:0 \
	--disable-initial-exec-tls --disable-cxx --disable-shared --disable-prof --disable-doc --disable-libdl &&
	make -j"$(nproc)" lib/libjemalloc_pic.a include/jemalloc/jemalloc.h; } >"$log" 2>&1 </dev/null; then
	tail -20 "$log" >&2
	echo "jemalloc did not build; see $log (or set up with -Dmetadata=libc)" >&2
	exit 1
fi
cp lib/libjemalloc_pic.a "$out_dir/libseam_je.a"
cp include/jemalloc/jemalloc.h "$out_dir/seam_je.h"
cd "$out_dir"
rm -rf "$work"
if [ -n "$cached" ]; then
	# By way of a folder of its own, so that two builds at once never see half a copy.
	mkdir -p "$SEAM_CACHE"
	part=$(mktemp -d "$SEAM_CACHE/part.XXXXXX")
	cp libseam_je.a seam_je.h "$part"
	mv -T "$part" "$cached" 2>/dev/null || rm -rf "$part"
fi
