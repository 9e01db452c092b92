#!/bin/sh
# Runs `seam plan` the way a person does: traces, instances and graphs in, plans and figures out, and each mistake. TAP.
# usage: test_plan.sh SEAM ROOT
set -u
seam=$(realpath "$1") || exit 1
root=$(realpath "$2") || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
number=0

# ok NAME CONDITION...
ok() {
	number=$((number + 1))
	name=$1
	shift
	if "$@"; then echo "ok $number - $name"; else echo "not ok $number - $name"; fi
}

# fails STATUS WORD ARGUMENT...: that status, nothing on standard output, one line with WORD on standard error
fails() {
	status=$1
	word=$2
	shift 2
	"$seam" "$@" >out.txt 2>err.txt
	got=$?
	if [ "$got" -ne "$status" ] || [ -s out.txt ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -q -- "$word" err.txt; then
		echo "# status $got, said: $(cat err.txt)"
		return 1
	fi
}

# says WORD ARGUMENT...: status 0, and WORD stands in what is printed, which stays in said.txt
says() {
	word=$1
	shift
	if ! "$seam" "$@" >said.txt 2>err.txt || [ -s err.txt ] || ! grep -q -- "$word" said.txt; then
		echo "# said: $(cat said.txt err.txt)"
		return 1
	fi
}

# json KEY: its value in said.json
json() { python3 -c 'import json, sys; print(json.load(open("said.json"))[sys.argv[1]])' "$1"; }
json_is() {
	got=$(json "$1")
	[ "$got" = "$2" ] || { echo "# $1 is $got"; false; }
}
same() { cmp -s "$1" "$2"; }

printf 'id,lower,upper,size\na,0,2,100\nb,1,3,50\nc,2,4,70\n' >line.csv
printf 'id,lower,upper,size,stream\na,0,2,100,1\nb,2,4,100,2\n' >streams.csv
printf 'node,x,0\nnode,y,0\nnode,z,1\ntensor,t,100,x,y\ntensor,u,60,y,\ntensor,v,70,x,z\n' >graph.csv
printf '{"nodes":[{"id":"x","stream":0},{"id":"y","stream":0}],"tensors":[{"id":"t","size":8,"from":"x","to":["y"]}]}' >graph.json
# A network: 6 layers, 5 blocks of 3 requests with equal sizes, 12 layers. Each output is made before its input goes.
awk 'BEGIN {
	print "id,lower,upper,size"
	for (i = 0; i < 6; i++) print "first" i "," i "," i + 2 "," 100 + i
	for (i = 0; i < 5; i++) {
		t = 6 + 3 * i
		print "wide" i "," t "," t + 2 ",600"
		print "deep" i "," t + 1 "," t + 3 ",610"
		print "thin" i "," t + 2 "," t + 6 ",50"
	}
	for (i = 0; i < 12; i++) print "last" i "," 21 + i "," 23 + i "," 200 + i
}' >network.csv
bundled=$root/bench/traces/gpt2-345m.seamtrace.zst

ok 'an instance' says 'optimal' plan line.csv
ok 'its peak is the bound' grep -q 'peak 150 B' said.txt
"$seam" plan --json line.csv >said.json
ok 'JSON: requests' json_is requests 3
ok 'JSON: the bound' json_is lower_bound_bytes 150
ok 'JSON: the peak' json_is peak_bytes 150
ok 'JSON: the gap is a fraction' json_is gap 0
ok 'JSON: optimal' json_is optimal True
ok 'JSON: one chunk' json_is mapped_chunks 1
ok 'JSON: copies' json_is copies 1
ok 'standard input' sh -c '"$0" plan - <line.csv | grep -q "3 requests"' "$seam"
ok 'streams share behind waits' says 'peak 100 B' plan streams.csv
ok 'which are counted' grep -q '1 wait between streams' said.txt
ok 'streams stay apart without edges' says 'peak 200 B, lower bound 200 B' plan --streams=edges streams.csv
ok 'it is said why the bound is so high' grep -q '100 B live at once; the bound is higher, for nothing orders the streams' said.txt
"$seam" plan --json --streams=edges streams.csv >said.json
ok 'JSON: what lives at once' json_is live_bytes 100
ok 'a graph in CSV' says '3 requests' plan graph.csv
ok 'a graph in JSON' says '1 requests' plan graph.json
ok 'a plan of a graph is written' says 'requests' plan graph.csv -o graph.plan
ok 'it is a file of plans' grep -q SEAMPLN graph.plan

