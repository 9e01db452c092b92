#!/bin/sh
# test_safety.sh SAFETY: the table of the safety algorithms: a made-up graph, as it is and by way of a file; refusals. TAP.
set -u
safety=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
number=0

check() { # check NAME COMMAND...
	number=$((number + 1))
	name=$1
	shift
	if "$@" > "$folder/out" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$folder/out"
	fi
}

one_row() {
	"$safety" --write ResNet-50 > "$folder/graph.csv" && "$safety" --markdown "$folder/graph.csv" > "$folder/table" &&
		[ "$(wc -l < "$folder/table")" -eq 3 ] &&
		grep -q "^| graph.csv | $(grep -c '^tensor,' "$folder/graph.csv") | $(grep -c '^node,' "$folder/graph.csv") |" "$folder/table"
}

refused() { # refused TEXT ARGUMENT...
	text=$1
	shift
	! "$safety" "$@" > "$folder/out" 2> "$folder/err" && [ "$(wc -l < "$folder/err")" -eq 1 ] && grep -q "$text" "$folder/err"
}

check "a graph that was written is read, and its row counts its tensors and operators" one_row
check "a network that is not known is refused in one line" refused "no such network: 'x'" --write x
check "a file that is not there is refused in one line" refused "none.csv: " "$folder/none.csv"
printf 'node,a,0\nnode,a,0\n' > "$folder/bad.csv"
check "a bad row is refused by its line" refused "line 2: this id stood before: 'a'" "$folder/bad.csv"
echo "1..$number"
