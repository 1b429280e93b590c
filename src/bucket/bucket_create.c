/* bucket_create.c - registers tensors, identically on all ranks, divides them among buckets, creates the
 * buckets' requests, and frees everything.
 *
 * Idea       Every rank takes part in both agreements, even if its own list was rejected, so that no rank waits in vain
 *            and all ranks learn of the error.
 * Cut        A tensor joins the open bucket of its type, which is closed when it is long enough. Buckets are ordered by
 *            their last tensors, since no bucket can start before its last tensor is ready.
 * Length     With k buckets of t seconds each, computation may hide up to k t. The last bucket runs when the
 *            computation has ended, so its time t is always waited for. The k that minimizes (k + 1) t(total / k)
 *            balances latency against overlap, and depends only on the predicted time.
 * Invariant  The cut follows from counts, types, order and length, so it is the same on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"
#include "call.h"
#include "process.h"

static const char WHO[] = "tutti_buckets_create";

/* The values that all ranks compare before they create buckets. */
typedef struct pledge {
  uint64_t n, tensors, config;
  int64_t status, provides;
} pledge;

static pledge pledge_of(const tutti_buckets *b, tutti_status status) {
  const tutti_buckets_config *c = &b->config;
  pledge p = {.n = b->n, .status = status, .provides = b->provides};
  p.config = tt_mix(tt_mix(c->bytes) ^ (uint64_t)(!!c->sum + 2 * !!c->learn + 4 * !!c->bf16)) ^
             (uint64_t)b->bytes;
  p.config = tt_mix(p.config) ^ tt_code_hash(&b->wish);
  for (size_t i = 0; b->tensors && i < b->n; i++)
    p.tensors = tt_mix(p.tensors ^ b->tensors[i].count << 5 ^ (uint64_t)b->tensors[i].type);
  return p;
}

/* Compares the tensors of all ranks. Returns an error if this rank's list or that of another rank was rejected, or if the lists
 * differ. A helper has no tensors in memory, so it learns from other ranks whether the library provides their memory. */
static tutti_status agree_on_buckets(tutti_buckets *b, tutti_status mine) {
  const int P = tutti_comm_size(b->comm), data = P - tt_comm_helpers(b->comm);
  const pledge own = pledge_of(b, mine);
  char why[TT_WHY];
  pledge *all = malloc((size_t)P * sizeof *all);
  snprintf(why, sizeof why, "%s", tutti_error());
  tutti_status status = all ? tt_gather(b->comm, "tutti_buckets_create", &own, all, sizeof own)
                            : tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", WHO);
  for (int r = 0; r < P && !status && mine == TUTTI_OK; r++) {
    if (all[r].status)
      status = tt_fail(TUTTI_ERR_MISMATCH, "%s: rank %d was refused (%s); its sentence says why",
                       WHO, r, tutti_strerror((tutti_status)all[r].status));
    else if (all[r].n != all[0].n)
      status = tt_fail(TUTTI_ERR_MISMATCH, "%s: rank %d registers %llu tensors, rank 0 %llu", WHO,
                       r, (unsigned long long)all[r].n, (unsigned long long)all[0].n);
    else if (all[r].tensors != all[0].tensors)
      status = tt_fail(TUTTI_ERR_MISMATCH,
                       "%s: rank %d's tensors have other counts, types or another order than "
                       "rank 0's; register the same in the same order",
                       WHO, r);
    else if (all[r].config != all[0].config)
      status = tt_fail(TUTTI_ERR_MISMATCH, "%s: rank %d's config is not rank 0's", WHO, r);
    else if (r < data && all[r].provides != all[0].provides)
      status = tt_fail(
          TUTTI_ERR_MISMATCH,
          "%s: rank %d %s, rank 0 does not; pass memory on all ranks, or NULL on all", WHO, r,
          all[r].provides ? "leaves its tensors' memory to tutti" : "brings its tensors' memory");
  }
  if (all && !status) b->provides = all[0].provides;
  free(all);
  return mine && !status ? tt_fail(mine, "%s", why) : status;
}

/* ---- cutting ---- */

