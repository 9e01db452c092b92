#!/bin/sh
# exports.sh list|map OUTPUT HEADER...: the functions that the public headers declare with SEAM_API: their names, one a
# line, or a version script for the linker that exports exactly them. The headers are the one table of what is public.
set -eu
form=$1
output=$2
shift 2
names=$(sed -n 's/^SEAM_API [^(]*[ *]\(seam_[a-z0-9_]*\)(.*/\1/p' "$@" | LC_ALL=C sort)
if [ "$form" = list ]; then
	printf '%s\n' "$names" >"$output"
else
	{
		echo 'SEAM_0 {'
		echo 'global:'
		printf '%s\n' "$names" | sed 's/.*/\t&;/'
		echo 'local:'
		printf '\t*;\n};\n'
	} >"$output"
fi
