# entropy.py - a lower bound for the size of gradients after lossless compression by any code; `make bench-entropy`.
#
#   entropy.py FILE [BEFORE]      FILE: of gradients.py --dump; BEFORE: the same nets, one step earlier
#
# A number is rotated by one bit, as in src/code/frame.c: one byte of exponent, then three bytes of fraction, whose last bit is
# the sign. The script prints, for the first rank's gradient and for the sum of all ranks (messages contain both): the entropy
# of each byte; of the exponent if the previous number's is known, if that of the previous step is known, or both; and of the
# sign if the previous number's is known. With many contexts, entropies of samples are too low, so these are lower bounds. Left:
# the sum of all bits divided by 32.
# SPDX-License-Identifier: BSD-3-Clause
import array
import collections
import math
import sys

ROWS = 8


def entropy(*columns):
    """The joint entropy of these columns, in bits."""
    counts = collections.Counter(zip(*columns))
    n = sum(counts.values())
    return -sum(c / n * math.log2(c / n) for c in counts.values())


def given(column, *known):
    return entropy(column, *known) - entropy(*known)


def vectors(path):
    """The first rank's floats, and the sum of all ranks."""
    floats = array.array("f")
    with open(path, "rb") as f:
        floats.frombytes(f.read())
    n = len(floats) // ROWS
    return floats[:n], array.array("f", (sum(floats[i::n][:ROWS]) for i in range(n)))


def planes(floats):
    """The exponent, and the three bytes of the fraction, which include the sign."""
    words = array.array("I")
    words.frombytes(floats.tobytes())
    return [[((u << 1 | u >> 31) >> shift) & 255 for u in words] for shift in (24, 16, 8, 0)]


def neighbours(column):
    return [0] + column[:-1]


def show(name, floats, before):
    exponent, *fraction = planes(floats)
    sign = [b & 1 for b in fraction[-1]]
    left = neighbours(exponent)
    bits = [entropy(c) for c in (exponent, *fraction)]
    ways = [("alone", bits[0], 0), ("by its neighbour", given(exponent, left), 0)]
    if before:
        then = planes(before)[0]
        ways += [("by the step before", given(exponent, then), 0), ("by both", given(exponent, left, then), 0)]
    saved = entropy(sign) - given(sign, neighbours(sign))
    ways.append(("%s, and the sign by its neighbour's" % ways[-1][0], ways[-1][1], saved))
    print("%s: %d floats; bits of the bytes of a fraction: %s" % (name, len(floats), ", ".join("%.2f" % b for b in bits[1:])))
    for words, exponent_bits, less in ways:
        print("  exponent %-50s %.2f bits; left %.3f" % (words, exponent_bits, (exponent_bits + sum(bits[1:]) - less) / 32))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: entropy.py FILE [BEFORE]")
    now = vectors(sys.argv[1])
    before = vectors(sys.argv[2]) if len(sys.argv) > 2 else (None, None)
    for what, floats, earlier in zip(("the first rank", "sum of %d ranks" % ROWS), now, before):
        show("%s, %s" % (sys.argv[1], what), floats, earlier)


if __name__ == "__main__":
    main()
