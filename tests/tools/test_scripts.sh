#!/bin/sh
# test_scripts: a mistake on the command line of any script is answered in one line that names --help, before anything is done;
# bench/verify, bench/sweep and bench/tight, on a small trace; and tools/gpu-check without a GPU. usage: test_scripts.sh SOURCE-ROOT BUILD-ROOT. TAP.
set -u
root=$1
SEAM_BUILD=$2
export SEAM_BUILD
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

# refuses WORD SCRIPT ARGUMENT...: an error status, one line on standard error with WORD and --help, nothing on standard output
refuses() {
	word=$1
	script=$2
	shift 2
	if "$root/$script" "$@" >out.txt 2>err.txt || [ -s out.txt ] || [ "$(wc -l <err.txt)" -ne 1 ] ||
		! grep -q -- "$word.*--help" err.txt; then
		echo "# said: $(cat out.txt err.txt)"
		return 1
	fi
}

# verifies PATTERN TRACE...: bench/verify's last row
verifies() {
	pattern=$1
	shift
	"$root/bench/verify" "$@" >table.md 2>err.txt
	status=$?
	tail -1 table.md | grep -q -- "$pattern" && [ ! -s err.txt ] && return $status
	echo "# said: $(cat table.md err.txt)"
	return 1
}

for script in bench/host bench/run bench/swap bench/sweep bench/tight bench/verify tools/check tools/gpu-carry tools/gpu-check tools/setup tools/setup-torch; do
	ok "$script: an unknown option" refuses "'--frobnicate'" $script --frobnicate
	ok "$script: help" sh -c '"$0" --help >help.txt && grep -q "^usage: " help.txt' "$root/$script"
done
ok 'sweep: no number' refuses '--iterations' bench/sweep --iterations
ok 'sweep: not a number' refuses '--iterations' bench/sweep --iterations many
ok 'sweep: no seeds' refuses "'program:9-3'" bench/sweep program:9-3
ok 'tight: not a number' refuses '--more' bench/tight --more some program:27
ok 'tight: neither a trace nor a program' refuses "'nothing'" bench/tight nothing
ok 'verify: not a number' refuses '--limit' bench/verify --limit 0
ok 'gpu-carry: two folders' refuses "'b'" tools/gpu-carry a b
ok 'gpu-carry: made neither' test ! -e a
ok 'gpu-check: PyTorch has no rehearsal' refuses 'rehearsal' tools/gpu-check --torch --device emu results
ok "gpu-check: nor have its allocator's tests" refuses 'rehearsal' tools/gpu-check --part torch-tests --device emu results
ok 'gpu-check: no folder' refuses 'folder' tools/gpu-check

# exits STATUS COMMAND...
exits() {
	wanted=$1
	shift
	"$@" >out.txt 2>err.txt
	status=$?
	[ $status -eq "$wanted" ] || { echo "# status $status: $(cat out.txt err.txt)" && false; }
}

mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/nvidia-smi
chmod +x bin/nvidia-smi
ok 'gpu-check: no GPU is status 77' env PATH="$folder/bin:$PATH" sh -c '"$0" results >out.txt; [ $? -eq 77 ] && grep -q "no GPU" out.txt' "$root/tools/gpu-check"
ok 'gpu-check: with PyTorch too' env PATH="$folder/bin:$PATH" sh -c '"$0" --torch results >out.txt; [ $? -eq 77 ] && grep -q "no GPU" out.txt' "$root/tools/gpu-check"
ok 'gpu-check: and leaves nothing' test ! -e results
ln -s "$SEAM_BUILD" build # its logs go beside the build folder
ok 'gpu-check: a rehearsal passes' exits 0 env SEAM_BUILD="$folder/build" "$root/tools/gpu-check" --device emu --part conformance results
ok 'gpu-check: says so' grep -q '"part": "conformance", "result": "passed"' results/summary.json
ok 'gpu-check: without a build all parts fail' exits 1 env SEAM_BUILD="$folder/none" "$root/tools/gpu-check" --device emu \
	--part conformance --part costs --part replay --part verify results
ok 'gpu-check: with their logs, in 8 files at most' sh -c '[ "$(ls results | wc -l)" -le 8 ] && grep -q "== verify" results/failures.log'

printf 'id,lower,upper,size\nw,0,9,3145728\na,1,4,2097152\nb,4,6,4096\n' >small.csv
ok 'verify: every byte of every block' verifies '^| small | 5.00 MiB | all | 5 | 7.01 MiB | intact |' small.csv
printf 'id,lower,upper,size\nw,0,9,3145728\na,1,4,13958643712\n' >large.csv
ok 'verify: above 12 GiB, two pages of every chunk' verifies '^| large | 13.00 GiB | pages | 3 | 104 MiB | intact |' large.csv
ok 'verify: what cannot be read is an error' sh -c '! "$@" >/dev/null' sh "$root/bench/verify" small.csv none.csv
"$root/bench/verify" none.csv small.csv >table.md
ok 'verify: and says why' grep -q '^| none | .*No such file' table.md
ok 'verify: and goes on' grep -q '^| small | .*intact' table.md
printf 'id,lower,upper,size\nw,0,9,268435456\na,1,4,2097152\n' >middle.csv
ok 'sweep: a row' sh -c '"$0" --iterations 2 middle.csv | grep -q "^| middle | 0.25 GiB |.* 0 |$"' "$root/bench/sweep"
ok 'sweep: a program, with a configuration' sh -c '"$0" --iterations 2 --conf stitch:growth program:27 | grep -Eq "^\| program:27 \| [0-9.]+ GiB \|( [0-9.]+ % \|){4}( [0-9.]+ \([0-9.]+\) \|){4} [0-9]+ \|$"' "$root/bench/sweep"
ok 'sweep: a failure is an error, and the rest is there' sh -c 'echo broken >broken.csv; ! "$0" --summary broken.csv middle.csv >sweep.md 2>err.txt && grep -q "^| seam | 100.00 % " sweep.md && grep -q broken.csv err.txt' "$root/bench/sweep"
ok 'tight: a row for each share' sh -c '"$0" --iterations 2 --more 0,5 middle.csv | grep -Eq "^\| 5 % \| 0 \| 0 \|  \| [01] \|$"' "$root/bench/tight"
ok 'run: a row of each part' sh -c '"$0" --state state --iterations 3 static perturbed moe long middle.csv >run.md && [ "$(grep -c "^| middle | " run.md)" -eq 2 ] && grep -q "^| extra | middle | " run.md && grep -q "^| wide | middle | " run.md' "$root/bench/run"
ok 'run: cost: of a trace and of a program' sh -c '"$0" --state state --iterations 3 cost middle.csv program:27 >cost.md && grep -q "^| middle | - | 0.25 |" cost.md && grep -q "^| program:27 | no | 16\.68 | .* | never | " cost.md' "$root/bench/run"
ok 'run: cost: a failure is a row' sh -c 'echo broken >broken.csv; "$0" --state state --iterations 3 cost broken.csv middle.csv >cost.md && grep -q "^| broken | - | - | \*\*broken.csv: " cost.md && grep -q "^| middle " cost.md' "$root/bench/run"
ok 'run: cost: no seed' refuses "'program:x'" bench/run program:x
ok 'run: a row that is there is not measured again' sh -c 'echo "| kept |" >state/static/middle; "$0" --state state static middle.csv | grep -q "^| kept |$"' "$root/bench/run"
echo "1..$number"
