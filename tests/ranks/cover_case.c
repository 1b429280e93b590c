/* cover_case.c - the test cases.
 *
 * Idea       six tables one after another. Pairs: every valid (type, op); then the
 *            same with helpers. Shapes: every algorithm x collective, on two counts.
 *            Scaled: every algorithm, with a premultiplied sum. Helped: every form of
 *            the algorithm that uses helpers. Sample: random cases. On many ranks
 *            there is only every algorithm, twice, and a sample.
 *            The seed determines everything that a table leaves open. The full product
 *            (TUTTI_TEST_ALL=1) fixes more: pairs x algorithms x collectives x in
 *            place, and algorithms x collectives x counts x in place x slices.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "algo.h"
#include "by_name.h"
#include "cover.h"
#include "tutti_plan.h"

enum { FORMS = 6, HELPED = FORMS * 6 * 2 }; /* x the collectives that can use helpers */
enum { SAMPLE = 60, PAIRS = TUTTI_TYPE_COUNT * COVER_OPS, SLICES = 4, REDUCING = 5 };
static const int slices[SLICES] = {0, 1, 2, 5};
static const tutti_coll reducing[REDUCING] = {TUTTI_ALLREDUCE, TUTTI_REDUCE_SCATTER, TUTTI_REDUCE,
                                              TUTTI_SCAN, TUTTI_EXSCAN};

bool cover_all(void) {
  const char *all = getenv("TUTTI_TEST_ALL");
  return all && *all == '1';
}

