/* plan_import.c - `tutti plan import`: converts an MSCCL algorithm to a schedule, which the prover
 * has to accept.
 *
 * Idea      The thread blocks of all ranks are run once, without data, in an order that their
 *           dependences and messages allow. When a step runs, it is added to the schedule of its
 *           rank, so the steps are numbered in an order that works, and `derive` determines which
 *           steps have to wait. A step with several chunks becomes one step per chunk.
 * Scratch   A chunk of MSCCL's scratch may hold any part of the vector, but a block of tutti's tmp
 *           has the size of a particular block of the vector. Chunk c with part b of the vector is
 *           tmp[c * B + b].
 * Sums      For each slot, the number of ranks in its sum is known. The step that completes the sum
 *           is marked `last`.
 * Limits    Messages between two ranks arrive in the order of sending, so those of several channels
 *           must not cross.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "plan_xml.h"

typedef struct value { /* part: which part of the vector; ranks: how many are summed in it; 0 if
                          empty */
  int part, ranks;
} value;

typedef struct message {
  int from, to, channel;
  value value;
  struct message *next;
} message;

typedef struct importer {
  const xml_algo *a;
  FILE **to; /* the steps of each rank, as text */
  int *steps;
  value *holds; /* of each rank: the slots of i, o, and the scratch of each thread block */
  int places;   /* slots of a rank */
  int *at;      /* the next step of each thread block */
  message *first, **last;
  const char *why; /* the reason why it cannot be imported */
} importer;

/* Returns a pointer to a value in a buffer of a rank. If the algorithm works in place, the buffers i and o are the same. */
static value *at_place(importer *m, int rank, xml_place p, int chunk) {
  const xml_algo *a = m->a;
  const bool gathers = strcmp(a->coll, "allgather") == 0,
             scatters = strcmp(a->coll, "reduce_scatter") == 0;
  int i = p.at + chunk;
  if (p.buffer == 's') i += 2 * a->chunks;
  if ((p.buffer == 'i' && gathers) || (p.buffer == 'o' && scatters)) i += rank * a->part;
  if (p.buffer == 'i' && !a->in_place) i += a->chunks;
  const int end = p.buffer == 's'                  ? m->places
                  : a->in_place || p.buffer == 'o' ? a->chunks
                                                   : 2 * a->chunks;
  if (p.at < 0 || i >= end) m->why = "a step is outside of its buffer";
  return &m->holds[(size_t)rank * (size_t)m->places + (size_t)(p.at >= 0 && i < end ? i : 0)];
}

static void write_place(importer *m, int rank, const value *v) {
  const int i = (int)(v - &m->holds[(size_t)rank * (size_t)m->places]), chunks = m->a->chunks;
  if (i < chunks)
    fprintf(m->to[rank], "dst[%d]", i);
  else if (i < 2 * chunks)
    fprintf(m->to[rank], "src[%d]", i - chunks);
  else
    fprintf(m->to[rank], "tmp[%d]", (i - 2 * chunks) * chunks + v->part);
}

static void begin(importer *m, int rank, const char *what) {
  fprintf(m->to[rank], "  %d %s ", m->steps[rank]++, what);
}

static void end_sum(importer *m, int rank, const value *v, int before) {
  const bool reduces = strcmp(m->a->coll, "allgather") != 0;
  fprintf(m->to[rank], reduces && before < v->ranks && v->ranks == m->a->ranks ? " last\n" : "\n");
}

static void send(importer *m, int rank, int to, int channel, value *from) {
  message *s = calloc(1, sizeof *s);
  if (!s || !from->ranks) m->why = s ? "a step sends what nothing was written to" : "out of memory";
  if (!s) return;
  *s = (message){rank, to, channel, *from, NULL};
  *m->last = s;
  m->last = &s->next;
  begin(m, rank, "send");
  fprintf(m->to[rank], "->%d ", to);
  write_place(m, rank, from);
  fputc('\n', m->to[rank]);
}

/* Returns the oldest message from rank `from` to rank `to`, or NULL if no message exists or the channel differs. */
static message **oldest(importer *m, int from, int to, int channel) {
  for (message **at = &m->first; *at; at = &(*at)->next)
    if ((*at)->from == from && (*at)->to == to) return (*at)->channel == channel ? at : NULL;
  return NULL;
}

static value take(importer *m, message **at) {
  message *s = *at;
  const value v = s->value;
  *at = s->next;
  if (m->last == &s->next) m->last = at;
  free(s);
  return v;
}

