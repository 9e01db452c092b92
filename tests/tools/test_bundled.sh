#!/bin/sh
# Every bundled trace is read and checked by the product itself, and is what bench/traces/README.md says; TAP.
# usage: test_bundled.sh SEAM ROOT
set -eu
seam=$1
traces=$2/bench/traces
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

count=0
for file in "$traces"/*.seamtrace.zst; do
	count=$((count + 1))
	name=$(basename "$file" .seamtrace.zst)
	# | `name` | events | requests | peak | `arguments` |
	said=$(sed -n "s/^| \`$name\` | \([0-9]*\) | \([0-9]*\) | .*/\1 events, \2 allocations/p" "$traces/README.md")
	found=$("$seam" convert "$file" "$folder/out.seamtrace" 2>&1) || found="convert failed: $found"
	case $found in
	*": ${said:-no row in README.md},"*) echo "ok $count - $name" ;;
	*) echo "not ok $count - $name: README says '$said', convert '$found'" ;;
	esac
done
[ "$count" -gt 1 ] || echo "not ok - no bundled traces in $traces"
echo "1..$count"
