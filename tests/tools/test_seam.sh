#!/bin/sh
# test_seam: what every command of `seam` owes: the manual names each option, `info` says what is in force, the bar is drawn on a terminal
# only, and no device or no permission is one line and a status. usage: test_seam.sh SEAM SOURCE-ROOT. TAP.
set -u
seam=$(realpath "$1") || exit 1
root=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset SEAM_CONF
number=0

# ok NAME CONDITION...
ok() {
	number=$((number + 1))
	name=$1
	shift
	if "$@"; then echo "ok $number - $name"; else echo "not ok $number - $name"; fi
}

# skip NAME WHY
skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# fails STATUS WORD COMMAND...: that status, nothing on standard output, one line with WORD on standard error
fails() {
	status=$1
	word=$2
	shift 2
	"$@" >out.txt 2>err.txt
	got=$?
	if [ "$got" -ne "$status" ] || [ -s out.txt ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -q -- "$word" err.txt; then
		echo "# status $got, said: $(cat err.txt)"
		return 1
	fi
}

# shows PATTERN COMMAND...
shows() {
	pattern=$1
	shift
	"$@" >out.txt 2>err.txt && grep -q -- "$pattern" out.txt && [ ! -s err.txt ] && return 0
	echo "# said: $(cat out.txt err.txt)"
	return 1
}

# The options that the help of the command shows and the manual does not name.
unnamed() {
	"$seam" "$1" --help | grep -o -- '--[a-z][a-z]*' | sort -u | while read -r option; do
		grep -qF -- "$(echo "$option" | sed 's/^--/\\-\\-/')" "$root/tools/seam.1" || echo "# $option of $1"
	done
}

for command in convert draw fit info machines replay verify what-if; do
	ok "the manual names $command" grep -q "^.SS seam $(echo "$command" | sed 's/-/\\\\-/')" "$root/tools/seam.1"
	unnamed $command >unnamed.txt
	cat unnamed.txt
	ok "the manual names every option of $command" test ! -s unnamed.txt
done
ok 'the help names every command' sh -c '"$0" --help >help.txt; for c in convert fit info machines replay what-if; do grep -q "^  $c " help.txt || exit 1; done' "$seam"

ok 'info: the device' shows 'emulated device' "$seam" info --conf backend:emu_book
ok 'info: an option as given' shows '^  chunk_bytes  *4M$' "$seam" info --conf backend:emu_book,chunk_bytes:4M
ok 'info: an option from the environment' shows '^  reuse  *wait$' env SEAM_CONF=backend:emu_book,reuse:wait "$seam" info
ok 'info: the command line wins' shows '^  reuse  *own$' env SEAM_CONF=backend:emu_book,reuse:wait "$seam" info --conf reuse:own
ok 'info: every option' sh -c '"$0" info --conf backend:emu_book >info.txt; sed -n "s/^SEAM_OPTION[A-Z_]*([A-Z]*, \([a-z_]*\),.*/\1/p" "$1" >options.txt
	[ -s options.txt ] && while read -r option; do grep -q "^  $option " info.txt || exit 1; done <options.txt' \
	"$seam" "$root/include/seam/options.def"
ok 'info: what an option means' shows 'wait where the pool would poll' "$seam" info --options
ok 'info: an unknown key' fails 2 "'frob:1'" "$seam" info --conf frob:1
ok 'info: a word too many' fails 2 "'word'" "$seam" info word
ok 'info: what the device cannot do' fails 1 'gpu_direct_rdma: not supported' "$seam" info --conf backend:emu_book,gpu_direct_rdma:1
ok 'info: no such device' fails 1 'CUDA device 99' "$seam" info --device 99 --conf backend:cuda

ok 'machines: all' sh -c '"$0" machines >m.txt && [ "$(grep -c "^SEAM_MACHINE(" "$1")" -eq "$(grep -c "^[^ ]*: .* | .* | " m.txt)" ]' "$seam" "$root/lib/ghost/machines.def"
ok 'machines: with the source' shows '^rtx4090: .*flux-webui#11' "$seam" machines rtx4090
ok 'machines: by the name of the driver' shows '^t4 ' "$seam" machines 'TESLA T4'
ok 'machines: only those named' sh -c '[ "$("$0" machines --json t4 h100 | grep -c "\"gpu\"")" -eq 2 ]' "$seam"
ok 'machines: what is not known is null' shows '"nvlink_gbs": null' "$seam" machines --json t4
ok 'machines: no such GPU' fails 2 "'rtx409'; known are .*rtx4090" "$seam" machines t4 rtx409

printf 'id,lower,upper,size\na,0,5,4096\n' >a.csv
if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
	skip 'replay: no GPU' 'there is one'
else
	ok 'replay: no GPU' fails 1 'CUDA device 0' "$seam" replay --device cuda a.csv
fi
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$folder" && mkdir closed && chmod 700 closed && cp a.csv secret.csv && chmod 600 secret.csv
	nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
	# shellcheck disable=SC2086 # words
	if $nobody test -x "$seam"; then
		ok 'no permission to read' fails 1 'secret.csv: Permission denied' $nobody "$seam" convert secret.csv /dev/null/x.csv
		ok 'no permission to write' fails 1 'closed/b.csv: cannot write: Permission denied' $nobody "$seam" convert a.csv closed/b.csv
	else
		skip 'no permission to read' 'nobody cannot reach the program'
		skip 'no permission to write' 'nobody cannot reach the program'
	fi
else
	mkdir closed && chmod 500 closed && cp a.csv secret.csv && chmod 0 secret.csv
	ok 'no permission to read' fails 1 'secret.csv: Permission denied' "$seam" convert secret.csv b.csv
	ok 'no permission to write' fails 1 'closed/b.csv: cannot write: Permission denied' "$seam" convert a.csv closed/b.csv
	chmod 700 closed
fi

# Gigabytes to fill and to compare: more than the half second after which the bar is drawn first.
printf 'id,lower,upper,size\na,0,4,4194304\nb,5,6,4096\n' >long.csv
replay="'$seam' replay --device emu --memory real --allocator caching --iterations 1500 long.csv"
if command -v script >/dev/null; then
	TERM=xterm script -qec "$replay" seen.txt >/dev/null </dev/null
	ok 'a bar on a terminal' grep -q 'caching: long.csv \[[#.]*\] *[0-9]* %' seen.txt
	TERM=dumb script -qec "$replay" seen.txt >/dev/null </dev/null
	ok 'none on a dumb one' sh -c '! grep -q "\[[#.]" seen.txt'
else
	skip 'a bar on a terminal' 'there is no script(1)'
	skip 'none on a dumb one' 'there is no script(1)'
fi
sh -c "$replay" >out.txt 2>err.txt
ok 'none in a file' test ! -s err.txt
echo "1..$number"
