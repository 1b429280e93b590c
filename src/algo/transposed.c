/* transposed.c - each node exchanges data with several others in a single network round, using a different core for each.
 *
 * Idea       Once the c cores of each node have the node's sum, g <= c nodes need one round between them: core k of node
 *            d exchanges sums with core d of node k, as in a transposed matrix. Then core k of every node has the sum of
 *            node k, and the cores add these sums within their node. The same is repeated for groups of such groups,
 *            level by level outwards. Recursive doubling would take log2(g) rounds between the nodes. If the exchange is
 *            by parts, the cores of a node first reduce-scatter, so that core k has the part for node k, and the exchange
 *            delivers it. A node then has only its own part, on g cores, and continues with that. The reverse phase
 *            mirrors these steps.
 * Cost       One message between nodes for each factor g of a level. Within nodes, for c and for each g: p - 1 messages
 *            for each prime factor p, and one more if g does not divide c. All messages are whole vectors. An exchange by
 *            parts takes twice as many messages, but a node sends only 2(g-1)/g of its data between nodes, instead of
 *            (g-1) times its data.
 * Scratch    One or two vectors; if some exchanges are by parts, one or two times the remaining part.
 * Invariant  The cores of all nodes add the same sums in the same order, which is rank order, so all ranks get the same
 *            bits.
 * Parameters group=SIZES, such as 3x16x4: the levels, outermost first; the last are the cores. The default is two levels,
 *            with as few cores as suffice. parts=N: the first N exchanges, those between the nearest nodes, are by parts;
 *            the default is none.
 * Source     ours. Using all cores of a node for communication is the idea of multi-lane and multi-object collectives,
 *            such as Traeff and Hunold, 2020.
 * See        tutti plan draw 'transposed(group=3x4)' -n 12
 *            tutti plan draw 'transposed(group=4x4,parts=1)' -n 16
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_group.h"
#include "algo_pattern.h"

enum { MOST_STEPS = 32 };
#define PARTS_WRONG "parts is a number of swaps: at most one for each factor of a level"

/* An exchange among g groups of ranks. The distance between corresponding ranks of neighbouring groups is `apart`. */
typedef struct swap {
  int g, apart;
} swap;

typedef struct nest {
  int cores, swaps, parts;
  swap of[MOST_STEPS];
} nest;

static int least_prime(int n) {
  int p = 2;
  while (n % p) p++;
  return p;
}

/* Returns the largest factor of n that does not exceed `most`. The result may be 1. */
static int factor_within(int n, int most) {
  int f = most < n ? most : n;
  while (f > 1 && n % f) f--;
  return f;
}

/* Adds the exchanges for a level of n groups with `apart` ranks each. Returns false if the nodes do not have enough cores. */
static bool add_level(nest *of, int n, int apart) {
  while (n > 1) {
    const int g = factor_within(n, of->cores);
    if (g == 1) return false;
    of->of[of->swaps++] = (swap){g, apart};
    apart *= g;
    n /= g;
  }
  return true;
}

/* Chooses a division into nodes with as few cores as suffice. If no division is possible, all ranks form one node. */
static int two_sizes(int ranks, int size[2]) {
  for (int cores = 2; cores < ranks; cores++) {
    nest of = {.cores = cores};
    if (ranks % cores || !add_level(&of, ranks / cores, cores)) continue;
    size[0] = ranks / cores, size[1] = cores;
    return 2;
  }
  size[0] = ranks;
  return 1;
}

/* Returns NULL, or an error message if too few cores remain after an exchange by parts. Such an exchange among g groups
 * leaves g cores of each node active. */
static const char *refuse_parts(const nest *of) {
  if (of->parts > of->swaps) return PARTS_WRONG;
  for (int i = 1; i < of->swaps; i++)
    if (of->parts && of->of[i].g > of->of[i < of->parts ? i - 1 : of->parts - 1].g)
      return "a swap by parts leaves fewer cores than a later swap needs";
  return NULL;
}

