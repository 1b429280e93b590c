/* huffman.h - bytes in fewer bits: a prefix code for each run of bytes, with its lengths in front.
 *
 * Idea       Huffman's code of the bytes' frequencies, cut to TT_HUFFMAN_BITS bits, so that a table
 *            of that many bits decodes a byte in one look. Codes are canonical: the lengths say all.
 * Cost       One look at a table per byte, either way, of four streams in step; some dozens of bytes for the
 *            lengths.
 * Source     D. Huffman, Proc. IRE 40(9), 1952; canonical codes: E. Schwartz and B. Kallick, CACM 7(3),
 *            1964.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HUFFMAN_H
#define TT_HUFFMAN_H

#include "core.h"

enum { TT_HUFFMAN_BITS = 10, TT_HUFFMAN_SPARE = 8 };

/* Codes n bytes, 0 < n < 65536; returns the bytes written, or 0: more than `most` would be needed, or
 * than the bytes themselves take. `to` has TT_HUFFMAN_SPARE bytes more than `most`, which it may change. */
size_t tt_huffman_pack(const uint8_t *from, size_t n, uint8_t *to, size_t most);
/* Decodes n bytes from at most `size`; returns the bytes read, or 0: damaged. */
size_t tt_huffman_unpack(const uint8_t *from, size_t size, uint8_t *to, size_t n);

#endif
