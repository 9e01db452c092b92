#!/bin/sh
# symbols.sh EXPORTS SYMBOLS: the symbols file of the Debian package lists what the library exports, no more and no less. As TAP.
set -u
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
LC_ALL=C sort "$1" >"$place/exported"
sed -n 's/^ \(seam_[a-z0-9_]*\)@SEAM_0 .*/\1/p' "$2" | LC_ALL=C sort >"$place/listed"
echo 1..1
if [ -s "$place/exported" ] && diff "$place/exported" "$place/listed" >"$place/output"; then
	echo 'ok 1 - the symbols file lists what is exported'
else
	echo 'not ok 1 - the symbols file lists what is exported'
	sed 's/^/# /' "$place/output"
	exit 1
fi
