# models.sh - the models (models/) prove the synchronization between ranks, and show that every barrier in it is needed.
# Skipped if spin is not installed.
# SPDX-License-Identifier: BSD-3-Clause
exec models/check.sh