/* dst = own op received value; if own is NULL, dst = received value. */
static void receive(importer *m, int rank, int from, value v, const value *own, value *dst) {
  const value mine = own ? *own : (value){0, 0};
  if (own && !mine.ranks) m->why = "a step reads what nothing was written to";
  begin(m, rank, own ? "recv_reduce" : "recv");
  fprintf(m->to[rank], "<-%d ", from);
  if (own) {
    char text[64] = "";
    FILE *keep = m->to[rank], *f = fmemopen(text, sizeof text, "w"); /* before dst changes */
    m->to[rank] = f;
    write_place(m, rank, own);
    fclose(f);
    m->to[rank] = keep;
    *dst = (value){v.part, v.ranks + mine.ranks};
    write_place(m, rank, dst);
    fprintf(keep, " = %s op in", text);
    end_sum(m, rank, dst, v.ranks > mine.ranks ? v.ranks : mine.ranks);
  } else {
    *dst = v;
    write_place(m, rank, dst);
    fputc('\n', m->to[rank]);
  }
}

/* dst = dst op src, or dst = src. */
static void local(importer *m, int rank, const value *src, value *dst, bool reduces) {
  const int before = dst->ranks;
  if (!src->ranks || (reduces && !before)) m->why = "a step reads what nothing was written to";
  begin(m, rank, reduces ? "reduce" : "copy");
  if (!reduces) *dst = *src;
  write_place(m, rank, dst);
  fprintf(m->to[rank], " = ");
  if (reduces) write_place(m, rank, dst), fprintf(m->to[rank], " op ");
  write_place(m, rank, src);
  if (reduces) dst->ranks += src->ranks;
  if (reduces)
    end_sum(m, rank, dst, before > src->ranks ? before : src->ranks);
  else
    fputc('\n', m->to[rank]);
}

/* ---- running ---- */

static bool may_run(const importer *m, const xml_block *b, const xml_step *s) {
  if (s->block < 0) return true;
  for (int i = 0; i < m->a->blocks; i++)
    if (m->a->block[i].gpu == b->gpu && m->a->block[i].id == s->block) return m->at[i] > s->step;
  return false;
}

/* Returns true if `count` chunks have arrived. A step can run only after all chunks that it receives have arrived. */
static bool has_arrived(importer *m, const xml_block *b, int count) {
  int n = 0;
  if (count && !oldest(m, b->recv, b->gpu, b->channel)) return false;
  for (const message *s = m->first; s; s = s->next)
    n += s->from == b->recv && s->to == b->gpu && s->channel == b->channel;
  return n >= count;
}

static void run_chunk(importer *m, int block, const xml_step *s, int chunk) {
  const xml_block *b = &m->a->block[block];
  if (s->kind == XML_NOP) return;
  const bool receives = s->kind >= XML_RECV && s->kind <= XML_RRCS;
  const bool reduces = s->kind == XML_RRC || s->kind == XML_RRS || s->kind == XML_RRCS;
  const bool sends = s->kind == XML_RCS || s->kind == XML_RRS || s->kind == XML_RRCS;
  const bool reads = !receives || reduces, writes = s->kind != XML_SEND && s->kind != XML_RRS;
  value *src = reads ? at_place(m, b->gpu, s->src, chunk) : NULL,
        *dst = writes ? at_place(m, b->gpu, s->dst, chunk) : NULL;
  if (s->kind == XML_RRS)
    dst = &m->holds[(size_t)b->gpu * (size_t)m->places +
                    (size_t)(2 * m->a->chunks + m->a->scratch + block)];
  if (s->kind == XML_SEND) {
    send(m, b->gpu, b->send, b->channel, src);
  } else if (receives) {
    message **at = oldest(m, b->recv, b->gpu, b->channel);
    if (!at) {
      m->why = "messages of several channels between two ranks cross";
      return;
    }
    receive(m, b->gpu, b->recv, take(m, at), reduces ? src : NULL, dst);
    if (sends) send(m, b->gpu, b->send, b->channel, dst);
  } else {
    local(m, b->gpu, src, dst, s->kind == XML_REDUCE);
  }
}

