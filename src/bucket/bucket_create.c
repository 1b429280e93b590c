/* bucket_create.c - registers tensors, identically on all ranks, and frees them.
 *
 * Idea       every rank takes part in both agreements, even if its own list is refused: no rank
 *            waits in vain, and all learn of the refusal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"
#include "call.h"

static const char WHO[] = "tutti_buckets_create";

/* What ranks compare before they create buckets. */
typedef struct pledge {
  uint64_t n, tensors, config;
  int64_t status;
} pledge;

static pledge pledge_of(const tutti_buckets *b, tutti_status status) {
  const tutti_buckets_config *c = &b->config;
  pledge p = {.n = b->n, .status = status};
  p.config = tt_mix(tt_mix(c->bytes) ^ (uint64_t)(!!c->sum + 2 * !!c->learn + 4 * !!c->bf16)) ^
             (uint64_t)b->bytes;
  for (size_t i = 0; b->tensors && i < b->n; i++)
    p.tensors = tt_mix(p.tensors ^ b->tensors[i].count << 5 ^ (uint64_t)b->tensors[i].type);
  return p;
}

/* Returns this rank's status, or an error if another rank was refused or has different tensors. */
static tutti_status agree_on_buckets(tutti_buckets *b, tutti_status mine) {
  const int P = b->comm->ranks;
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
  }
  free(all);
  return mine && !status ? tt_fail(mine, "%s", why) : status;
}

/* ---- local checks ---- */

static tutti_status check_tensors(const tutti_buckets *b, const tutti_tensor *tensors) {
  const bool helps = b->comm->rank >= b->comm->ranks - b->comm->helpers;
  if (b->n && !tensors) return tt_fail(TUTTI_ERR_ARG, "%s: tensors is NULL", WHO);
  for (size_t i = 0; i < b->n; i++) {
    char name[40];
    snprintf(name, sizeof name, "tensor %zu", i);
    const tutti_tensor *t = &tensors[i];
    tutti_status status = tt_vector_check(WHO, name, t->data, helps ? 0 : t->count, t->type);
    if (status) return status;
    if (!tutti_type_has_op(t->type, TUTTI_SUM))
      return tt_fail(TUTTI_ERR_OP, "%s: %s is of type %s, which has no sum", WHO, name,
                     tutti_type_name(t->type));
  }
  if (b->config.bf16 && (b->comm->helpers || b->comm->settings.contract == TUTTI_CONTRACT_EXACT))
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: no bf16 %s", WHO,
                   b->comm->helpers ? "with ranks that bring no data (tutti_comm_set_helpers)"
                                    : "under the contract exact: what is rounded is not exact");
  return TUTTI_OK;
}

static tutti_status register_tensors(tutti_buckets *b, const tutti_tensor *tensors) {
  const size_t n = b->n + 1;
  uint64_t total = 0;
  size_t floats = 0;
  b->tensors = calloc(n, sizeof *b->tensors);
  b->order = calloc(n, sizeof *b->order);
  b->members = calloc(n, sizeof *b->members);
  b->of = calloc(n, sizeof *b->of);
  b->seen = calloc(n, sizeof *b->seen);
  b->ready = calloc(n, sizeof *b->ready);
  b->place = calloc(n, sizeof *b->place);
  const bool made =
      b->tensors && b->order && b->members && b->of && b->seen && b->ready && b->place;
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
  b->bytes = b->config.bytes ? b->config.bytes : tt_bucket_bytes(b->comm, total);
  return b->bytes ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for prices", WHO);
}

/* ---- creating and freeing ---- */

static void want_thread(tutti_buckets *b, bool on) {
  if (!on && !b->has_thread) return;
  pthread_mutex_lock(&tt_process.lock);
  atomic_fetch_add_explicit(&tt_process.progress_thread.wanted, on ? 1 : -1, memory_order_relaxed);
  b->has_thread = on;
  pthread_mutex_unlock(&tt_process.lock);
}

static void forget(tutti_buckets *b) {
  want_thread(b, false);
  tt_bucket_drop(b);
  tutti_comm_free(b->results);
  tutti_comm_free(b->comm);
  free(b->tensors);
  free(b->order);
  free(b->members);
  free(b->of);
  free(b->seen);
  free(b->ready);
  free(b->place);
  free(b->residual);
  free(b);
}

static tutti_status create_buckets(tutti_buckets *b, const tutti_tensor *tensors) {
  tutti_status status = check_tensors(b, tensors);
  if (!status) status = register_tensors(b, tensors);
  status = agree_on_buckets(b, status);
  if (status) return status;
  if (b->config.bf16) status = tutti_comm_dup(b->comm, &b->results);
  if (status) return status;
  status = tt_bucket_cut(b);
  if (!status) status = tt_bucket_requests(b);
  return agree_on_buckets(b, status);
}

tutti_status tutti_buckets_create(tutti_comm *comm, size_t n, const tutti_tensor *tensors,
                                  const tutti_buckets_config *config, tutti_buckets **buckets) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !buckets)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", WHO, comm ? "buckets" : "comm");
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

/* Aborts the operations in flight. Peers learn of a lost rank or a broken communicator by
 * themselves. */
static void give_up(const tutti_buckets *b, tutti_comm *comm) {
  if (comm && !comm->broken && b->failed != TUTTI_ERR_PEER_LOST) tutti_comm_abort(comm, b->why);
}

/* After a failure: ends all sums in flight. */
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