/* Returns the bucket length, in bytes, that minimizes the predicted time for `total` bytes. Returns 0 if the estimate fails. */
static size_t bucket_bytes(tutti_comm *comm, uint64_t total) {
  tt_chooser *chooser = tt_chooser_for(comm, &(tt_call){.coll = TUTTI_ALLREDUCE});
  double least = 0;
  uint64_t best = total;
  for (uint64_t k = 1; total / k >= 64; k += 1 + k / 4) {
    const double all = (double)(k + 1) * tt_seconds_of(chooser, TUTTI_ALLREDUCE, total / k);
    if (all < 0) return 0;
    if (k == 1 || all < least) best = total / k, least = all;
    if (k > 1 && all > 2 * least) break; /* more buckets would only take longer */
  }
  return best ? (size_t)best : 1;
}

enum { NONE = -1 };

/* Assigns tensors to buckets, which are numbered by their first tensors, and returns the number of buckets. Sets last[k] to the
 * index in b->order of the last tensor in bucket k. */
static size_t assign(tutti_buckets *b, size_t *last) {
  size_t open[TUTTI_TYPE_COUNT], bytes[TUTTI_TYPE_COUNT], nbuckets = 0;
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) open[t] = (size_t)NONE;
  for (size_t turn = 0; turn < b->n; turn++) {
    const size_t i = b->order[turn];
    const tutti_type t = b->tensors[i].type;
    if (open[t] == (size_t)NONE) open[t] = nbuckets++, bytes[t] = 0;
    b->of[i] = open[t];
    last[open[t]] = turn;
    bytes[t] += b->tensors[i].count * tutti_type_size(t);
    if (bytes[t] >= b->bytes) open[t] = (size_t)NONE;
  }
  return nbuckets;
}

tutti_status tt_bucket_cut(tutti_buckets *b) {
  size_t *last = malloc((b->n + 1) * sizeof *last), *turn = malloc((b->n + 1) * sizeof *turn);
  if (last && turn) {
    const size_t nbuckets = assign(b, last);
    b->nbuckets = 0;
    for (size_t at = 0; at < b->n; at++) { /* renumber buckets by their last tensors */
      const size_t k = b->of[b->order[at]];
      if (last[k] == at) turn[k] = b->nbuckets++;
    }
    for (size_t i = 0; i < b->n; i++) b->of[i] = turn[b->of[i]];
    b->buckets = calloc(nbuckets + 1, sizeof *b->buckets);
  }
  free(last);
  free(turn);
  if (!last || !turn || !b->buckets)
    return tt_fail(TUTTI_ERR_MEMORY, "tutti_buckets: out of memory for %zu tensors", b->n);
  for (size_t i = 0; i < b->n; i++) {
    tt_bucket *k = &b->buckets[b->of[i]];
    k->n++;
    k->type = b->tensors[i].type;
    k->elements += b->tensors[i].count;
  }
  size_t from = 0;
  for (size_t k = 0; k < b->nbuckets; from += b->buckets[k++].n) {
    b->buckets[k].members = b->members + from;
    b->buckets[k].left = 0;
  }
  for (size_t turn_of = 0; turn_of < b->n; turn_of++) {
    const size_t i = b->order[turn_of];
    tt_bucket *k = &b->buckets[b->of[i]];
    b->members[(size_t)(k->members - b->members) + k->left++] = i;
  }
  return TUTTI_OK;
}

/* ---- requests ---- */

/* Creates a single request that sums a bucket as a list of buffers. Adjacent tensors share a buffer. */
static tutti_status in_one_go(tutti_buckets *b, tt_bucket *k) {
  void **at = malloc((k->n + 1) * sizeof *at);
  size_t *counts = malloc((k->n + 1) * sizeof *counts);
  tutti_status status = TUTTI_ERR_MEMORY;
  size_t n = 0;
  for (size_t m = 0; at && counts && m < k->n; m++) {
    const size_t i = k->members[m];
    if (m && tt_bucket_adjoin(b, k->members[m - 1], i)) {
      counts[n - 1] += b->tensors[i].count;
      continue;
    }
    at[n] = b->tensors[i].data;
    counts[n++] = b->tensors[i].count;
  }
  if (at && counts)
    status = tutti_call_init(b->comm,
                             &(tutti_call){.size = sizeof(tutti_call),
                                           .coll = TUTTI_ALLREDUCE,
                                           .n = n,
                                           .srcs = (const void *const *)at,
                                           .dsts = (void *const *)at,
                                           .counts = counts,
                                           .type = k->type,
                                           .op = b->config.sum ? TUTTI_SUM : TUTTI_AVG},
                             &k->sum);
  else
    tt_fail(status, "tutti_buckets: out of memory for a bucket of %zu tensors", k->n);
  free(at);
  free(counts);
  return status;
}