/* Returns NULL, or the reason why the sizes are not possible. */
static const char *nest_of(const int *size, int n, int parts, nest *of) {
  int apart = size[n - 1];
  *of = (nest){.cores = apart, .parts = parts};
  for (int l = n - 2; l >= 0; apart *= size[l--])
    if (!add_level(of, size[l], apart))
      return "the cores of a node are fewer than a prime factor of another level";
  return refuse_parts(of);
}

static const char *find_nest(const tt_ask *ask, nest *of) {
  int size[TT_LEVELS], n = 0;
  if (!tt_param_given(ask, "group"))
    n = two_sizes(ask->ranks, size);
  else if ((n = tt_group_sizes(ask, size)) < 2)
    return "group must be at least two sizes as 3x16x4 whose product is P";
  return nest_of(size, n, tt_param_number(ask, "parts", 0), of);
}

static const char *transposed_refuse(const tt_ask *ask) {
  nest of;
  return find_nest(ask, &of);
}

/* Appends the i-th number of exchanges by parts that these sizes allow. If there are fewer, subtracts their number from *i. */
static bool nth_parts(const int *size, int n, int *i, tt_text *params) {
  nest of = {.swaps = 0};
  for (int parts = 0; n && parts <= of.swaps; parts++) {
    if (nest_of(size, n, parts, &of) || (*i)-- > 0) continue;
    tt_group_print(params, size, n);
    if (parts) tt_text_add(params, ",parts=%d", parts);
    return true;
  }
  return false;
}

/* Proposes plans for the machine's levels. */
static bool transposed_plans(int ranks, const char *levels, int i, tt_text *params) {
  int size[TT_LEVELS];
  return nth_parts(size, tt_group_of_levels(ranks, levels, size), &i, params);
}

/* Returns the number of blocks, which is the number of parts that the exchanges by parts leave. */
static uint32_t transposed_blocks(const tt_ask *ask) {
  nest of;
  uint32_t blocks = 1;
  if (find_nest(ask, &of)) return 1;
  for (int i = 0, cores = of.cores; i < of.parts; cores = of.of[i++].g)
    blocks *= (uint32_t)(cores - cores % of.of[i].g);
  return blocks;
}

/* ---- whole vectors ---- */

/* Adds the vectors of `n` neighbouring cores from rank `first` up, in groups of p cores for each prime factor p of n. */
static void add_within(tt_pingpong *t, int rank, int first, int n) {
  const int me = rank - first;
  for (int apart = 1, left = n; left > 1;) {
    const int p = least_prime(left), digit = me / apart % p;
    const tt_peers group = {rank - digit * apart, p, apart};
    tt_pingpong_send(t, group);
    tt_pingpong_add(t, group, TT_OWN_AMONG);
    apart *= p;
    left /= p;
  }
}

static int adds_within(int n) {
  int adds = 0;
  for (; n > 1; n /= least_prime(n)) adds++;
  return adds;
}

/* The position of a rank in an exchange. Each node divides as many cores as possible into sets of g; some may be left over. */
typedef struct place {
  int core, digit, slot; /* digit: number of its group of ranks; slot: index within its set */
  int first;             /* first rank of its set */
  int set;               /* number of cores in sets; the remaining cores follow them */
} place;

/* Returns the position of a rank in an exchange. The rank's node has `cores` cores, starting at rank `node`. */
static place place_of(const swap *s, int rank, int node, int cores) {
  const int core = rank - node, slot = core % s->g;
  return (place){core, rank / s->apart % s->g, slot, rank - slot, cores - cores % s->g};
}

static int peer_of(const swap *s, const place *p, int rank) {
  return rank + (p->slot - p->digit) * s->apart + (p->digit - p->slot);
}

/* Returns how often a rank's sum moves from one buffer to the other. */
static int moves_of(const nest *of, int rank, int node, int cores) {
  int moves = adds_within(cores);
  for (int i = of->parts; i < of->swaps; i++) {
    const place p = place_of(&of->of[i], rank, node, cores);
    moves += p.core < p.set ? (p.slot != p.digit) + adds_within(of->of[i].g) : 1;
  }
  return moves;
}

