#!/bin/sh
# test_contents: what `seam replay` compares on a GPU: nothing, unless it is asked to. usage: test_contents.sh SEAM. TAP. The GPU is
# that of the fake driver.
set -u
seam=$(realpath "$1") || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset SEAM_CONF
printf 'id,lower,upper,size\na,0,5,3000000\nb,1,3,5000000\nc,2,4,100\n' >a.csv
number=0

# said NAME PATTERN OPTION...: a line with PATTERN, where it is not empty, and else none about contents
said() {
	number=$((number + 1))
	name=$1 pattern=$2
	shift 2
	if "$seam" replay --device cuda --allocator seam "$@" a.csv >out.txt 2>&1 && grep -q 'device: cuda' out.txt &&
		if [ -n "$pattern" ]; then grep -q "$pattern" out.txt; else ! grep -q '^contents' out.txt; fi; then
		echo "ok $number - $name"
	else
		sed 's/^/# /' out.txt
		echo "not ok $number - $name"
	fi
}

said 'nothing, unasked' ''
said 'all bytes' 'checked in full (7.63 MiB compared)' --memory real
said 'pages' 'first and last page of every 2 MiB' --memory pages
echo "1..$number"
