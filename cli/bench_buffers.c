/* bench_buffers.c - the buffers of a measured call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "bench.h"

static bool parts(tutti_coll coll) {
  return coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_ALLGATHER || coll == TUTTI_GATHER ||
         coll == TUTTI_SCATTER || coll == TUTTI_ALLTOALL;
}

size_t bench_count(int ranks, const bench_options *o, size_t bytes, size_t *whole) {
  const size_t share = parts(o->coll) ? (size_t)ranks : 1;
  const size_t element = tutti_type_size(o->type) * share;
  const size_t count = bytes / element ? bytes / element : 1;
  *whole = count * element;
  return o->coll == TUTTI_BARRIER ? 0 : count;
}

void bench_release(const bench_job *job, const bench_options *o, bench_buffers *m) {
  if (o->alloc) {
    tutti_mem_free(job->comm, m->a);
    tutti_mem_free(job->comm, m->b);
  } else {
    free(m->a);
    free(m->b);
  }
  *m = (bench_buffers){NULL, NULL};
}

tutti_status bench_acquire(const bench_job *job, const bench_options *o, size_t bytes,
                           bench_buffers *m) {
  *m = (bench_buffers){NULL, NULL};
  if (o->alloc) {
    tutti_status status = tutti_mem_alloc(job->comm, bytes, &m->a);
    return status ? status : tutti_mem_alloc(job->comm, bytes, &m->b);
  }
  m->a = malloc(bytes);
  m->b = malloc(bytes);
  return m->a && m->b ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

bench_call bench_call_of(const bench_job *job, const bench_options *o, size_t count, size_t whole,
                         const bench_buffers *m, bool in_place) {
  const size_t part = count * tutti_type_size(o->type), mine = (size_t)job->rank * part;
  bench_call c = {o->coll, o->type, o->op, (int)o->root, count, whole, whole, m->a, m->b};
  if (o->coll == TUTTI_REDUCE_SCATTER || o->coll == TUTTI_SCATTER) {
    c.dst_bytes = part;
    if (in_place) c.dst = (char *)c.src + mine;
  } else if (o->coll == TUTTI_ALLGATHER || o->coll == TUTTI_GATHER) {
    c.src_bytes = part;
    if (in_place) c.src = (char *)c.dst + mine;
  } else if (in_place) {
    c.dst = c.src;
  }
  if (o->coll == TUTTI_BARRIER) c.src_bytes = c.dst_bytes = 0;
  return c;
}
