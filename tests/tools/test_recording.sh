#!/bin/sh
# What a program records of itself is a trace that every command takes; TAP.
# usage: test_recording.sh SEAM PROGRAM
set -u
seam=$1
program=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
count=0
failed=0

# report WHAT COMMAND...: ok if the command succeeds; what it prints stays in $place/output.
report() {
	count=$((count + 1))
	what=$1
	shift
	if "$@" >"$place/output" 2>&1; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		sed 's/^/# /' "$place/output"
		failed=1
	fi
}

SEAM_CONF=backend:emu_book SEAM_TRACE=$place/%p.seamtrace "$program" "$place/early.seamtrace" &
wait $!
whole=$place/$!.seamtrace
report 'a recording is left at exit' test -s "$whole"
report 'and one on demand' test -s "$place/early.seamtrace"
"$seam" replay --json "$whole" >"$place/whole.json" 2>&1
report 'it can be replayed, with all requests' grep -q '"requests": 73,' "$place/whole.json"
"$seam" replay --json "$place/early.seamtrace" >"$place/early.json" 2>&1
report 'and the early one with those until then' grep -q '"requests": 37,' "$place/early.json"
report 'its steps are a period, from which a plan is made' "$seam" plan "$whole" -o "$place/plan"
report 'and the plan is right' "$seam" verify "$whole" "$place/plan"
echo "1..$count"
exit $failed