/* Runs as many steps of a thread block as possible. Returns false if not even one step could run. */
static bool advance(importer *m, int block) {
  const xml_block *b = &m->a->block[block];
  const int from = m->at[block];
  while (m->at[block] < b->steps && !m->why) {
    const xml_step *s = &b->step[m->at[block]];
    const bool receives = s->kind >= XML_RECV && s->kind <= XML_RRCS;
    if (!may_run(m, b, s) || (receives && !has_arrived(m, b, s->count))) break;
    for (int c = 0; c < s->count && !m->why; c++) run_chunk(m, block, s, c);
    m->at[block]++;
  }
  return m->at[block] > from;
}

static void run_all(importer *m) {
  bool moved = true;
  int left = 0;
  while (moved && !m->why) {
    moved = false;
    for (int i = 0; i < m->a->blocks; i++) moved |= advance(m, i);
  }
  for (int i = 0; i < m->a->blocks; i++) left += m->a->block[i].steps - m->at[i];
  if (left && !m->why)
    m->why = "it deadlocks, or messages of several channels between two ranks cross";
  while (m->first) take(m, &m->first);
}

/* ---- the text ---- */

/* Fills in the initial values of each rank. */
static void fill(importer *m) {
  const xml_algo *a = m->a;
  const bool gathers = strcmp(a->coll, "allgather") == 0;
  for (int r = 0; r < a->ranks; r++)
    for (int c = 0; c < a->chunks; c++)
      if (!gathers || c / a->part == r)
        m->holds[(size_t)r * (size_t)m->places + (size_t)(c + (a->in_place ? 0 : a->chunks))] =
            (value){c, 1};
}

static char *write_all(importer *m, char **parts) {
  const xml_algo *a = m->a;
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  if (!f) return NULL;
  fprintf(f, "tutti-schedule 1 %s %s P=%d blocks=%d derive\n", a->coll, a->name, a->ranks,
          a->chunks);
  for (int r = 0; r < a->ranks; r++)
    fprintf(f, "rank %d%s tmp=%d\n%s", r, a->in_place ? " inplace" : "",
            (m->places - 2 * a->chunks) * a->chunks, parts[r]);
  return fclose(f) ? NULL : text;
}

/* Returns the algorithm as the text of a schedule. Returns NULL on failure, with the reason in m->why. */
static char *convert(const xml_algo *a, importer *m) {
  const size_t ranks = (size_t)a->ranks;
  char **parts = calloc(ranks, sizeof *parts), *text = NULL;
  size_t *sizes = calloc(ranks, sizeof *sizes);
  *m = (importer){.a = a, .places = 2 * a->chunks + a->scratch + a->blocks};
  m->last = &m->first;
  m->to = calloc(ranks, sizeof *m->to);
  m->steps = calloc(ranks, sizeof *m->steps);
  m->holds = calloc(ranks * (size_t)m->places, sizeof *m->holds);
  m->at = calloc((size_t)a->blocks, sizeof *m->at);
  bool good = parts && sizes && m->to && m->steps && m->holds && m->at;
  for (size_t r = 0; good && r < ranks; r++)
    good = (m->to[r] = open_memstream(&parts[r], &sizes[r]));
  if (good) fill(m), run_all(m);
  for (size_t r = 0; m->to && r < ranks; r++)
    if (m->to[r]) fclose(m->to[r]);
  if (good && !m->why) text = write_all(m, parts);
  if (!text && !m->why) m->why = "out of memory";
  for (size_t r = 0; parts && r < ranks; r++) free(parts[r]);
  free(parts), free(sizes), free(m->to), free(m->steps), free(m->holds), free(m->at);
  return text;
}

char *plan_import(const char *path, const char *xml) {
  xml_algo a;
  importer m;
  char *text = NULL;
  int status = xml_read(path, xml, &a);
  if (!status && strcmp(a.coll, "allreduce") && strcmp(a.coll, "allgather") &&
      strcmp(a.coll, "reduce_scatter"))
    status =
        cli_fail(CLI_USAGE, "plan",
                 "%s: import takes allreduce, allgather and reduce_scatter, not %s", path, a.coll);
  if (!status && a.chunks != a.ranks && strcmp(a.coll, "allreduce"))
    status = cli_fail(
        CLI_USAGE, "plan",
        "%s: it has %d chunks on %d ranks, and import takes %s with one chunk per rank only", path,
        a.chunks, a.ranks, a.coll);
  if (!status && !(text = convert(&a, &m))) cli_fail(0, "plan", "%s: %s", path, m.why);
  xml_free(&a);
  return text;
}
