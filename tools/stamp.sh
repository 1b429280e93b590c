#!/bin/sh
# stamp.sh - prints a hash of the sources that determine the result of `make prove`: schedules, algorithms, the prover.
# Comments and layout are ignored. src/choose/forms.def contains the hash of its sources.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
export LC_ALL=C
for file in src/sched/*.[ch] src/algo/*.[ch] src/algo/*/*.[ch] src/algo/*.def src/prove/*.[ch]; do
  echo "$file"
  "${CC:-gcc}" -fpreprocessed -dD -E -P -x c "$file" | tr -d ' \t\n'
done | sha256sum | cut -c 1-16
