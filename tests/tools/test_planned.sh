#!/bin/sh
# The benchmark of planned requests measures what it means to: the plan serves them, and nothing where there is none; TAP.
# usage: test_planned.sh PLANNED
set -eu
number=0
expect() {
	number=$((number + 1))
	if "$command" --only "$1" | awk -v least="$2" -v most="$3" '{ share = $(NF - 1); if (share + 0 < least || share + 0 > most) bad = 1 }
		END { exit bad || NR == 0 }'; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}
command=$1
expect 'no plan' 0 0
expect 'plan' 100 100
expect 'plan, some dynamic' 95 100
echo "1..$number"
