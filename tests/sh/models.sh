# models.sh - the models prove the hand-overs between ranks, and every barrier in them is needed
# (models/). Skipped where spin is missing.
# SPDX-License-Identifier: BSD-3-Clause
exec models/check.sh
