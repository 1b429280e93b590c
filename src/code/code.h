/* code.h - compression of float vectors: either 8 bits per number with a scale for each block, or lossless.
 *
 * Idea       A vector is cut into blocks of TT_CODE_BLOCK floats. A lossy code stores the block's scale, a float with
 *            16 significant bits, and each number as an 8-bit multiple of it: an int8 or an 8-bit float. The largest
 *            magnitude of the block becomes the code's largest number.
 * Invariant  Encoding a decoded vector again causes no further error, because every product of scale and number is an
 *            exact float, and the largest one yields the same scale again. Once a value is rounded, it may therefore
 *            pass through any number of compressed messages.
 * Error      One rounding changes a number by at most tt_code_error times the largest magnitude of the block, or by
 *            2^-88, which is more for blocks below 2^-83.
 * Not finite A block that contains an infinity or a NaN becomes all NaN, so that the problem is visible.
 * Source     Dettmers, "8-bit approximations for parallelism in deep learning", ICLR 2016 (a scale per block); the
 *            8-bit floats: Open Compute Project, OFP8, 2023.
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

/* The compression that a caller allows. */
typedef struct tt_code_wish {
  tt_code code; /* TT_CODE_NONE: numbers are not compressed */
  double error; /* largest error of a lossy code, relative to the largest magnitude */
} tt_code_wish;

/* Parses a text such as "lossless", "error=1e-2" or "error=0.1,code=fp8_e4m3". The code is int8 (the default), fp8_e4m3 or
 * fp8_e5m2. NULL, "" and "none" mean no compression. Returns TUTTI_ERR_ARG if the text is invalid, or if the code cannot
 * round twice within the error. Messages start with `who`. */
tutti_status tt_code_parse(const char *who, const char *text, tt_code_wish *wish);
/* Returns the name of a code, such as "int8" or "lossless". */
const char *tt_code_name(tt_code code);
/* Returns equal hashes for equal compression settings, and 0 for no compression. */
uint64_t tt_code_hash(const tt_code_wish *wish);
static inline bool tt_code_lossy(tt_code code) {
  return code > TT_CODE_LOSSLESS;
}
/* Returns true if vectors of this type may be compressed with this code when they are reduced by this op. Lossy codes are
 * only for sums of floats. */
bool tt_code_takes(tt_code code, tutti_type type, bool reduces, tutti_op op);

/* Returns the largest error of rounding a number once, relative to the largest magnitude in its block. */
double tt_code_error(tt_code code);
/* Return the largest error after several roundings of partial sums, relative to the sum of the ranks' largest magnitudes; and
 * the number of roundings whose error does not exceed a limit. */
double tt_code_bound(tt_code code, int roundings);
int tt_code_roundings(tt_code code, double error);
/* Returns the size of a long encoded vector relative to the original. For a lossless code, this is typical of gradients. */
double tt_code_ratio(tt_code code, tutti_type type);

/* ---- blocks (lossy.c) ---- */

/* Encode n <= TT_CODE_BLOCK floats as one scale and n codes, and decode them. */
void tt_code_block(tt_code code, const float *x, size_t n, float *scale, uint8_t *codes);
void tt_code_unblock(tt_code code, float scale, const uint8_t *codes, size_t n, float *x);
/* Encodes n floats and decodes them again, in place. The first block starts at the first float. */
void tt_code_round(tt_code code, float *x, size_t n);

/* ---- frames (frame.c), which messages consist of ---- */

/* A frame has at most TT_FRAME bytes, which decode to at most TT_FRAME_RAW bytes. Both sizes are in its header. */
enum { TT_FRAME = 32 << 10, TT_FRAME_HEAD = 8, TT_FRAME_RAW = 32 << 10 };

/* Encodes as many elements of a vector of `bytes` bytes as fit in one frame. Lossy codes encode whole blocks, or all that is
 * left. Returns the size of the frame, and sets *taken to the number of bytes that were encoded. */
size_t tt_frame_make(tt_code code, tutti_type type, const void *from, size_t bytes, void *frame,
                     size_t *taken);
/* Reads the size of a frame and of its decoded data from the first TT_FRAME_HEAD bytes. Returns false if these bytes are not
 * the header of a frame. */
bool tt_frame_sizes(const void *head, size_t *frame, size_t *raw);
/* Decodes a whole frame. Returns false if the frame is damaged. */
bool tt_frame_open(tt_code code, tutti_type type, const void *frame, void *to);

#endif
