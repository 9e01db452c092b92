#!/bin/sh
# readme.sh ROOT PRINT_OPTIONS: what README.md says is so, as TAP: its table of options is the one of options.def, the
# files and folders that it names are there.
set -u
root=$1
print_options=$2
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

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$print_options" >"$place/wanted" || echo 'print_options failed' >>"$place/wanted"
sed -n '/^<!-- options:/,/^<!-- end of options -->/p' "$root/README.md" | grep '^|' >"$place/there"
report 'the table of options' "$(diff "$place/wanted" "$place/there")"

missing=$(grep -oE '`(\./)?(include|lib|vmm|pools|stitch|fallback|tests|bench|tools)(/[A-Za-z0-9_./-]*)?`' "$root/README.md" |
	tr -d '`' | sort -u | while IFS= read -r path; do
	[ -e "$root/$path" ] || echo "$path"
done)
report 'the files that it names are there' "$missing"
echo "1..$count"
exit $failed
