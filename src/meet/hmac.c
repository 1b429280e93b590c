/* hmac.c - SHA-256, and HMAC based on it.
 *
 * Idea       A side that can compute the digest of a fresh nonce knows the key. An eavesdropper learns nothing that
 *            helps with the next nonce. tutti has its own implementation because libtutti depends only on libc, and
 *            not every machine has the kernel's AF_ALG.
 * Source     FIPS 180-4 (SHA-256); RFC 2104 (HMAC); tests/unit/test_hmac.c has the vectors of RFC 4231.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hmac.h"

#include <string.h>

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void sha256_compress(tt_sha256 *s) {
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; i++) {
    const unsigned char *b = s->block + 4 * i;
    w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  }
  for (int i = 16; i < 64; i++) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ x >> 3) + w[i - 7] +
           (turn(y, 17) ^ turn(y, 19) ^ y >> 10);
  }
  memcpy(v, s->state, sizeof v);
  for (int i = 0; i < 64; i++) {
    const uint32_t e = v[4], a = v[0];
    const uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                         ((e & v[5]) ^ (~e & v[6])) + rounds[i] + w[i];
    const uint32_t two =
        (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (int i = 0; i < 8; i++) s->state[i] += v[i];
}

void tt_sha256_begin(tt_sha256 *s) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(s->state, first, sizeof first);
  s->bytes = 0;
}

void tt_sha256_add(tt_sha256 *s, const void *bytes, size_t n) {
  for (const unsigned char *at = bytes; n;) {
    const size_t has = s->bytes % 64, part = n < 64 - has ? n : 64 - has;
    memcpy(s->block + has, at, part);
    s->bytes += part;
    at += part;
    n -= part;
    if (has + part == 64) sha256_compress(s);
  }
}

void tt_sha256_end(tt_sha256 *s, unsigned char digest[TT_DIGEST]) {
  const uint64_t bits = 8 * s->bytes;
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  tt_sha256_add(s, "\x80", 1);
  while (s->bytes % 64 != 56) tt_sha256_add(s, "", 1);
  tt_sha256_add(s, length, sizeof length);
  for (int i = 0; i < TT_DIGEST; i++)
    digest[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void tt_hmac(const void *key, size_t size, const tt_piece *pieces, int n,
             unsigned char digest[TT_DIGEST]) {
  unsigned char pad[64] = {0};
  tt_sha256 s;
  if (size > sizeof pad) {
    tt_sha256_begin(&s);
    tt_sha256_add(&s, key, size);
    tt_sha256_end(&s, pad);
  } else if (size) {
    memcpy(pad, key, size);
  }
  for (size_t i = 0; i < sizeof pad; i++) pad[i] ^= 0x36;
  tt_sha256_begin(&s);
  tt_sha256_add(&s, pad, sizeof pad);
  for (int i = 0; i < n; i++) tt_sha256_add(&s, pieces[i].bytes, pieces[i].size);
  tt_sha256_end(&s, digest);
  for (size_t i = 0; i < sizeof pad; i++) pad[i] ^= 0x36 ^ 0x5c;
  tt_sha256_begin(&s);
  tt_sha256_add(&s, pad, sizeof pad);
  tt_sha256_add(&s, digest, TT_DIGEST);
  tt_sha256_end(&s, digest);
}

bool tt_digest_same(const unsigned char a[TT_DIGEST], const unsigned char b[TT_DIGEST]) {
  volatile unsigned char differs = 0;
  for (int i = 0; i < TT_DIGEST; i++) differs = (unsigned char)(differs | (a[i] ^ b[i]));
  return differs == 0;
}
