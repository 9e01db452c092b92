#!/bin/sh
# exported.sh ROOT SHARED STATIC [all|torch]: what the libraries export is what the public headers declare, as TAP.
# With `all`, every declared function must be there too, but those of torch.h; with `torch` those as well, in the shared library,
# which then may need the C++ library too. STATIC may be `-`: there is none.
set -u
root=$1
shared=$2
static=$3
all=${4:-}
count=0
failed=0

report() {
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
		failed=1
	fi
}

# Every name before a parenthesis in the headers, comments and macros taken out: found in another way than the build
# finds it. typedefs of functions are no functions.
declared=$(for header in "$root"/include/seam/*.h; do
	[ "$all" != torch ] && [ "${header##*/}" = torch.h ] && continue
	"${CC:-cc}" -std=c11 -E -P -fpreprocessed "$header" 2>/dev/null
done | grep -v '^#' | tr '\n' ' ' | tr ';' '\n' | grep -v typedef | grep -oE 'seam_[a-z0-9_]+ *\(' | tr -d ' (' | LC_ALL=C sort -u)
in_shared=$(nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u)
in_static=$in_shared
[ "$static" = - ] || in_static=$(nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u)
libraries='c|m|pthread|dl|gcc_s'
[ "$all" != torch ] || libraries="$libraries|stdc\\+\\+"

not_in() {
	printf '%s\n' "$1" | while IFS= read -r name; do
		printf '%s\n' "$2" | grep -qxF "$name" || echo "$name"
	done
}

[ -n "$declared" ] || { echo 'Bail out! the headers declare nothing'; exit 1; }
[ -n "$in_shared" ] || { echo 'Bail out! the library exports nothing'; exit 1; }
report 'the shared library exports only declared functions' "$(not_in "$in_shared" "$declared")"
report 'the static library exports only declared functions' "$(not_in "$in_static" "$declared")"
report 'both export the same' "$(not_in "$in_shared" "$in_static"; not_in "$in_static" "$in_shared")"
if [ -n "$all" ]; then
	report 'every declared function is exported' "$(not_in "$declared" "$in_shared")"
fi
report 'the shared library leaves room in the static TLS block alone' "$(readelf -d "$shared" | grep -E 'STATIC_TLS')"
report 'it needs only the library of its language' "$(readelf -d "$shared" | grep NEEDED | grep -vE "lib($libraries)\\.so|ld-linux")"
echo "1..$count"
exit $failed
