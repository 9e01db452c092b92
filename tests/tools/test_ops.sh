#!/bin/sh
# The benchmark of single requests measures what it means to: every request is served in the state that its row names; TAP.
# usage: test_ops.sh OPS
set -eu
file=$(mktemp)
trap 'rm -f "$file"' EXIT
if "$1" --blocks 64,1000 --json >"$file"; then echo "ok 1 - runs"; else echo "not ok 1 - runs"; fi
number=1
for operation in hit split stitch revive growth threads; do
	number=$((number + 1))
	# The strays of the operation's rows, one word each.
	strays=$(awk -v wanted="\"$operation\"," '$1 == "\"operation\":" { mine = $2 == wanted }
		$1 == "\"strays\":" && mine { printf "%s ", $2 + 0 }' "$file")
	case $strays in
	*[1-9]* | '') echo "not ok $number - $operation: strays: '$strays'" ;;
	*) echo "ok $number - $operation" ;;
	esac
done
echo "1..$number"