tutti_status tt_bucket_requests(tutti_buckets *b) {
  tutti_status status = TUTTI_OK;
  for (size_t k = 0; k < b->nbuckets && !status; k++)
    status = tt_bucket_is_bf16(b, &b->buckets[k])      ? tt_half_open(b, &b->buckets[k])
             : tt_bucket_is_lighter(b, &b->buckets[k]) ? tt_lighter_open(b, &b->buckets[k])
                                                       : in_one_go(b, &b->buckets[k]);
  return status;
}

void tt_bucket_drop(tutti_buckets *b) {
  for (size_t k = 0; b->buckets && k < b->nbuckets; k++) {
    tutti_request_free(&b->buckets[k].sum);
    tutti_request_free(&b->buckets[k].gather);
    tt_half_close(b, &b->buckets[k]);
    tt_lighter_close(b, &b->buckets[k]);
  }
  free(b->buckets);
  b->buckets = NULL;
}

/* ---- local checks ---- */

/* Determines whether the library provides the memory of the tensors. It is an error if only some pointers are NULL. */
static tutti_status check_memory(tutti_buckets *b, const tutti_tensor *tensors) {
  size_t null = b->n, given = b->n;
  for (size_t i = 0; i < b->n; i++)
    if (tensors[i].count) *(tensors[i].data ? &given : &null) = i;
  b->provides = null < b->n;
  if (!b->provides || given == b->n) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG,
                 "%s: tensor %zu is NULL and tensor %zu is not; give memory for all tensors, or "
                 "NULL for all of them, so that tutti provides it",
                 WHO, null, given);
}

/* Returns an error if a tensor is on a device, because rounding with error feedback requires host memory. */
static tutti_status check_on_host(const tutti_buckets *b, const tutti_tensor *tensors) {
  int number;
  for (size_t i = 0; i < b->n && !b->provides; i++)
    if (tensors[i].count && tt_on_device(tensors[i].data, &number))
      return tt_fail(TUTTI_ERR_UNSUPPORTED,
                     "%s: tensor %zu is on device %d, and buckets with bf16 or a code are for "
                     "memory of the host",
                     WHO, i, number);
  return TUTTI_OK;
}

static tutti_status set_compression(tutti_buckets *b) {
  tutti_config config = {.size = sizeof config};
  const tutti_status status = tutti_comm_config(b->comm, &config);
  config.compression = b->config.compression;
  return status ? status : tutti_comm_configure(b->comm, &config);
}

static tutti_status check_tensors(tutti_buckets *b, const tutti_tensor *tensors) {
  const int helpers = tt_comm_helpers(b->comm);
  const bool helps = tutti_comm_rank(b->comm) >= tutti_comm_size(b->comm) - helpers;
  if (b->n && !tensors) return tt_fail(TUTTI_ERR_ARG, "%s: tensors is NULL", WHO);
  tutti_status status = helps ? TUTTI_OK : check_memory(b, tensors);
  for (size_t i = 0; i < b->n && !status; i++) {
    char name[40];
    snprintf(name, sizeof name, "tensor %zu", i);
    const tutti_tensor *t = &tensors[i];
    status = tt_vector_check(WHO, name, t->data, helps || b->provides ? 0 : t->count, t->type);
    if (!status && !tutti_type_has_op(t->type, TUTTI_SUM))
      status = tt_fail(TUTTI_ERR_OP, "%s: %s is of type %s, which has no sum", WHO, name,
                       tutti_type_name(t->type));
  }
  if (!status && (b->config.bf16 || b->config.compression)) status = check_on_host(b, tensors);
  if (!status && b->config.bf16 && (helpers || tt_comm_contract(b->comm) >= TUTTI_CONTRACT_ELEMENT))
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: no bf16 %s", WHO,
                   helpers ? "with ranks that bring no data (tutti_config.helpers)"
                           : "under the contracts element and exact: it rounds the inputs");
  if (!status && b->config.compression) status = set_compression(b);
  b->config.compression = NULL; /* the string belongs to the caller */
  b->wish = tt_comm_wish(b->comm);
  return status;
}

