#!/bin/sh
# The benchmark of waits times every request of every run, in pairs, and leaves no process behind; TAP.
# usage: test_waits.sh WAITS
set -eu
command=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
printf 'id,lower,upper,size,stream\nw,0,9,3145728,0\na,1,4,8388608,0\nb,2,6,4194304,1\n' >trace.csv
number=0
ok() {
	number=$((number + 1))
	if "$2" "$3"; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}
# w stays: 1 + 2 * 5 requests
rows() {
	"$1" --pairs 2 --busy 1 --iterations 5 trace.csv >out.txt &&
		[ "$(awk '$1 ~ /^plan:/ && $2 == 11 && NF == 8 { printf "%s ", $1 }' out.txt)" = 'plan:off plan:auto plan:off plan:auto ' ] &&
		grep -q '^medians of 2 pairs, 1 busy' out.txt
}
ordered() {
	awk '$1 ~ /^plan:/ { at = NF > 6 ? 3 : 2; if ($at + 0 > $(at + 1) + 0 || $(at + 1) + 0 > $(at + 2) + 0) bad = 1; n++ } END { exit bad || n != 6 }' "$1"
}
# Of the whole process, so never 0.
processor() {
	awk '$1 ~ /^plan:/ && !($(NF > 6 ? 6 : 5) + 0 > 0) { bad = 1 } END { exit bad }' "$1"
}
refused() {
	! "$1" --busy 1 none.csv >out.txt 2>err.txt && grep -q 'none.csv' err.txt && ! "$1" --pairs 0 trace.csv 2>err.txt && grep -q "'0'" err.txt
}
ok 'a row for each run, and medians' rows "$command"
ok 'the middle, the 99.99th percentile and the longest are in order' ordered out.txt
ok 'processor time of each run' processor out.txt
ok 'what cannot be is refused' refused "$command"
echo "1..$number"
