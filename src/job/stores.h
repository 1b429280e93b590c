/* stores.h - plain or streaming stores into memory that a peer reads.
 *
 * Idea       A plain store to a line that a peer has read waits until the line is back: on cores
 *            that share no cache a copy takes up to fifteen times as long. A streaming store does
 *            not wait, but its bytes go to memory, and on cores that share a cache the reader
 *            loses more than the writer gains. The cores of a virtual machine change while a job
 *            runs. Therefore a rank keeps a running estimate of the time to write and to read a
 *            byte with each kind, and uses the cheaper kind. It writes a few pieces with the other
 *            kind now and then. All ranks count pieces in the same way, so they do that
 *            simultaneously, and know each other's kind for every piece. After a change of kind the
 *            first pieces are written over lines that the kind before left in other caches, or in
 *            memory; these do not count.
 * Cost       Two reads of the processor's counter per chunk; at most 1 % of the time for pieces of
 *            the dearer kind.
 * Excluded   Lines that this rank has just read: a plain store to them does not wait. Sums that a
 *            rank writes into a peer's vector, or over the peer's input in its arena, are such lines.
 * Invariant  The kind changes no byte and no order: streamed bytes are fenced before they are
 *            published. Each rank chooses for itself.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_STORES_H
#define TT_STORES_H

#include "core.h"

typedef enum tt_store { TT_PLAIN, TT_STREAMING, TT_STORES } tt_store;

/* Pieces that do not count after a change of kind, as many as an arena has places; pieces of a trial,
 * those included. */
enum { TT_STORE_WARM = 2, TT_STORE_TRIAL = TT_STORE_WARM + 1 };

/* The rule that selects the kind of each piece: of 1 << period pieces, TT_STORE_TRIAL are of the
 * other kind; period 0: all pieces are of one kind. Ranks show it to their peers. */
typedef struct tt_store_rule {
  uint8_t kind, period;
} tt_store_rule;

/* Ticks and bytes of one kind, of one call. */
typedef struct tt_spent {
  uint64_t ticks, bytes;
} tt_spent;

/* Estimates for vectors of one size. */
typedef struct tt_stores {
  float write[TT_STORES], read[TT_STORES]; /* ticks per byte; 0: not known */
  uint32_t pieces;                         /* of earlier calls; the same on all ranks */
  tt_store_rule rule;
  bool returned; /* the last such vectors had their sums returned in the places of their inputs */
} tt_stores;

enum { TT_STORE_SIZES = 24 };

/* The index of the estimates for vectors of that size: one for each power of two, in bytes. */
static inline int tt_store_size(size_t bytes) {
  const int k = tt_ceil_log2(bytes) - 10;
  return k < 0 ? 0 : k < TT_STORE_SIZES ? k : TT_STORE_SIZES - 1;
}

/* The rule for the next vector of that size. A place whose sum was returned is written by the rank that
 * has just read it: plainly, unless TUTTI_STORES says otherwise. */
static inline tt_store_rule tt_stores_rule(const tt_stores *s) {
  return s->returned && s->rule.period ? (tt_store_rule){TT_PLAIN, 0} : s->rule;
}

/* The kind for piece k; pieces are numbered over all calls. */
static inline tt_store tt_store_kind(tt_store_rule rule, uint32_t k) {
  const bool other = rule.period && (k & ((1u << rule.period) - 1)) < TT_STORE_TRIAL;
  return (tt_store)(rule.kind ^ other);
}
/* Does piece k measure its kind of stores? */
static inline bool tt_store_counts(tt_store_rule rule, uint32_t k) {
  const uint32_t at = k & ((1u << rule.period) - 1);
  const bool back = at >= TT_STORE_TRIAL && at < TT_STORE_TRIAL + TT_STORE_WARM;
  return !rule.period || (at >= TT_STORE_WARM && !back);
}

/* Ticks of the processor's counter; always 0 where no stores stream. */
static inline uint64_t tt_store_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

/* Counts n bytes since that moment; returns the moment of now. */
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

/* Updates the estimate by the time of one kind; returns the new estimate, in ticks per byte. An
 * outlier, such as a piece during which the rank lost its core, changes it little. */
float tt_store_estimate(float *estimate, const tt_spent *spent);
/* n sizes of which nothing is known; or always one kind, if TUTTI_STORES names it. */
void tt_stores_begin(tt_stores *s, int n, tt_store_rule rule);
/* The first rule, as TUTTI_STORES says. */
tt_store_rule tt_stores_wanted(void);
/* Learn from a call: what was written and read by each kind. Makes the next call's rule. */
void tt_stores_learn(tt_stores *s, const tt_spent write[TT_STORES], const tt_spent read[TT_STORES]);

/* to = from, n bytes that do not overlap. Streamed bytes may be published after
 * tt_store_fence. */
void tt_store_copy(tt_store kind, void *to, const void *from, size_t n);
static inline void tt_store_fence(tt_store kind) {
#if defined(__x86_64__)
  if (kind == TT_STREAMING) __builtin_ia32_sfence();
#else
  (void)kind;
#endif
}

#endif
