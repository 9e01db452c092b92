#!/bin/sh
# loaded.sh SHARED: a plain Python, which knows nothing of Seam, loads the library at run time and calls it.
command -v python3 >/dev/null 2>&1 || { echo 'there is no python3'; exit 77; }
exec python3 -c '
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.seam_rc_text.restype = ctypes.c_char_p
assert library.seam_rc_text(0) == b"success"
' "$1"
