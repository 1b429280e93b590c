# models.sh - the hand-overs between ranks hold in their models, and no barrier in them is idle
# (models/, docs/reliability.md). Skipped where spin is not installed.
# Alone: no. SPDX-License-Identifier: BSD-3-Clause
exec models/check.sh
