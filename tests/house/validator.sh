#!/bin/sh
# validator.sh ROOT: the validator of plans shares no code with what makes them, as TAP: what lib/plan/verify includes of
# lib/plan is where a plan's bytes lie, a map of bytes, and itself; and so do those.
set -u
folder=$1/lib/plan
files=$(find "$folder/verify" -name '*.[ch]' | sort)
allowed=' bytemap.h plan_format.h verify.h '
[ -n "$files" ] || { echo 'Bail out! there is no validator'; exit 1; }

# includes FILE...: the headers of lib/plan that these include.
includes() {
	sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$@" | sort -u | while IFS= read -r name; do
		[ -n "$(find "$folder" -name "$name")" ] && echo "$name"
	done
}

count=0
failed=0
look() {
	what=$1
	shift
	count=$((count + 1))
	bad=$(includes "$@" | while IFS= read -r name; do
		case $allowed in *" $name "*) ;; *) echo "$name" ;; esac
	done)
	if [ -z "$bad" ]; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		printf '%s\n' "$bad" | sed 's/^/# includes /'
		failed=1
	fi
}

# shellcheck disable=SC2086 # names are words
look 'the validator includes nothing of the planner' $files
look 'nor does what it stands on' "$folder/format/plan_format.h" "$folder/format/plan_format.c" "$folder/format/bytemap.h" "$folder/format/bytemap.c"
echo "1..$count"
exit $failed