static void swap_and_add(tt_pingpong *t, const swap *s, int rank, int node, int cores) {
  const place p = place_of(s, rank, node, cores);
  if (p.core >= p.set) {
    tt_pingpong_take(t, rank - p.set);
    return;
  }
  if (p.slot != p.digit) {
    const int peer = peer_of(s, &p, rank);
    tt_pingpong_send(t, tt_peer(peer));
    tt_pingpong_take(t, peer);
  }
  add_within(t, rank, p.first, s->g);
  if (p.core < cores - p.set) tt_pingpong_send(t, tt_peer(rank + p.set));
}

/* Runs all exchanges of whole vectors. `have` has the data of this rank. The node has `cores` cores, starting at rank `node`. */
static void swap_whole(tt_builder *b, const tt_ask *ask, const nest *of, int node, int cores,
                       tt_span have) {
  const bool in_dst = ask->in_place || have.buf == TT_DST;
  tt_pingpong t = tt_pingpong_part(b, have, in_dst, moves_of(of, ask->rank, node, cores));
  add_within(&t, ask->rank, node, cores);
  for (int i = of->parts; i < of->swaps; i++) swap_and_add(&t, &of->of[i], ask->rank, node, cores);
}

/* ---- by parts ---- */

/* A team of cores on one node, starting at rank `first`. Each of the first `has` cores has a sum of blocks lo .. lo +
 * count - 1. Each of the first `gets` cores gets one part of the total. */
typedef struct team {
  tt_builder *b;
  int rank, first, has, gets;
  uint32_t lo, count;
} team;

static tt_span part_in(const team *t, tt_buf buf, uint32_t lo, uint32_t count) {
  return tt_range(buf, lo, count, t->b->s->blocks);
}

/* Returns the first block of core i's part. If prime factors are used, nearest cores first, the digits of i are reversed. */
static uint32_t part_at(const team *t, int i) {
  uint32_t lo = t->lo, count = t->count;
  if (t->has > t->gets) return lo + (uint32_t)i * (count / (uint32_t)t->gets);
  for (int left = t->has; left > 1; left /= least_prime(left)) {
    const int p = least_prime(left);
    count /= (uint32_t)p;
    lo += (uint32_t)(i % p) * count;
    i /= p;
  }
  return lo;
}

/* Sends a part to every core of the set, from a core that is not in the set. Such senders use descending order, each
 * starting at a different core, whereas cores in the set send in ascending order. If all used the same direction, they
 * would reach every receiver at the same time. */
static void hand_down(const team *t, tt_buf buf) {
  const int over = t->has - t->gets, at = (t->rank - t->first - t->gets) * t->gets / over;
  for (int i = 0; i < t->gets; i++) {
    const int core = tt_mod(at - i, t->gets);
    tt_send(t->b, t->first + core, part_in(t, buf, part_at(t, core), t->count / (uint32_t)t->gets));
  }
}

static void scatter(const team *t, tt_buf buf) {
  const int me = t->rank - t->first;
  uint32_t lo = t->lo, count = t->count;
  int apart = 1;
  if (t->has > t->gets) {
    const uint32_t each = count / (uint32_t)t->gets, mine = part_at(t, me);
    if (me >= t->gets)
      hand_down(t, buf);
    else
      tt_send_split(t->b, (tt_peers){t->first, t->gets, 1}, part_in(t, buf, lo, count));
    if (me < t->gets)
      tt_recv_reduce_all(t->b, (tt_peers){t->first, t->has, 1}, part_in(t, TT_DST, mine, each),
                         part_in(t, buf, mine, each), TT_OWN_AMONG);
    return;
  }
  for (int left = t->has; left > 1; buf = TT_DST) {
    const int p = least_prime(left), digit = me / apart % p;
    const tt_peers group = {t->rank - digit * apart, p, apart};
    tt_send_split(t->b, group, part_in(t, buf, lo, count));
    count /= (uint32_t)p;
    lo += (uint32_t)digit * count;
    tt_recv_reduce_all(t->b, group, part_in(t, TT_DST, lo, count), part_in(t, buf, lo, count),
                       TT_OWN_AMONG);
    apart *= p;
    left /= p;
  }
}

