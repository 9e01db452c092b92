#!/bin/sh
# installed.sh BUILD CONSUMER README PREFIX CC [CXX]: `meson install` into an empty folder gives what a program needs: it
# compiles with what pkg-config says or as CMake finds it, links with either library, and runs; so does the program in the README. As TAP.
set -u
build=$1
consumer=$2
readme=$3
prefix=$4
cc=$5
cxx=${6:-}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
count=0
failed=0

report() {
	count=$((count + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		sed 's/^/# /' "$place/output"
		failed=1
	fi
}

meson install -C "$build" --no-rebuild --destdir "$place/root" >"$place/output" 2>&1
report 'meson install' $?

pc=$(find "$place/root" -name seam.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$place/root"
sed -n '/^```c$/,/^```$/{/^```/!p}' "$readme" >"$place/readme.c"
# A prefix that pkg-config takes for the system's is left out of its answers; say where it is.
flags="-I$place/root$prefix/include $(pkg-config --cflags seam)"

# try WHAT COMPILER... -- LIBRARY...
try() {
	what=$1
	shift
	# shellcheck disable=SC2086 # flags are words
	"$@" -o "$place/consumer" >"$place/output" 2>&1 && SEAM_CONF=backend:emu LD_LIBRARY_PATH="$libdir" "$place/consumer" >>"$place/output" 2>&1
	report "$what" $?
}

# shellcheck disable=SC2046,SC2086 # flags are words
{
	try 'C, shared' $cc -std=c11 $flags "$consumer" -L"$libdir" $(pkg-config --libs seam)
	try 'C, static' $cc -std=c11 $flags "$consumer" "$libdir/libseam.a" $(pkg-config --static --libs-only-other seam) -lpthread
	try 'the program in the README' $cc -std=c11 -Wall -Wextra -Werror $flags "$place/readme.c" -L"$libdir" $(pkg-config --libs seam)
	if [ -n "$cxx" ]; then
		try 'the same in C++' $cxx -std=c++17 -Wall -Wextra -Werror $flags -x c++ "$place/readme.c" -x none -L"$libdir" $(pkg-config --libs seam)
		try 'C++, shared' $cxx -std=c++17 $flags -x c++ "$consumer" -x none -L"$libdir" $(pkg-config --libs seam)
	fi
}

# Out of another place than it was installed for.
cmake_finds() {
	mkdir -p "$place/cmake" && cat >"$place/cmake/CMakeLists.txt" <<-EOF
		cmake_minimum_required(VERSION 3.16)
		project(consumer C)
		find_package(seam 9.0 CONFIG QUIET)
		if(seam_FOUND)
		  message(FATAL_ERROR "version 9.0 is said to be there")
		endif()
		find_package(seam 0.1 CONFIG REQUIRED)
		find_package(seam CONFIG REQUIRED)
		foreach(kind seam seam_static)
		  add_executable(with_\${kind} $consumer)
		  target_link_libraries(with_\${kind} PRIVATE seam::\${kind})
		endforeach()
	EOF
	CC=$cc cmake -S "$place/cmake" -B "$place/cmake/build" -DCMAKE_PREFIX_PATH="$place/root$prefix" && cmake --build "$place/cmake/build" &&
		SEAM_CONF=backend:emu "$place/cmake/build/with_seam" && SEAM_CONF=backend:emu "$place/cmake/build/with_seam_static"
}
what='find_package(seam CONFIG), shared and static'
if command -v cmake >/dev/null 2>&1; then
	cmake_finds >"$place/output" 2>&1
	report "$what" $?
else
	count=$((count + 1))
	echo "ok $count - $what # SKIP cmake is not installed"
fi
echo "1..$count"
exit $failed
