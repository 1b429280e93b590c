/* cusim_kernels.c - modules and launches of the simulated driver.
 *
 * Idea       A launch runs its threads one after the other, in a random order: blocks are shuffled,
 *            and so are the threads of each block. Each address that a thread accesses is looked up
 *            among the allocations that the launch has accessed. The bytes are recorded in two bit
 *            sets, for reads and writes, which are used to search for races at the end.
 * Cost       About 50 ns per access; a bit for each byte of the allocations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cusim.h"
#include "ptx_machine.h"

enum { MOST_THREADS = 1024, MOST_USED = 512, BITS = 64 };

typedef struct module {
  ptx_module *code;
  void **handles; /* handles of its functions, in the same order; NULL if not requested yet */
} module;

typedef struct used { /* an allocation that the launch accesses */
  cusim_alloc *alloc;
  uint64_t base; /* address of the first bit, rounded down */
  uint64_t *reads, *writes;
  uint64_t least, most; /* range of words with bits that are set */
} used;

typedef struct ptx_launch {
  const ptx_function *function;
  unsigned grid[3], block[3];
  unsigned char *params;
  cusim_op *op;
  used *used;
  int nused, last;
  const char *why; /* why an address was rejected */
} launch;

/* ---- modules ---- */

static void free_module(module *m) {
  ptx_free(m->code);
  free(m->handles);
  free(m);
}

CUresult cuModuleLoadData(CUmodule *handle, const void *image) {
  cusim_device *d;
  char text[256];
  CUresult why = cusim_begin(CALL_cuModuleLoadData, &d);
  if (why) return why;
  if (!handle || !image) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if (cusim.strict && (why = cusim_settle(d, CALL_cuModuleLoadData, NULL))) return cusim_end(why);
  module *m = calloc(1, sizeof *m);
  if (m) m->code = ptx_parse(image, text, sizeof text);
  if (m && !m->code) {
    cusim_say("cuModuleLoadData: PTX, %s", text);
    free(m);
    return cusim_end(CUDA_ERROR_INVALID_PTX);
  }
  if (m) m->handles = calloc((size_t)m->code->n + 1, sizeof *m->handles);
  void *name = m && m->handles ? cusim_handle_new(IS_MODULE, d, m) : NULL;
  if (!name) {
    if (m) free_module(m);
    return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  *handle = name;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule handle) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuModuleUnload, NULL);
  if (why) return why;
  module *m = cusim_handle_get(IS_MODULE, handle, &d);
  if (!m) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if ((why = cusim_settle(d, CALL_cuModuleUnload, NULL)) == CUDA_ERROR_UNKNOWN)
    return cusim_end(why);
  for (int f = 0; f < m->code->n; f++)
    if (m->handles[f]) cusim_handle_drop(m->handles[f]);
  cusim_handle_drop(handle);
  free_module(m);
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuModuleGetFunction, &d);
  if (why) return why;
  const module *m = cusim_handle_get(IS_MODULE, handle, NULL);
  if (!m) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  int f = 0;
  while (f < m->code->n && strcmp(m->code->functions[f].name, name) != 0) f++;
  if (f == m->code->n) return cusim_end(CUDA_ERROR_NOT_FOUND);
  if (!m->handles[f]) m->handles[f] = cusim_handle_new(IS_FUNCTION, d, &m->code->functions[f]);
  *function = m->handles[f];
  return cusim_end(*function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuFuncGetAttribute, &d);
  if (why) return why;
  const ptx_function *f = cusim_handle_get(IS_FUNCTION, function, NULL);
  if (!f) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (!value || attribute != CU_FUNC_ATTRIBUTE_NUM_REGS) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  *value = f->nslots;
  return cusim_end(CUDA_SUCCESS);
}

/* ---- memory that a launch accesses ---- */

/* Adds another allocation to the launch. Returns NULL if the launch may not access it. */
static used *use_another(launch *l, uint64_t at, unsigned bytes) {
  pthread_mutex_lock(&cusim.lock);
  cusim_alloc *a = cusim_reach(l->op->stream->device, at, bytes, &l->why);
  if (a) a->users++;
  pthread_mutex_unlock(&cusim.lock);
  if (!a) return NULL;
  const size_t words = a->bytes / BITS + 2;
  uint64_t *reads = calloc(words, 8), *writes = calloc(words, 8);
  if (!reads || !writes || l->nused == MOST_USED) {
    free(reads);
    free(writes);
    pthread_mutex_lock(&cusim.lock);
    cusim_release(a);
    pthread_mutex_unlock(&cusim.lock);
    l->why = "the simulator has no room for more allocations";
    return NULL;
  }
  l->last = l->nused++;
  l->used[l->last] = (used){a, a->at / BITS * BITS, reads, writes, UINT64_MAX, 0};
  return &l->used[l->last];
}