/* Gathers the parts of all cores whose numbers are equal modulo `apart`. The most distant cores are first. */
static void gather_apart(const team *t, int apart, uint32_t lo, uint32_t count) {
  const int p = least_prime(t->has / apart), digit = (t->rank - t->first) / apart % p;
  const tt_peers group = {t->rank - digit * apart, p, apart};
  const uint32_t each = count / (uint32_t)p, mine = lo + (uint32_t)digit * each;
  if (apart * p < t->has) gather_apart(t, apart * p, mine, each);
  tt_send_all(t->b, group, part_in(t, TT_DST, mine, each));
  tt_recv_split(t->b, group, part_in(t, TT_DST, lo, count));
}

static void gather(const team *t) {
  const int me = t->rank - t->first;
  if (t->has == t->gets) {
    gather_apart(t, 1, t->lo, t->count);
    return;
  }
  if (me < t->gets)
    tt_send_all(t->b, (tt_peers){t->first, t->has, 1},
                part_in(t, TT_DST, part_at(t, me), t->count / (uint32_t)t->gets));
  tt_recv_split(t->b, (tt_peers){t->first, t->gets, 1}, part_in(t, TT_DST, t->lo, t->count));
}

/* Runs exchange i and all later exchanges on the data of the team, and then the reverse phase. */
static void swap_parts(const tt_ask *ask, const nest *of, int i, team t, tt_buf buf) {
  if (i == of->parts) {
    swap_whole(t.b, ask, of, t.first, t.has, part_in(&t, buf, t.lo, t.count));
    return;
  }
  const swap *s = &of->of[i];
  const place p = place_of(s, t.rank, t.first, t.has);
  t.gets = p.set;
  scatter(&t, buf);
  if (p.core < t.gets) {
    const int peer = peer_of(s, &p, t.rank);
    const uint32_t each = t.count / (uint32_t)t.gets;
    const uint32_t theirs = part_at(&t, p.core), ours = part_at(&t, p.core - p.slot + p.digit);
    const bool swaps = p.slot != p.digit;
    if (swaps) tt_send(t.b, peer, part_in(&t, TT_DST, theirs, each));
    if (swaps) tt_recv(t.b, peer, part_in(&t, TT_DST, ours, each));
    swap_parts(ask, of, i + 1, (team){t.b, t.rank, p.first, s->g, 0, ours, each}, TT_DST);
    if (swaps) tt_send(t.b, peer, part_in(&t, TT_DST, ours, each));
    if (swaps) tt_recv(t.b, peer, part_in(&t, TT_DST, theirs, each));
  }
  gather(&t);
}

static void transposed_build(tt_builder *b, const tt_ask *ask) {
  nest of;
  find_nest(ask, &of);
  const int node = ask->rank - ask->rank % of.cores;
  swap_parts(ask, &of, 0, (team){b, ask->rank, node, of.cores, 0, 0, b->s->blocks}, TT_SRC);
}

/* ---- its predicted time on many ranks, as a sequence of stages ---- */

/* Returns NULL if out of memory. */
static const tt_plan_spec *named(const char *text) {
  const tt_plan_spec *plan;
  return tt_plan_spec_named(text, &plan) ? NULL : plan;
}

/* Returns a stage in which two ranks of a level exchange data. Each rank sends the given share of the vector on average. */
static tt_level_stage exchange_at(int level, double share) {
  return (tt_level_stage){named("doubling"), TUTTI_ALLREDUCE, 2, level, share};
}

/* Returns a stage in which n cores add their copies of the given part of the vector. */
static tt_level_stage add_at(int level, int n, double part) {
  enum { PRIMES_END = 14 };
  static const char *const by_prime[PRIMES_END] = {
      [2] = "multiplying(radix=2)", [3] = "multiplying(radix=3)",   [5] = "multiplying(radix=5)",
      [7] = "multiplying(radix=7)", [11] = "multiplying(radix=11)", [13] = "multiplying(radix=13)"};
  tt_level_stage s = {.coll = TUTTI_ALLREDUCE, .ranks = n, .level = level, .part = part};
  int most = 2;
  for (int left = n; left > 1; left /= least_prime(left))
    most = (int)tt_max(most, least_prime(left));
  s.plan = named(by_prime[most < PRIMES_END ? most : 13]);
  return s;
}