uint64_t cover_seed(void) {
  const char *seed = getenv("TUTTI_TEST_SEED");
  if (seed && *seed) return strtoull(seed, NULL, 10);
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool cover_has_op(tutti_type type, int op) {
  if (op == COVER_SCALED) return type >= TUTTI_FLOAT16 && tutti_type_has_op(type, TUTTI_SUM);
  return op >= COVER_USER || tutti_type_has_op(type, (tutti_op)op);
}

/* ---- algorithms: tutti's choice, the table, and parameters that the table does not have ---- */

enum { MORE = 3 }; /* of every family */

static int table_size(void) {
  static _Thread_local int n;
  while (tutti_algo_name(n, NULL)) n++;
  return n;
}

static int families(void) {
  static _Thread_local int n;
  while (sampled_family(n)) n++;
  return n;
}

static int algos(void) {
  return table_size() + 1 + families() * MORE;
}

/* The number of names that a family proposes. It is kept, because counting makes each name. */
static int samples_of(int family, int ranks) {
  enum { KEPT = 64 };
  static _Thread_local int known[KEPT], of; /* by family: 1 + the number, or 0; the ranks they are for */
  char name[sizeof ((cover_case *)0)->algo];
  int n = 0;
  if (of != ranks) memset(known, 0, sizeof known);
  of = ranks;
  if (family < KEPT && known[family]) return known[family] - 1;
  while (sample_named(family, ranks, n, name, sizeof name)) n++;
  if (family < KEPT) known[family] = n + 1;
  return n;
}

static void set_algo(cover_case *c, int i, uint64_t u) {
  const int table = table_size();
  const int family = (i - table - 1) / MORE;
  const int samples = i > table ? samples_of(family, c->ranks) : 0;
  snprintf(c->algo, sizeof c->algo, "%s", i < table ? tutti_algo_name(i, NULL) : "auto");
  if (samples)
    sample_named(family, c->ranks, (int)(u % (uint64_t)samples), c->algo, sizeof c->algo);
  if (known_named(c->algo, c->ranks)) snprintf(c->algo, sizeof c->algo, "auto");
}

/* The first cases force each entry of the table, with integers and with floats. */
static size_t forced(void) {
  return 2 * (size_t)table_size();
}

/* ---- counts ---- */

static size_t count_at(int ranks, int i, uint64_t u) {
  const size_t P = (size_t)ranks;
  const size_t fixed[] = {0,    1,    P - 1, P,    P + 1, 2,     3,     7,     13,   31,
                          63,   64,   65,    97,   127,   129,   255,   257,   509,  1021,
                          1023, 1025, 4095,  4097, 8191,  16385, 32767, 65537, 70001};
  const int n = (int)(sizeof fixed / sizeof *fixed);
  return i < n ? fixed[i] : (size_t)(u % 3000);
}
enum { COUNTS = 29 };

/* ---- with helpers ---- */

static bool form_at(int form, int ranks, uint64_t u, char *name, size_t size) {
  static const char *const forms[] = {"auto", "aggregate", "aggregate(tree)", "aggregate(striped)"};
  enum { NAMED = sizeof forms / sizeof *forms };
  int family = 0;
  snprintf(name, size, "%s", forms[form % NAMED]);
  if (form < NAMED) return true;
  while (strcmp(sampled_family(family), "aggregate") != 0) family++;
  const int samples = samples_of(family, ranks);
  return samples && sample_named(family, ranks, (int)(u % (uint64_t)samples), name, size);
}

/* Sets a number of helpers that the form supports; false if it supports no number. */
static bool set_helpers(cover_case *c, uint64_t u) {
  const int most = c->ranks - 1;
  tt_sched *s;
  for (int i = 0; i < most; i++) {
    c->helpers = 1 + (int)((u + (uint64_t)i) % (uint64_t)most);
    const tt_ask ask = {.coll = c->coll, .ranks = c->ranks, .data = c->ranks - c->helpers};
    if (strcmp(c->algo, "auto") == 0) return true;
    if (tt_algo_build_named(c->algo, &ask, &s)) continue;
    tt_sched_free(s);
    return true;
  }
  c->helpers = 0;
  return false;
}

static void helped(cover_case *c, int form, uint64_t u) {
  if (!form_at(form, c->ranks, u >> 8, c->algo, sizeof c->algo) || !set_helpers(c, u >> 20))
    snprintf(c->algo, sizeof c->algo, "auto");
  c->root %= c->ranks - c->helpers;
}

/* ---- the tables ---- */

static int below(uint64_t *state, int n) {
  *state = cover_mix(*state + 0x9e3779b97f4a7c15u);
  return (int)(*state >> 33) % n;
}

static void draw(cover_case *c, uint64_t *state) {
  const int algo = below(state, algos());
  set_algo(c, algo, *state >> 3);
  c->coll = (tutti_coll)below(state, TUTTI_COLL_COUNT);
  do {
    c->type = (tutti_type)below(state, TUTTI_TYPE_COUNT);
    c->op = below(state, COVER_OPS);
  } while (!cover_has_op(c->type, c->op));
  /* large counts are rare, because they take long */
  int which = below(state, COUNTS + 6);
  if (which > 22 && which < COUNTS && below(state, 3)) which = below(state, 22);
  c->count = count_at(c->ranks, which, *state);
  c->root = below(state, c->ranks);
  c->in_place = below(state, 3);
  c->slices = slices[below(state, SLICES)];
  const int card = cover_cards() ? COVER_CARD : 0;
  c->memory = card ? card + below(state, 2) : below(state, COVER_CARD);
  c->manner = below(state, 4);
  if (c->memory == COVER_CARD && below(state, 2)) c->manner = COVER_ON;
  c->spread = below(state, 2) ? below(state, COVER_SPREADS) : COVER_EVEN;
  c->rough = below(state, 4) == 0 && c->type <= TUTTI_SHORT_INT; /* 8 bits: no usable bound */
  c->seed = cover_mix(*state);
}

/* False: type and op do not go together; the case keeps those drawn before. */
static bool from_pairs(cover_case *c, size_t n) {
  tutti_type type = (tutti_type)(n / COVER_OPS);
  int op = (int)(n % COVER_OPS);
  if (!cover_has_op(type, op)) return false;
  c->type = type;
  c->op = op;
  c->rough = 0;
  return true;
}

/* The tables of `make check`. Returns false if n is beyond them. */
static bool from_tables(cover_case *c, size_t n) {
  const size_t shapes = (size_t)algos() * TUTTI_COLL_COUNT * 2;
  if (n < PAIRS) {
    if (from_pairs(c, n)) c->coll = reducing[c->seed % REDUCING];
    return true;
  }
  n -= PAIRS;
  if (n < PAIRS) {
    if (!from_pairs(c, n)) return true;
    c->coll = c->seed % 3 ? TUTTI_ALLREDUCE : TUTTI_REDUCE;
    helped(c, (int)((c->seed >> 4) % FORMS), c->seed);
    return true;
  }
  n -= PAIRS;
  if (n < HELPED) {
    static const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_REDUCE,         TUTTI_BROADCAST,
                                       TUTTI_BARRIER,   TUTTI_REDUCE_SCATTER, TUTTI_ALLGATHER};
    c->coll = colls[n / 2 % 6];
    helped(c, (int)(n / 12), c->seed);
    return true;
  }
  n -= HELPED;
  if (n < shapes) {
    c->coll = (tutti_coll)(n / 2 % TUTTI_COLL_COUNT);
    set_algo(c, (int)(n / 2 / TUTTI_COLL_COUNT), c->seed);
    if (n % 2) c->count = 1 + c->seed % 200;
    return true;
  }
  n -= shapes;
  if (n < (size_t)algos()) {
    c->coll = reducing[c->seed % REDUCING];
    set_algo(c, (int)n, c->seed);
    c->op = COVER_SCALED;
    c->type =
        (tutti_type)(TUTTI_FLOAT16 + c->seed / 64 % (TUTTI_COMPLEX_DOUBLE + 1 - TUTTI_FLOAT16));
    return true;
  }
  return n - (size_t)algos() < SAMPLE;
}