static bool holds(const used *u, uint64_t at, unsigned bytes) {
  const uint64_t offset = at - u->alloc->at;
  return offset < u->alloc->bytes && bytes <= u->alloc->bytes - offset;
}

/* Threads access their operands alternately, so the allocation is often the same as for the last access, or the
 * following one. */
static used *find_used(launch *l, uint64_t at, unsigned bytes) {
  const int n = l->nused;
  for (int tried = 0; tried < n; tried++) {
    const int i = (l->last + tried) % n;
    if (!holds(&l->used[i], at, bytes)) continue;
    l->last = i;
    return &l->used[i];
  }
  return use_another(l, at, bytes);
}

/* Records an aligned access, whose bits are all in one word. */
static unsigned char *touch(void *self, uint64_t at, unsigned bytes, bool writes) {
  launch *l = self;
  used *u = find_used(l, at, bytes);
  if (!u) return NULL;
  const uint64_t word = (at - u->base) / BITS, bits = ((1ull << bytes) - 1) << (at % BITS);
  (writes ? u->writes : u->reads)[word] |= bits;
  if (word < u->least) u->least = word;
  if (word > u->most) u->most = word;
  return u->alloc->host + (at - u->alloc->at);
}

/* ---- ranges ---- */

typedef struct ranges {
  cusim_range *list;
  size_t n, room;
  bool failed;
} ranges;

static void add_range(ranges *r, uint64_t from, uint64_t to, bool writes) {
  if (r->n == r->room) {
    const size_t more = r->room ? 2 * r->room : 64;
    cusim_range *longer = realloc(r->list, more * sizeof *longer);
    r->failed |= !longer;
    if (!longer) return;
    r->list = longer, r->room = more;
  }
  r->list[r->n++] = (cusim_range){from, to, writes};
}

/* Combines consecutive bytes of one kind into ranges. Bytes that were both read and written count as written. */
static void add_ranges(ranges *r, const used *u) {
  enum { NONE, READ, WRITTEN } state = NONE, next;
  uint64_t from = 0;
  if (u->least > u->most) return;
  for (uint64_t w = u->least; w <= u->most + 1; w++) {
    const bool end = w > u->most;
    const uint64_t written = end ? 0 : u->writes[w], read = end ? 0 : u->reads[w] & ~written;
    if ((state == WRITTEN && !~written) || (state == READ && !~read) ||
        (state == NONE && !(read | written)))
      continue;
    for (unsigned b = 0; b < (end ? 1 : BITS); b++) {
      next = written >> b & 1 ? WRITTEN : read >> b & 1 ? READ : NONE;
      if (next == state) continue;
      const uint64_t at = u->base + w * BITS + b;
      if (state != NONE) add_range(r, from, at, state == WRITTEN);
      from = at;
      state = next;
    }
  }
}

static int by_address(const void *a, const void *b) {
  const used *x = a, *y = b;
  return (x->base > y->base) - (x->base < y->base);
}

/* Records all accessed bytes, and releases the allocations. */
static CUresult end_use(launch *l) {
  ranges r = {0};
  qsort(l->used, (size_t)l->nused, sizeof *l->used, by_address);
  for (int i = 0; i < l->nused; i++) {
    add_ranges(&r, &l->used[i]);
    free(l->used[i].reads);
    free(l->used[i].writes);
  }
  pthread_mutex_lock(&cusim.lock);
  const CUresult why = r.failed ? CUDA_ERROR_OUT_OF_MEMORY : cusim_note(l->op, r.list, r.n);
  for (int i = 0; i < l->nused; i++) cusim_release(l->used[i].alloc);
  pthread_mutex_unlock(&cusim.lock);
  free(r.list);
  return why;
}

/* ---- launches ---- */

/* All numbers below n in a random order: start + i * stride, where n and the stride have no common divisor. */
typedef struct shuffle {
  uint64_t n, start, stride;
} shuffle;

