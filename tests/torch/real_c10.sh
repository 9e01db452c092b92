#!/bin/sh
# real_c10.sh SOURCE INCLUDE LIBRARY CXX: catches.cpp against PyTorch's own header and libc10.so, as TAP. Skipped where there is no PyTorch.
set -eu
source=$1
include=$2
library=$3
cxx=$4
python=${SEAM_VENV:-$HOME/.cache/seam/venv}/bin/python
torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null) || {
	echo "1..0 # SKIP PyTorch is not installed (looked with $python; \$SEAM_VENV names another place)"
	exit 0
}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$cxx" -std=c++20 -DREAL_C10 -isystem "$torch/include" -I"$include" "$source" "$library" "$torch/lib/libc10.so" -ldl \
	-Wl,-rpath,"$torch/lib:$(dirname "$(realpath "$library")")" -o "$place/catches" >&2
# libc10_cuda.so needs CUDA's runtime; what is asked of it here is only the type that it has.
REAL_C10_CUDA="$torch/lib/libc10_cuda.so" "$place/catches"