ok 'a recorded training run has a period' says 'copies of the period, beside' plan --node-limit 20000000 "$bundled" -o first.plan
ok 'the same steps of work, the same plan' says 'requests' plan --node-limit 20000000 "$bundled" -o second.plan
dd if=first.plan of=first.tail bs=256 skip=1 2>/dev/null
dd if=second.plan of=second.tail bs=256 skip=1 2>/dev/null
ok 'byte for byte behind the header (which has the time)' same first.tail second.tail
"$seam" plan --json network.csv >said.json
ok 'a network whose middle repeats is planned whole' json_is requests 33
ok 'the whole of it can be asked for' sh -c '! "$0" plan -t 1 --period whole "$1" | grep -q residents' "$seam" "$bundled"
ok 'no time at all still gives a plan' says 'peak' plan -t 0 "$bundled"

ok 'every solver in a table' says '^auto ' plan --compare line.csv
ok 'stack does what it says' grep -q '^stack  *220 B' said.txt
"$seam" plan --compare --json line.csv >said.json
ok 'the same as JSON' python3 -c 'import json; rows = json.load(open("said.json")); assert rows[-1]["requests"] == 3, rows'
ok 'one solver by name' says 'placed by stack' plan -s stack line.csv

ok 'no trace' fails 2 'no trace is named' plan
ok 'two traces' fails 2 'more than one' plan line.csv line.csv
ok 'no such trace' fails 1 'missing.csv' plan missing.csv
ok 'no such solver' fails 2 "no such solver: 'best'" plan -s best line.csv
ok 'not a time' fails 2 'not a number of seconds' plan -t soon line.csv
ok 'not a period' fails 2 'not a period' plan --period 3 line.csv
ok 'an empty period' fails 2 'range of events' plan --period 3:3 line.csv
ok 'events that are not there' fails 1 'line.csv' plan --period 0:1000 line.csv
ok 'no period in it' fails 1 'line.csv' plan --period find line.csv
ok 'not a policy' fails 2 'no such policy' plan --streams=all line.csv
ok 'not a power of two' fails 2 'not a power of two' plan --align 3 line.csv
ok 'compare writes no plan' fails 2 'compare' plan --compare line.csv -o x.plan
ok 'nowhere to write' fails 1 'no/such/folder' plan line.csv -o no/such/folder/x.plan
printf 'node,x,0\ntensor,t,100,x,nobody\n' >broken.csv
ok 'a broken graph' fails 1 'nobody' plan broken.csv
printf 'rubbish' >rubbish
ok 'no trace in it' fails 1 'rubbish' plan rubbish
cp first.plan old.plan
ok 'no plan' fails 1 'line.csv' plan --period find line.csv -o old.plan
ok 'an old one stays as it was' same first.plan old.plan

# A search that would go on for long: Ctrl-C ends it with the best so far. A slow machine may not be planning yet when it comes. In the foreground timeout
# sends it once, else a second time to the group: that may come when the search has ended, and ends the tool.
if command -v timeout >/dev/null; then
	for seconds in 2 10 40; do
		timeout --foreground --signal=INT $seconds "$seam" plan -t 600 -s squeaky-wheel --period whole "$bundled" -o kept.plan >kept.txt 2>&1
		[ -s kept.plan ] && break
	done
	ok 'Ctrl-C keeps a plan' [ -s kept.plan ]
	ok 'and says so' grep -q 'interrupted' kept.txt
fi
echo "1..$number"
