#!/bin/sh
# secure.sh PROGRAM LIBRARY...: a program with more rights than its caller does not hear its caller's SEAM_CONF and SEAM_TRACE. PROGRAM is
# secure.c with the library inside. TAP.
set -u
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0
failed=0

# check WHAT STATUS: STATUS is 0 if it is so.
check() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		failed=1
	fi
}

for library in "$@"; do
	names=$(nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }')
	check "$(basename "$library") asks for secure_getenv" "$(printf '%s\n' "$names" | grep -qx secure_getenv; echo $?)"
	check "$(basename "$library") does not ask for getenv" "$(printf '%s\n' "$names" | grep -qxE 'getenv|environ|__environ'; echo $((! $?)))"
done

SEAM_CONF=nonsense:1 "$program"
check 'SEAM_CONF counts in a usual program' "$([ $? = 19 ]; echo $?)"
SEAM_TRACE=$folder/usual "$program"
check 'SEAM_TRACE counts in a usual program' "$([ $? = 0 ] && [ -s "$folder/usual" ]; echo $?)"

# As root: a copy that runs with the rights of nobody is one with other rights than its caller's.
if [ "$(id -u)" = 0 ] && cp "$program" "$folder/setuid" && chown 65534 "$folder/setuid" && chmod 4755 "$folder/setuid" &&
	chmod 777 "$folder" && ! findmnt -n -o OPTIONS -T "$folder" | grep -qw nosuid; then
	SEAM_CONF=nonsense:1 SEAM_TRACE=$folder/secret "$folder/setuid"
	check 'SEAM_CONF does not count in a set-uid program' $?
	check 'SEAM_TRACE does not count in a set-uid program' "$([ ! -e "$folder/secret" ]; echo $?)"
else
	count=$((count + 1))
	echo "ok $count - set-uid programs # SKIP only root can make one here"
fi
echo "1..$count"
exit $failed
