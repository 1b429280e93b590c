/* huffman.h - compresses bytes with a prefix code for each run of bytes, preceded by the code lengths.
 *
 * Idea       Huffman's code for the frequencies of the bytes, limited to TT_HUFFMAN_BITS bits, so that one lookup in a
 *            table of that many bits decodes a byte. Codes are canonical, so the lengths determine them.
 * Cost       One table lookup per byte in either direction, for four streams in parallel; a few dozen bytes for the
 *            lengths.
 * Source     D. Huffman, Proc. IRE 40(9), 1952; canonical codes: E. Schwartz and B. Kallick, CACM 7(3), 1964.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HUFFMAN_H
#define TT_HUFFMAN_H

#include "core.h"

enum { TT_HUFFMAN_BITS = 10, TT_HUFFMAN_SPARE = 8 };

/* Encodes n bytes, 0 < n < 65536. Returns the number of bytes written, or 0 if the result would exceed `most` or would not be
 * smaller than the input. `to` must have room for `most` + TT_HUFFMAN_SPARE bytes, all of which may be overwritten. */
size_t tt_huffman_pack(const uint8_t *from, size_t n, uint8_t *to, size_t most);
/* Decodes n bytes from at most `size` bytes. Returns the number of bytes read, or 0 if the input is damaged. */
size_t tt_huffman_unpack(const uint8_t *from, size_t size, uint8_t *to, size_t n);

#endif