/* On many ranks: every algorithm, on an allreduce and on another collective that it supports. */
enum { MANY = 9 };
static void from_few(cover_case *c, size_t n) {
  const size_t all = (size_t)algos();
  if (n >= 2 * all) return;
  set_algo(c, (int)(n % all), c->seed);
  c->coll = TUTTI_ALLREDUCE;
  for (uint64_t u = c->seed; n >= all && c->coll == TUTTI_ALLREDUCE; u = cover_mix(u + 1)) {
    const tutti_coll coll = (tutti_coll)(u % TUTTI_COLL_COUNT);
    if (strcmp(c->algo, "auto") == 0 || does_named(c->algo, coll)) c->coll = coll;
    if (u % 16 == 0) break;
  }
}

static size_t product(void) {
  return (size_t)algos() * (PAIRS * REDUCING * 3 + TUTTI_COLL_COUNT * COUNTS * 3 * SLICES);
}

static void from_product(cover_case *c, size_t n) {
  const size_t pairs = (size_t)algos() * PAIRS * REDUCING * 3;
  bool is_pair = n < pairs;
  if (!is_pair) n -= pairs;
  set_algo(c, (int)(n % (size_t)algos()), c->seed);
  n /= (size_t)algos();
  c->in_place = (int)(n % 3);
  n /= 3;
  if (is_pair) {
    c->coll = reducing[n % REDUCING];
    n /= REDUCING;
    tutti_type type = (tutti_type)(n / COVER_OPS);
    int op = (int)(n % COVER_OPS);
    if (cover_has_op(type, op)) c->type = type, c->op = op;
  } else {
    c->slices = slices[n % SLICES];
    n /= SLICES;
    c->coll = (tutti_coll)(n % TUTTI_COLL_COUNT);
    c->count = count_at(c->ranks, (int)(n / TUTTI_COLL_COUNT), 0);
  }
}

static size_t tables(void) {
  return 2 * PAIRS + HELPED + (size_t)algos() * (TUTTI_COLL_COUNT * 2 + 1) + SAMPLE;
}

size_t cover_cases(int ranks) {
  if (ranks >= MANY && !cover_all()) return forced() + 2 * (size_t)algos() + SAMPLE;
  return forced() + tables() + (cover_all() ? product() : 0);
}

cover_case cover_case_at(int ranks, uint64_t seed, size_t n) {
  cover_case c = {.ranks = ranks};
  uint64_t state = cover_mix(seed ^ cover_mix((uint64_t)ranks << 40 ^ n));
  draw(&c, &state);
  if (n < forced()) {
    const cover_case any = c;
    if (!cover_force(&c, (int)(n / 2), (int)(n % 2))) c = any;
  } else if (ranks >= MANY && !cover_all()) {
    from_few(&c, n - forced());
  } else if (!from_tables(&c, n - forced())) {
    from_product(&c, n - forced() - tables());
  }
  if (cover_prefix(c.coll) && c.op == TUTTI_AVG) c.op = TUTTI_SUM;
  return c;
}

/* ---- a case as a line of text ---- */

static const char *op_name(int op) {
  if (op == COVER_USER) return "user";
  if (op == COVER_SCALED) return "scaled";
  return op == COVER_ORDERED ? "ordered" : tutti_op_name((tutti_op)op);
}

void cover_print(const cover_case *c, char *line, size_t size) {
  snprintf(line, size,
           "P=%d algo=%s; coll=%s type=%s op=%s count=%zu root=%d in_place=%d slices=%d memory=%d "
           "manner=%d spread=%d rough=%d helpers=%d seed=%llu",
           c->ranks, c->algo, tutti_coll_name(c->coll), tutti_type_name(c->type), op_name(c->op),
           c->count, c->root, c->in_place, c->slices, c->memory, c->manner, c->spread, c->rough,
           c->helpers, (unsigned long long)c->seed);
}

bool cover_parse(const char *line, cover_case *c) {
  char coll[40], type[40], op[40];
  unsigned long long seed;
  if (sscanf(
          line,
          "P=%d algo=%127[^;]; coll=%39s type=%39s op=%39s count=%zu root=%d in_place=%d slices=%d "
          "memory=%d manner=%d spread=%d rough=%d helpers=%d seed=%llu",
          &c->ranks, c->algo, coll, type, op, &c->count, &c->root, &c->in_place, &c->slices,
          &c->memory, &c->manner, &c->spread, &c->rough, &c->helpers, &seed) != 15)
    return false;
  c->seed = seed;
  int i = 0, j = 0, k = 0;
  while (i < TUTTI_COLL_COUNT && strcmp(coll, tutti_coll_name((tutti_coll)i)) != 0) i++;
  while (j < TUTTI_TYPE_COUNT && strcmp(type, tutti_type_name((tutti_type)j)) != 0) j++;
  while (k < COVER_OPS && strcmp(op, op_name(k)) != 0) k++;
  c->coll = (tutti_coll)i;
  c->type = (tutti_type)j;
  c->op = k;
  return i < TUTTI_COLL_COUNT && j < TUTTI_TYPE_COUNT && k < COVER_OPS && c->ranks > 0;
}
