#!/bin/sh
# pack.sh - makes the corpus of a fuzzer, fuzz/corpus/NAME.tar, from a folder of inputs. The same inputs give the same bytes.
# Usage      fuzz/pack.sh FOLDER fuzz/corpus/NAME.tar      (tar -xf unpacks it)
# SPDX-License-Identifier: BSD-3-Clause
set -eu
(cd "$1" && ls) | LC_ALL=C sort |
  tar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=r,u+w --format=ustar -cf "$2" -C "$1" -T -
