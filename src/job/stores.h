/* stores.h - plain or streaming stores into memory that a peer reads.
 *
 * Idea       A plain store to a line that a peer has read waits until the line has been fetched back. On cores that
 *            share no cache a copy then takes up to fifteen times as long. A streaming store does not wait, but its
 *            bytes go to memory, and on cores that share a cache the reader loses more than the writer gains. In a
 *            virtual machine the hypervisor may move a rank to other cores during a job. Therefore a rank keeps
 *            running estimates of the time per byte to write and to read with each kind of store, and uses the
 *            cheaper kind. From time to time it writes a few pieces with the other kind. All ranks number the pieces
 *            in the same way, so they do this simultaneously and know each other's kind for every piece. After a
 *            change of kind, the first pieces are written over lines that the previous kind has left in other caches
 *            or in memory, so they are not counted.
 * Cost       Two reads of the processor's counter per chunk, and at most 1 % of the time for pieces of the slower
 *            kind.
 * Excluded   Lines that this rank has just read, because a plain store to them does not wait. Examples are the sums
 *            that a rank writes into a peer's vector, or over the peer's input in its arena.
 * Invariant  The kind of store affects neither the data nor the order of publication: streamed bytes are fenced
 *            before they are published. Each rank chooses for itself.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_STORES_H
#define TT_STORES_H

#include "core.h"

typedef enum tt_store { TT_PLAIN, TT_STREAMING, TT_STORES } tt_store;

/* TT_STORE_WARM: number of pieces that are not counted after a change of the kind of store; equal to the number of slots
 * in an arena. TT_STORE_TRIAL: number of pieces in a trial of the other kind, including those that are not counted. */
enum { TT_STORE_WARM = 2, TT_STORE_TRIAL = TT_STORE_WARM + 1 };

/* Selects plain or streaming stores for each piece. `kind` is the usual kind. In every 1 << period pieces, the first
 * TT_STORE_TRIAL use the other kind, to measure it. Period 0 means no such trials. Ranks publish their rule to their peers. */
typedef struct tt_store_rule {
  uint8_t kind, period;
} tt_store_rule;

/* Total time and size of all pieces that one call has written or read with one kind of store. */
typedef struct tt_spent {
  uint64_t ticks, bytes;
} tt_spent;

/* Estimates for vectors of one size. */
typedef struct tt_stores {
  float write[TT_STORES], read[TT_STORES]; /* ticks per byte; 0: unknown */
  uint32_t pieces;                         /* pieces in earlier calls; the same on all ranks */
  tt_store_rule rule;
  bool returned; /* the sums of the last such vectors overwrote their inputs */
} tt_stores;

enum { TT_STORE_SIZES = 24 };

/* Returns the index of the estimates for vectors of this size in bytes. Each power of two has separate estimates. */
static inline int tt_store_size(size_t bytes) {
  const int k = tt_ceil_log2(bytes) - 10;
  return k < 0 ? 0 : k < TT_STORE_SIZES ? k : TT_STORE_SIZES - 1;
}

/* Returns the rule for the next vector of this size. If sums overwrite their inputs, the rank that writes a sum has
 * just read the input there, so its stores are plain unless TUTTI_STORES selects a kind. */
static inline tt_store_rule tt_stores_rule(const tt_stores *s) {
  return s->returned && s->rule.period ? (tt_store_rule){TT_PLAIN, 0} : s->rule;
}

/* Returns the kind of store for piece k. The numbers of the pieces continue from call to call. */
static inline tt_store tt_store_kind(tt_store_rule rule, uint32_t k) {
  const bool other = rule.period && (k & ((1u << rule.period) - 1)) < TT_STORE_TRIAL;
  return (tt_store)(rule.kind ^ other);
}
/* Returns true if the time of piece k counts towards the estimate for its kind of store. */
static inline bool tt_store_counts(tt_store_rule rule, uint32_t k) {
  const uint32_t at = k & ((1u << rule.period) - 1);
  const bool back = at >= TT_STORE_TRIAL && at < TT_STORE_TRIAL + TT_STORE_WARM;
  return !rule.period || (at >= TT_STORE_WARM && !back);
}

/* Reads the tick counter of the processor. Returns 0 on processors without streaming stores. */
static inline uint64_t tt_store_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

/* Adds n bytes and the ticks elapsed since `since` to *spent. Returns the current tick count. */
static inline uint64_t tt_spend(tt_spent *spent, uint64_t since, size_t n) {
  const uint64_t now = tt_store_ticks();
  spent->ticks += now - since;
  spent->bytes += n;
  return now;
}
static inline void tt_spend_more(tt_spent *spent, uint64_t ticks, uint64_t bytes) {
  spent->ticks += ticks;
  spent->bytes += bytes;
}

/* Updates the estimate for one kind of store with a measured time, and returns the new estimate in ticks per byte.
 * An outlier, such as a piece during which the rank was preempted, has little effect. */
float tt_store_estimate(float *estimate, const tt_spent *spent);
/* Initializes the estimates for n vector sizes as unknown, and sets their rule. */
void tt_stores_begin(tt_stores *s, int n, tt_store_rule rule);
/* Returns the rule to start with, as selected by TUTTI_STORES. */
tt_store_rule tt_stores_wanted(void);
/* Updates the estimates with the pieces that one call has written and read with each kind of store, and sets the
 * rule for the next call. */
void tt_stores_learn(tt_stores *s, const tt_spent write[TT_STORES], const tt_spent read[TT_STORES]);

/* Copies n bytes with one kind of store. The two ranges must not overlap. Bytes written with streaming stores may be
 * published only after tt_store_fence. */
void tt_store_copy(tt_store kind, void *to, const void *from, size_t n);
static inline void tt_store_fence(tt_store kind) {
#if defined(__x86_64__)
  if (kind == TT_STREAMING) __builtin_ia32_sfence();
#else
  (void)kind;
#endif
}

#endif
