#!/usr/bin/env bash
# soak.sh - a few seconds of bench/soak.py: one job of each kind, with a new seed each time. SEED=n
# repeats one run; TUTTI_TEST_ALL=1: ten minutes.
# SPDX-License-Identifier: BSD-3-Clause
BUILD=${BUILD:-build}
python=/usr/bin/python3
[ "${TUTTI_TEST_ALL:-}" = 1 ] && time=10m || time=5s
PYTHONDONTWRITEBYTECODE=1 $python bench/soak.py --build "$BUILD" --time $time --seed "${SEED:-${TUTTI_TEST_SEED:-1}}" | sed 's/^/# /'
[ "${PIPESTATUS[0]}" = 0 ] && word=ok || word="not ok"
printf '%s - a soak of %s\n1..1\n' "$word" $time
[ "$word" = ok ]
