#!/bin/sh
# test_models.sh RUN BUILD TRACE: the models of bench/reference do what PyTorch's own allocators do, also where memory is short.
set -u
"$1" --iterations 2 "$2" "$3" >models.txt 2>models.err
status=$?
cat models.txt models.err
[ $status -eq 0 ] || exit $status
grep -q '^The models and PyTorch agree' models.txt
