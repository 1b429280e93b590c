/* hmac.h - HMAC-SHA-256: proves knowledge of a key without revealing it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HMAC_H
#define TT_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TT_DIGEST = 32 }; /* size of a digest, in bytes */

typedef struct tt_sha256 {
  uint32_t state[8];
  uint64_t bytes; /* bytes added so far */
  unsigned char block[64];
} tt_sha256;

void tt_sha256_begin(tt_sha256 *s);
void tt_sha256_add(tt_sha256 *s, const void *bytes, size_t n);
void tt_sha256_end(tt_sha256 *s, unsigned char digest[TT_DIGEST]);

/* tt_hmac computes the digest of `n` pieces, concatenated, under the key. */
typedef struct tt_piece {
  const void *bytes;
  size_t size;
} tt_piece;
void tt_hmac(const void *key, size_t size, const tt_piece *pieces, int n,
             unsigned char digest[TT_DIGEST]);

/* Compares two digests in constant time. */
bool tt_digest_same(const unsigned char a[TT_DIGEST], const unsigned char b[TT_DIGEST]);

#endif
