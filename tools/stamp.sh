#!/bin/sh
# stamp.sh - a hash of the sources that `make prove` proves: schedules, algorithms, the prover.
# Comments and layout do not count. src/choose/forms.def holds the hash of the sources that it was
# made from.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
export LC_ALL=C
for file in src/sched/*.[ch] src/algo/*.[ch] src/algo/*/*.[ch] src/algo/*.def src/prove/*.[ch]; do
  echo "$file"
  "${CC:-gcc}" -fpreprocessed -dD -E -P -x c "$file" | tr -d ' \t\n'
done | sha256sum | cut -c 1-16
