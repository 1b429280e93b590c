/* planes.h - numbers without loss in fewer bytes: byte planes, and planes of how a number differs from its neighbour.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLANES_H
#define TT_PLANES_H

#include "core.h"

enum { TT_PLANES_RAW = 32 << 10, /* bytes of numbers, at most */ TT_PLANES_HEAD = 6 };

/* ---- a plane (planes.c): a byte says how it is stored ---- */

/* Stores n bytes, coded if `tries` and that takes less; returns the end. A plane takes n + 1 bytes at most, but may change
 * TT_HUFFMAN_SPARE more. */
uint8_t *tt_plane_put(const uint8_t *plane, size_t n, bool tries, uint8_t *at);
/* Reads it from before `end`; NULL: damaged. */
const uint8_t *tt_plane_take(const uint8_t *at, const uint8_t *end, uint8_t *plane, size_t n);
/* Does a sample have enough zero bytes to make coding the plane pay? */
bool tt_plane_has_zeros(const uint8_t *plane, size_t n);

/* ---- numbers (neighbours.c): floats (wide), or bf16 ---- */

/* Stores n numbers by what they have in common with their neighbours; returns the end, TT_PLANES_HEAD bytes more than
 * they take at most. NULL: they have too little in common, or their exponents lie too far apart. */
uint8_t *tt_near_put(bool wide, const void *from, size_t n, uint8_t *at);
/* Reads n numbers from the bytes up to `end`; false: damaged. */
bool tt_near_take(bool wide, const uint8_t *at, const uint8_t *end, void *to, size_t n);

#endif
