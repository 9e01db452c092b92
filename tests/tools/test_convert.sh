#!/bin/sh
# Runs `seam convert` the way a person does: each kind of file in and out, and each mistake. TAP.
# usage: test_convert.sh SEAM
set -u
seam=$(realpath "$1") || exit 1
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

same() { cmp -s "$1" "$2"; }
contains() { grep -q -- "$2" "$1"; }
is_gone() { ! ls | grep -q 'tmp$'; }

printf 'id,lower,upper,size,stream\nw,0,9,4096,0\na,1,4,1000,0\nb,4,6,24,7\n' >a.csv

ok 'csv to trace' "$seam" convert -q a.csv a.seamtrace
ok 'trace to trace is the same' "$seam" convert -q a.seamtrace again.seamtrace
ok 'byte for byte' same a.seamtrace again.seamtrace
ok 'trace to zstd' "$seam" convert -q a.seamtrace a.seamtrace.zst
ok 'zstd to trace' "$seam" convert -q a.seamtrace.zst back.seamtrace
ok 'unpacked as before' same a.seamtrace back.seamtrace
ok 'trace to csv' "$seam" convert -q a.seamtrace out.csv
ok 'csv keeps sizes and streams' contains out.csv '24,7$'
ok 'a resident ends last' contains out.csv '^1,0,5,4096,0$'
ok 'standard input' sh -c '"$0" convert -q - in.seamtrace <a.csv' "$seam"
ok 'standard input gives the same' same a.seamtrace in.seamtrace
if command -v xz >/dev/null; then
	xz -k a.csv
	ok 'xz' "$seam" convert -q a.csv.xz xz.seamtrace
	ok 'xz gives the same' same a.seamtrace xz.seamtrace
	head -c 70 a.csv.xz >cut.xz
	ok 'truncated xz' fails 1 'truncated xz' convert cut.xz b.seamtrace
fi
"$seam" convert -n 3 a.csv often.seamtrace >said.txt
ok 'repeated: residents once, the rest three times' contains said.txt '13 events, 7 allocations'
ok 'repeated: says so' contains said.txt 'repeated: 3$'
ok 'no number of iterations' fails 2 "'0'" convert -n 0 a.csv often.seamtrace
"$seam" convert a.csv a.seamtrace >said.txt
ok 'says what it made' contains said.txt '5 events, 3 allocations'

printf 'Thread,Time,Action,Pointer,Size,Stream\n7,1:2:3.5,allocate,0x10,64,0x2\n7,1:2:3.6,free,0x10,64,0x2\n' >rmm.txt
"$seam" convert rmm.txt rmm.seamtrace >said.txt
ok 'a log of RMM' contains said.txt '2 events, 1 allocation'
printf '1 0x10 64 0\nIteration Index : 0\nmicro-batch : F\n1 0x20 64 0\n0 0x20 64 0\nIteration Index : end\n' >stalloc.txt
"$seam" convert stalloc.txt stalloc.seamtrace >said.txt
ok 'a log of STAlloc' contains said.txt '6 events, 2 allocations'
printf '1 0x10 64\n' >>stalloc.txt
ok 'a bad line of it is named' fails 1 'line 7' convert stalloc.txt b.seamtrace

cp a.seamtrace old.seamtrace
head -c 300 a.seamtrace >cut.seamtrace
head -c 100 a.seamtrace.zst >cut.zst
printf 'id,lower,upper,size\nx,5,5,1\n' >bad.csv
printf 'cos\nsystem\n(S"touch hacked"\ntR.' >evil.pickle
printf '\200\004cos\nsystem\n(S"touch hacked"\ntR.' >evil4.pickle
printf 'hello\n' >text
: >empty
ok 'missing file' fails 1 'nothing.csv: No such file' convert nothing.csv old.seamtrace
ok 'folder as input' fails 1 'Is a directory' convert . old.seamtrace
ok 'a device without end as input' fails 1 '/dev/zero: a device, not a file' convert /dev/zero old.seamtrace
ok 'a pipe as input' sh -c 'cat a.csv | "$0" convert -q /dev/stdin pipe.seamtrace' "$seam"
ok 'truncated trace' fails 1 'truncated' convert cut.seamtrace old.seamtrace
ok 'truncated zstd' fails 1 'zstd' convert cut.zst old.seamtrace
ok 'bad row' fails 1 'line 2: lower is not below upper' convert bad.csv old.seamtrace
ok 'hostile pickle' fails 1 'opcode GLOBAL at byte 2' convert evil4.pickle old.seamtrace
ok 'hostile old pickle' fails 1 'neither' convert evil.pickle old.seamtrace
ok 'nothing was run' test ! -e hacked
ok 'some text' fails 1 'neither' convert text old.seamtrace
ok 'empty file' fails 1 'empty' convert empty old.seamtrace
ok 'no such folder' fails 1 'none/b.seamtrace: cannot write: No such file' convert a.csv none/b.seamtrace
ok 'the old file is as it was' same old.seamtrace a.seamtrace
ok 'unknown end' fails 2 'ends neither' convert a.csv b.txt
ok 'one file' fails 2 'two files' convert a.csv
ok 'three files' fails 2 'more than two' convert a b c.csv
ok 'unknown option' fails 2 "'--frobnicate'" convert --frobnicate a.csv b.csv
ok 'bad device' fails 2 "'x'" convert --device x a.csv b.csv
ok 'no value' fails 2 "'--device'" convert a.csv b.csv --device
ok 'no command' fails 2 'no command'
ok 'unknown command' fails 2 "'dance'" dance
ok 'no temporary file is left' is_gone

"$seam" --help >help.txt
ok 'help names the command' contains help.txt convert
"$seam" convert --help >help.txt
ok 'help of the command' contains help.txt 'IN OUT'
"$seam" --version >version.txt
ok 'version' contains version.txt '^seam [0-9]'
if [ -e /dev/full ]; then
	"$seam" --help >/dev/full 2>err.txt
	ok 'a full disk is an error' test $? -eq 1
fi
echo "1..$number"
