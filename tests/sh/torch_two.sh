#!/usr/bin/env bash
# torch_two.sh - features of PyTorch 2 that use process groups (python/tests/torch_two.py), on 2 ranks; in the full test also on
# 4.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/torch.bash"
leave_if_guarded "asan|tsan|ubsan"
$python -c 'import sys, torch; sys.exit(torch.__version__ < "2")' ||
  leave "this PyTorch is older than 2; make check-torch TORCH=pip has a newer one"
job run -n 2 $python python/tests/torch_support.py docs/reference/torch-support.md
sed '/^$/d' "$work/out"
status 0 && ! grep -q "^not ok" "$work/out" || bad=1
for kind in $kinds; do
  for n in 2 ${TUTTI_TEST_ALL:+4}; do
    TUTTI_TORCH=${kind#compiled} job run -n $n $python python/tests/torch_two.py
    sed -n "s/^ok - /&$kind, $n ranks: /p; s/^not ok - /&$kind, $n ranks: /p" "$work/out"
    status 0 && ! grep -q "^not ok" "$work/out" || { bad=1 && grep -vE "USDT|gpuGet|arning" "$work/err" | tail -20 | sed 's/^/# /'; }
  done
done
