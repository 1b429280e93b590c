#!/usr/bin/env bash
# torture.sh - half a minute of `make torture`, with the same seed each time (SEED=n: another one). TUTTI_TEST_ALL=1: ten minutes.
# SPDX-License-Identifier: BSD-3-Clause
BUILD=${BUILD:-build}
python=/usr/bin/python3
[ "${TUTTI_TEST_ALL:-}" = 1 ] && time=10m || time=30s
PYTHONDONTWRITEBYTECODE=1 $python bench/soak.py --torture --build "$BUILD" --time $time --seed "${SEED:-1}" | sed 's/^/# /'
[ "${PIPESTATUS[0]}" = 0 ] && word=ok || word="not ok"
printf '%s - %s of torture\n1..1\n' "$word" $time
[ "$word" = ok ]
