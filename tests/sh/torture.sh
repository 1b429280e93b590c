#!/usr/bin/env bash
# torture.sh - two rounds of `make torture`, counted in calls; the same seed gives the same calls. SEED=n: another seed;
# TUTTI_TEST_ALL=1: ten minutes.
# SPDX-License-Identifier: BSD-3-Clause
BUILD=${BUILD:-build}
python=/usr/bin/python3
[ "${TUTTI_TEST_ALL:-}" = 1 ] && long="--time 10m" || long="--rounds 2"
PYTHONDONTWRITEBYTECODE=1 $python bench/soak.py --torture --build "$BUILD" $long --seed "${SEED:-1}" | sed 's/^/# /'
[ "${PIPESTATUS[0]}" = 0 ] && word=ok || word="not ok"
printf '%s - %s of torture\n1..1\n' "$word" "${long#--}"
[ "$word" = ok ]
