/* proof.c - a rendezvous and its visitors prove to each other that they know the job's key.
 *
 * Idea       Challenge and response: each side computes a keyed digest of all that both sides have
 *            sent so far, nonces included, and of a word for its own role.
 * Invariant  The rendezvous proves itself first, so a process that has taken its port learns
 *            nothing from the ranks that come; a proof is useless for another pair of nonces, and
 *            for the other role.
 * Source     ISO/IEC 9798-4, mutual authentication by a keyed check function in three passes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sys/random.h>

#include "meet.h"

tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]) {
  if (getrandom(nonce, TT_DIGEST, 0) == TT_DIGEST) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "no random numbers for a rendezvous");
}

void tt_prove_key(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                  const unsigned char nonce[TT_DIGEST], unsigned char proof[TT_DIGEST]) {
  static const char roles[2][16] = {
      [TT_RENDEZVOUS] = "tutti meeting 3", [TT_VISITOR] = "tutti visitor 3"};
  const tt_piece pieces[] = {
      {roles[side], sizeof roles[side]}, {hello, sizeof *hello}, {nonce, TT_DIGEST}};
  tt_hmac(key, TT_KEY, pieces, 3, proof);
}
