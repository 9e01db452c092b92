#!/bin/sh
# headers_alone.sh ROOT CC [CXX]: each public header compiles with nothing before it, as C11 and as C++17, as TAP.
set -u
root=$1
cc=$2
cxx=${3:-}
count=0
failed=0

compile() {
	what=$1
	shift
	count=$((count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		printf '%s\n' "$output" | sed 's/^/# /'
		failed=1
	fi
}

for header in "$root"/include/seam/*.h; do
	name=$(basename "$header")
	compile "$name as C11" $cc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only \
		-I "$root/include" -include "seam/$name" -x c /dev/null
	if [ -n "$cxx" ]; then
		compile "$name as C++17" $cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
			-I "$root/include" -include "seam/$name" -x c++ /dev/null
	else
		count=$((count + 1))
		echo "ok $count - $name as C++17 # SKIP no C++ compiler"
	fi
done
echo "1..$count"
exit $failed
