#!/usr/bin/env bash
# soak.sh - bench/soak.py: one job of each kind, counted in calls; the same seed gives the same calls. SEED=n: another
# seed; TUTTI_TEST_ALL=1: ten minutes.
# SPDX-License-Identifier: BSD-3-Clause
BUILD=${BUILD:-build}
python=/usr/bin/python3
[ "${TUTTI_TEST_ALL:-}" = 1 ] && long="--time 10m" || long="--rounds 1"
PYTHONDONTWRITEBYTECODE=1 $python bench/soak.py --build "$BUILD" $long --seed "${SEED:-${TUTTI_TEST_SEED:-1}}" | sed 's/^/# /'
[ "${PIPESTATUS[0]}" = 0 ] && word=ok || word="not ok"
printf '%s - a soak of %s\n1..1\n' "$word" "${long#--}"
[ "$word" = ok ]
