# common.sh: what the scripts of this folder share. Sourced, not run; expects to be sourced from the repository's tools.
# SEAM_CACHE names a folder for what is slow to make and the same for every build (the built jemalloc).

seam_root=$(cd "$(dirname "$0")/.." && pwd)
SEAM_CACHE=${SEAM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/seam}
export SEAM_CACHE

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${CI:-}" != true ]; then
	bold=$(printf '\033[1m') red=$(printf '\033[31m') plain=$(printf '\033[0m')
else
	bold='' red='' plain=''
fi

say() {
	printf '%s\n' "$bold== $*$plain"
}

complain() {
	printf '%s\n' "$red$(basename "$0"): $*$plain" >&2
}

die() {
	complain "$*"
	exit 1
}
