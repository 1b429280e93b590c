/* proof_table.c - proves a plan once for all ranks that share memory.
 *
 * Idea       The ranks share a table of words. The first rank that needs a proof claims a word and runs the prover
 *            (choose/proven.c); the others read its result. A process remembers which plans are proven.
 * Invariant  A rank waits at most a second for another rank's result and then proves the plan itself, since the other may
 *            have died. It adopts only the result "proven". If the plan was refused, it runs the prover itself to get the
 *            message.
 * Order      A result is released by its prover and acquired by its readers, although they read nothing else from it: the
 *            word alone would suffice.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "flight.h"

/* States of a proof. A word of the table contains the key of a plan, with the state in the lowest bits. */
enum { PROVES = 1, PROVEN = 2, REFUSED = 3, STATE = 3, PLACES = 4 };
static const double max_wait_s = 1;

/* Finds the word for a key. Sets *claimed if this rank has just claimed it. Returns NULL if the table is full at that place. */
static atomic_ullong *find_word(atomic_ullong *words, uint64_t key, bool *claimed) {
  for (int i = 0; i < PLACES; i++) {
    atomic_ullong *word = &words[(key / 4 + (uint64_t)i) % TT_PROOFS];
    unsigned long long is = 0;
    /* model: publish:claim */
    *claimed = atomic_compare_exchange_strong(word, &is, key | PROVES);
    if (*claimed || (is & ~(unsigned long long)STATE) == key) return word;
  }
  return NULL;
}

/* Waits, for a limited time, until another rank has proven the key. Returns true if the key is proven. In the meantime that rank
 * may give up the word, and a different plan may claim it. */
static bool is_proven_elsewhere(const atomic_ullong *word, uint64_t key) {
  const struct timespec nap = {0, 50000};
  const double until = tt_seconds() + max_wait_s;
  unsigned long long is;
  /* model: publish:await */
  while ((is = atomic_load_explicit(word, memory_order_acquire)) == (key | PROVES) &&
         tt_seconds() < until)
    nanosleep(&nap, NULL);
  return is == (key | PROVEN);
}

/* ---- plans that this process knows to be proven ---- */

static atomic_ullong *proven_slot_of(uint64_t key) {
  return &tt_process.proven[key / 4 % TT_REMEMBERED];
}

bool tt_proof_known(const tt_ask *ask, int slices) {
  const uint64_t key = tt_proven_key(ask, slices);
  return atomic_load_explicit(proven_slot_of(key), memory_order_relaxed) == key;
}

tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, int slices, tt_proven *is) {
  atomic_ullong *words = comm->wire->proofs;
  bool claimed = false;
  const bool known = tt_proof_known(ask, slices);
  *is = known ? TT_PROVEN : TT_PROVEN_OFF;
  if (known || comm->plans->setting.verify == TT_VERIFY_NONE) return TUTTI_OK;
  const uint64_t key = tt_proven_key(ask, slices);
  atomic_ullong *word = words ? find_word(words, key, &claimed) : NULL;
  tutti_status status = TUTTI_OK;
  *is = TT_PROVEN;
  if (!word || claimed || !is_proven_elsewhere(word, key))
    status = tt_proven_find(ask, slices, &comm->plans->setting, is);
  const bool open = !status && *is != TT_PROVEN; /* too large to prove; all ranks find the same */
  /* model: publish:verdict */
  if (claimed)
    atomic_store_explicit(word, open ? 0 : key | (status ? REFUSED : PROVEN), memory_order_release);
  if (!status && !open) atomic_store_explicit(proven_slot_of(key), key, memory_order_relaxed);
  return status;
}

tt_verify tt_proof_setting(void) {
  const long verify = tt_env_int("TUTTI_VERIFY", 0, 1, -1);
  return verify < 0 ? TT_VERIFY_SOME : verify ? TT_VERIFY_ALL : TT_VERIFY_NONE;
}