static tutti_status register_tensors(tutti_buckets *b, const tutti_tensor *tensors) {
  const size_t n = b->n + 1;
  uint64_t total = 0;
  size_t floats = 0;
  b->tensors = calloc(n, sizeof *b->tensors);
  b->ready = calloc(n, sizeof *b->ready);
  b->order = calloc(6 * n, sizeof *b->order);
  const bool made = b->tensors && b->ready && b->order;
  if (made) {
    b->members = b->order + n;
    b->of = b->members + n;
    b->seen = b->of + n;
    b->place = b->seen + n;
    b->offset = b->place + n;
  }
  for (size_t i = 0; made && i < b->n; i++) {
    b->tensors[i] = tensors[i];
    b->order[i] = i;
    b->place[i] = floats;
    if (b->config.bf16 && tensors[i].type == TUTTI_FLOAT) floats += tensors[i].count;
    total += tensors[i].count * tutti_type_size(tensors[i].type);
  }
  if (made && floats) b->residual = calloc(floats, sizeof *b->residual);
  if (!made || (floats && !b->residual))
    return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for %zu tensors", WHO, b->n);
  b->bytes = b->config.bytes ? b->config.bytes : bucket_bytes(b->comm, total);
  return b->bytes ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for estimates", WHO);
}

/* ---- creating and freeing ---- */

static void want_thread(tutti_buckets *b, bool on) {
  if (!on && !b->has_thread) return;
  tt_thread_want(on);
  b->has_thread = on;
}

static void forget(tutti_buckets *b) {
  want_thread(b, false);
  tt_bucket_drop(b);
  tutti_mem_free(b->comm, b->memory);
  tutti_comm_free(b->results);
  tutti_comm_free(b->comm);
  free(b->tensors);
  free(b->order);
  free(b->ready);
  free(b->residual);
  free(b);
}

static tutti_status create_buckets(tutti_buckets *b, const tutti_tensor *tensors) {
  tutti_status status = check_tensors(b, tensors);
  if (!status) status = register_tensors(b, tensors);
  if (!status) status = tt_bucket_cut(b);
  if (!status) status = tt_bucket_memory(b);
  status = agree_on_buckets(b, status);
  if (status) return status;
  if (b->config.bf16) status = tutti_comm_dup(b->comm, &b->results);
  if (status) return status;
  return agree_on_buckets(b, tt_bucket_requests(b));
}

tutti_status tutti_buckets_create(tutti_comm *comm, size_t n, const tutti_tensor *tensors,
                                  const tutti_buckets_config *config, tutti_buckets **buckets) {
  tutti_status status = tt_args_given(WHO, "comm", comm, "buckets", buckets);
  if (status) return status;
  *buckets = NULL;
  if (config && (status = tt_size_check(WHO, "config", config->size, sizeof *config)))
    return status;
  if (n > PTRDIFF_MAX / sizeof *tensors)
    return tt_fail(TUTTI_ERR_ARG, "%s: %zu tensors are more than any memory holds", WHO, n);
  tutti_buckets *b = calloc(1, sizeof *b);
  if (!b) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", WHO);
  b->n = n;
  if (config) b->config = *config;
  status = tutti_comm_dup(comm, &b->comm);
  if (!status) status = create_buckets(b, tensors);
  if (status) {
    char why[TT_WHY];
    snprintf(why, sizeof why, "%s", tutti_error());
    forget(b);
    return tt_fail(status, "%s", why);
  }
  if (b->config.thread) want_thread(b, true);
  *buckets = b;
  return TUTTI_OK;
}

/* Aborts the operations in flight. If a rank was lost or the communicator is broken, peers notice without an abort. */
static void give_up(const tutti_buckets *b, tutti_comm *comm) {
  if (comm && !tt_comm_failed(comm) && b->failed != TUTTI_ERR_PEER_LOST)
    tutti_comm_abort(comm, b->why);
}

/* Ends all sums in flight after a failure. */
static void quiesce_buckets(tutti_buckets *b) {
  give_up(b, b->comm);
  give_up(b, b->results);
  for (size_t k = 0; b->buckets && k < b->nbuckets; k++) {
    tutti_request_wait(&b->buckets[k].sum);
    tutti_request_wait(&b->buckets[k].gather);
  }
}

tutti_status tutti_buckets_free(tutti_buckets *b) {
  tutti_status status = tt_alive();
  if (status || !b) return status;
  for (size_t k = 0; k < b->started && !b->failed; k++)
    if (b->buckets[k].state != TT_SUMMED)
      return tt_fail(TUTTI_ERR_STATE,
                     "tutti_buckets_free: sums are in flight; wait for the step to end");
  if (b->failed) quiesce_buckets(b);
  forget(b);
  return TUTTI_OK;
}
