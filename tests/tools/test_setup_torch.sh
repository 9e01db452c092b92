#!/bin/sh
# test_setup_torch.sh SETUP_TORCH: what tools/setup-torch says before it begins to download, with a python3 that makes an empty environment. As TAP.
set -u
script=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin"
cat >"$place/bin/python3" <<'EOF'
#!/bin/sh
# python3 -m venv FOLDER: pip there says what it is asked for, python agrees when torch is there.
mkdir -p "$3/bin"
printf '#!/bin/sh\necho "pip $*"\ncase "$*" in *torch*) touch "%s/torch" ;; esac\n' "$3" >"$3/bin/pip"
printf '#!/bin/sh\ntest -e "%s/torch"\n' "$3" >"$3/bin/python"
chmod +x "$3/bin/pip" "$3/bin/python"
EOF
chmod +x "$place/bin/python3"
PATH="$place/bin:$PATH" SEAM_VENV="$place/venv" SEAM_TORCH_INDEX='' sh "$script" >"$place/output" 2>&1
rc=$?
count=0
failed=0
# check WHAT COMMAND...
check() {
	count=$((count + 1))
	what=$1
	shift
	if "$@"; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		sed 's/^/# /' "$place/output"
		failed=1
	fi
}

says_first() {
	sed '/^pip/,$d' "$place/output" | grep -q '5.4 GB'
}

shows_progress() {
	grep '^pip .*torch' "$place/output" | grep -qv -e --quiet
}

check 'it installs' test "$rc" -eq 0
check 'the size is said before anything is downloaded' says_first
check 'pip shows its progress with PyTorch' shows_progress
echo "1..$count"
exit $failed
