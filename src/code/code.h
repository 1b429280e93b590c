/* code.h - compression of float vectors: 8 bits for each number with a scale for a block, or the same
 * bits in less space.
 *
 * Idea       A vector is cut in blocks of TT_CODE_BLOCK floats. A lossy code stores the block's scale,
 *            a float of 16 significant bits, and each number as an 8-bit multiple of it: int8, or an
 *            8-bit float. The largest magnitude of the block becomes the code's largest number.
 * Invariant  A decoded vector is encoded again without further error: every product of scale and
 *            number is an exact float, and the largest gives the same scale again. Once a value is
 *            rounded, it may therefore pass through any number of coded messages.
 * Error      One rounding: tt_code_error times the largest magnitude of the block; or 2^-88, which
 *            is more for blocks below 2^-83.
 * Not finite A block that holds an infinity or a NaN becomes NaN as a whole, so that it shows.
 * Source     Dettmers, "8-bit approximations for parallelism in deep learning", ICLR 2016 (a scale per
 *            block); the 8-bit floats: Open Compute Project, OFP8, 2023.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CODE_H
#define TT_CODE_H

#include "core.h"

enum { TT_CODE_BLOCK = 256 };

typedef enum tt_code {
  TT_CODE_NONE,
  TT_CODE_LOSSLESS,
  TT_CODE_INT8,
  TT_CODE_E4M3,
  TT_CODE_E5M2,
  TT_CODE_COUNT
} tt_code;

/* What a caller allows. */
typedef struct tt_code_wish {
  tt_code code; /* TT_CODE_NONE: the numbers travel as they are */
  double error; /* of a lossy code: the most, in parts of the largest magnitude */
} tt_code_wish;

/* text: "lossless", "error=1e-2", "error=0.1,code=fp8_e4m3" (int8, the default, fp8_e4m3, fp8_e5m2);
 * NULL or "" or "none": nothing. TUTTI_ERR_ARG: it is none of these, or the error is too small for two
 * roundings of that code; messages begin with `who`. */
tutti_status tt_code_parse(const char *who, const char *text, tt_code_wish *wish);
/* "int8", "lossless" and so on. */
const char *tt_code_name(tt_code code);
/* The same for equal wishes; 0 for none. */
uint64_t tt_code_hash(const tt_code_wish *wish);
static inline bool tt_code_lossy(tt_code code) {
  return code > TT_CODE_LOSSLESS;
}
/* May vectors of this type, reduced by this op, take that code? Lossy ones take sums of floats. */
bool tt_code_takes(tt_code code, tutti_type type, bool reduces, tutti_op op);

/* The most that one rounding changes a number, in parts of the largest magnitude of its block. */
double tt_code_error(tt_code code);
/* The same after several roundings of partial sums, in parts of the sum of the ranks' largest
 * magnitudes; and how many roundings stay below an error. */
double tt_code_bound(tt_code code, int roundings);
int tt_code_roundings(tt_code code, double error);
/* Bytes of a coded vector over those of the vector, for long ones; of a lossless code, what gradients
 * usually take. */
double tt_code_ratio(tt_code code, tutti_type type);

/* ---- blocks (lossy.c) ---- */

/* n <= TT_CODE_BLOCK floats to a scale and n codes, and back. */
void tt_code_block(tt_code code, const float *x, size_t n, float *scale, uint8_t *codes);
void tt_code_unblock(tt_code code, float scale, const uint8_t *codes, size_t n, float *x);
/* Encodes and decodes n floats in place, in blocks that begin at the first. */
void tt_code_round(tt_code code, float *x, size_t n);

/* ---- frames (frame.c): what a message consists of ---- */

/* A frame is at most TT_FRAME bytes, and codes at most TT_FRAME_RAW bytes. It begins with the numbers
 * of both. */
enum { TT_FRAME = 32 << 10, TT_FRAME_HEAD = 8, TT_FRAME_RAW = 32 << 10 };

/* Codes the first elements of `bytes` bytes of that type, as many as one frame takes; lossy codes take
 * whole blocks, or all that is left. Returns the frame's bytes; *taken: those coded. */
size_t tt_frame_make(tt_code code, tutti_type type, const void *from, size_t bytes, void *frame,
                     size_t *taken);
/* The size of a frame, and of its decoded data, from its first TT_FRAME_HEAD bytes; false: not a
 * frame. */
bool tt_frame_sizes(const void *head, size_t *frame, size_t *raw);
/* Decodes a whole frame; false: it is damaged. */
bool tt_frame_open(tt_code code, tutti_type type, const void *frame, void *to);

#endif