static shuffle shuffle_of(uint64_t n, unsigned long long *random) {
  shuffle s = {n, cusim_random(random) % n, 1};
  for (int tries = 0; tries < 64; tries++) {
    uint64_t a = n, b = s.stride = cusim_random(random) % n + 1;
    while (b) {
      const uint64_t rest = a % b;
      a = b, b = rest;
    }
    if (a == 1) return s;
  }
  s.stride = 1;
  return s;
}

static uint64_t shuffled(const shuffle *s, uint64_t i) {
  return (uint64_t)((s->start + (unsigned __int128)i * s->stride) % s->n);
}

static void place(uint64_t *three, uint64_t i, const unsigned size[3]) {
  three[0] = i % size[0];
  three[1] = i / size[0] % size[1];
  three[2] = i / size[0] / size[1];
}

static CUresult run_block(launch *l, uint64_t *slots, ptx_world *w, uint64_t block,
                          unsigned long long *random) {
  const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  const shuffle order = shuffle_of(threads, random);
  for (int c = 0; c < 3; c++) slots[3 + c] = l->block[c], slots[9 + c] = l->grid[c];
  place(slots + 6, block, l->grid);
  for (uint64_t t = 0; t < threads; t++) {
    place(slots, shuffled(&order, t), l->block);
    const CUresult why = ptx_run(l->function, slots, w);
    if (why) return why;
  }
  return CUDA_SUCCESS;
}

static CUresult run_launch(cusim_op *op) {
  launch *l = op->launch;
  cusim_device *d = op->stream->device;
  const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
  const shuffle order = shuffle_of(blocks, &op->stream->random);
  uint64_t *slots = calloc((size_t)l->function->nslots, sizeof *slots);
  unsigned char *local = calloc(1, l->function->local_bytes + 1u);
  ptx_world w = {
      .params = l->params, .local = local, .touch = touch, .self = l, .steps = cusim.steps};
  l->used = calloc(MOST_USED, sizeof *l->used);
  CUresult why = slots && local && l->used ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  for (uint64_t b = 0; b < blocks && !why; b++) {
    why = run_block(l, slots, &w, shuffled(&order, b), &op->stream->random);
    pthread_mutex_lock(&cusim.lock);
    if (why)
      cusim_die(d, why, "the kernel %s failed with %d in line %d of its text, at %#llx%s%s",
                l->function->name, why, w.bad_line, (unsigned long long)w.bad_address,
                l->why ? ": " : "", l->why ? l->why : "");
    why = d->error;
    pthread_mutex_unlock(&cusim.lock);
  }
  if (l->used) {
    const CUresult race = end_use(l);
    if (!why) why = race;
  }
  free(l->used);
  free(local);
  free(slots);
  return why;
}

static CUresult make_launch(cusim_device *d, const ptx_function *f, const unsigned size[6],
                            cusim_stream *s, void **parameters) {
  cusim_op *op = cusim_op_new(CALL_cuLaunchKernel, s, run_launch);
  launch *l = calloc(1, sizeof *l + f->param_bytes);
  if (!op || !l) {
    free(op);
    free(l);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  l->function = f;
  l->op = op;
  memcpy(l->grid, size, sizeof l->grid);
  memcpy(l->block, size + 3, sizeof l->block);
  l->params = (unsigned char *)(l + 1);
  for (int p = 0; p < f->nparams; p++)
    memcpy(l->params + f->params[p].offset, parameters[p], f->params[p].bytes);
  op->launch = l;
  op->staged = l; /* freed with the operation */
  cusim_issue(op);
  return d->error;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void **parameters, void **extra) {
  cusim_device *d, *of;
  CUresult why = cusim_begin(CALL_cuLaunchKernel, &d);
  if (why) return why;
  const unsigned size[6] = {gx, gy, gz, bx, by, bz};
  const uint64_t threads = (uint64_t)bx * by * bz;
  const ptx_function *f = cusim_handle_get(IS_FUNCTION, function, &of);
  cusim_stream *s = cusim_stream_of(d, stream);
  if (!f || !s || of != d) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  for (int i = 0; i < 6; i++)
    if (size[i] < 1 || (i % 3 && size[i] > 65535)) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if (threads > MOST_THREADS || gx > INT32_MAX || shared || extra || (f->nparams && !parameters))
    return cusim_end(CUDA_ERROR_INVALID_VALUE);
  return cusim_end(make_launch(d, f, size, s, parameters));
}