/* Returns a stage for a reduce-scatter or all-gather among n cores, either by prime factors or in a single step. */
static tt_level_stage parts_at(int level, int n, bool primes, tutti_coll coll, double part) {
  tt_level_stage s = {.coll = coll, .ranks = n, .level = level, .part = part};
  const char *at_once = coll == TUTTI_ALLGATHER ? "one-shot" : "two-shot";
  s.plan = named(primes && least_prime(n) < n ? "fold(halving)" : at_once);
  return s;
}

/* Returns the innermost level whose groups have more than `apart` ranks. */
static int level_apart(const tt_tree *tree, int apart) {
  int l = tree->levels - 1;
  for (int below = tree->level[l].each; l > 0 && below <= apart; below *= tree->level[l].each) l--;
  return l;
}

/* Returns true if the sizes are those of the tree's levels. */
static bool is_of_tree(const tt_ask *ask, const tt_tree *tree) {
  int size[TT_LEVELS], n = 0, i = 0;
  if (!tree->even || !tt_param_given(ask, "group")) return false;
  n = tt_group_sizes(ask, size);
  for (int l = 0; l < tree->levels; l++)
    if (tree->level[l].each > 1 && (i == n || size[i++] != tree->level[l].each)) return false;
  return i == n;
}

typedef struct stages {
  const nest *of;
  const tt_tree *tree;
  tt_level_stage *list;
  int n, inner; /* inner: the level of the cores */
} stages;

/* Adds the stages of swap_whole. Each team has `cores` cores and works on the given part of the vector. `busy` is the
 * fraction of all cores that belong to teams. */
static void list_whole(stages *l, int cores, double part, double busy) {
  l->list[l->n++] = add_at(l->inner, cores, part);
  for (int i = l->of->parts; i < l->of->swaps; i++) {
    const swap *s = &l->of->of[i];
    const int over = cores % s->g;
    const double sending = busy * (cores - over) / cores * (s->g - 1) / s->g;
    l->list[l->n++] = exchange_at(level_apart(l->tree, s->apart), part * sending);
    l->list[l->n++] = add_at(l->inner, s->g, part);
    if (over) l->list[l->n++] = exchange_at(l->inner, part);
  }
}

static void list_parts(stages *l, int i, int cores, double part, double busy) {
  if (i == l->of->parts) {
    list_whole(l, cores, part, busy);
    return;
  }
  const swap *s = &l->of->of[i];
  const int set = cores - cores % s->g;
  const double each = part / set, in_sets = busy * set / cores;
  const double handed = part * cores / set; /* size of the pieces */
  const tt_level_stage swapping =
      exchange_at(level_apart(l->tree, s->apart), each * in_sets * (s->g - 1) / s->g);
  l->list[l->n++] = parts_at(l->inner, cores, set == cores, TUTTI_REDUCE_SCATTER, handed);
  l->list[l->n++] = swapping;
  list_parts(l, i + 1, s->g, each, in_sets);
  l->list[l->n++] = swapping;
  l->list[l->n++] = parts_at(l->inner, cores, set == cores, TUTTI_ALLGATHER, handed);
}

static int transposed_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[]) {
  nest of;
  if (find_nest(ask, &of) || !is_of_tree(ask, tree)) return 0;
  if (3 * of.swaps + of.parts >= TT_STAGES) return 0;
  stages l = {&of, tree, list, 0, level_apart(tree, 1)};
  list_parts(&l, 0, of.cores, 1, 1);
  for (int i = 0; i < l.n; i++)
    if (!list[i].plan) return 0;
  return l.n;
}

const tt_algo tt_transposed_algo = {
    .name = "transposed",
    .does = TT_DOES_ALLREDUCE,
    .params = {TT_PARAM_GROUP, {"parts", TT_PARAM_NUMBER, .hi = MOST_STEPS, .wrong = PARTS_WRONG}},
    .refuse = transposed_refuse,
    .blocks = transposed_blocks,
    .build = transposed_build,
    .plans = transposed_plans,
    .stages = transposed_stages,
    .entries = {{"transposed", TT_NAMED,
                 "core k of node d swaps with core d of node k: transposed(group=4x8)",
                 "tutti's own"}},
};
