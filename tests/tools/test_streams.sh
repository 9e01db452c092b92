#!/bin/sh
# The benchmark of streams measures each pattern, and memory that a side stream used once is everybody's; TAP.
# usage: test_streams.sh STREAMS
set -eu
command=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
number=0
ok() {
	number=$((number + 1))
	if "$2" "$3"; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}
rows() {
	"$1" >out.txt && [ "$(awk -F'|' '$3 ~ /GiB/ && NF == 13 { printf "%s", $2 }' out.txt)" = ' once  offload  prefetch ' ]
}
# At most 1.01 times what lives at once.
shared() {
	awk -F'|' '$3 ~ /GiB/ && $6 + 0 >= 99.0 && $4 + 0 < 60 { found++ } END { exit found != 3 }' "$1"
}
silent() {
	awk -F'|' '$3 ~ /GiB/ && $12 ~ /^ 0 $/ { found++ } END { exit found != 3 }' "$1"
}
one() {
	"$1" offload >one.txt && [ "$(grep -c GiB one.txt)" = 1 ] && grep -q '^| offload' one.txt
}
refused() {
	! "$1" twice >out.txt 2>err.txt && grep -q "'twice'" err.txt && [ ! -s out.txt ]
}
ok 'a row for each pattern' rows "$command"
ok 'memory that another stream is done with is everybody'"'"'s' shared out.txt
ok 'no memory call in the last step' silent out.txt
ok 'one pattern alone' one "$command"
ok 'a pattern that is not there is refused' refused "$command"
echo "1..$number"
