/* peer_show.c - the table of `tutti bench --compare`: one line per size, two columns per library.
 *
 * Idea      The hypervisor migrates virtual CPUs, and with few ranks the times change with the
 *           distance by a factor of 4. Therefore rounds on near and on far cores have separate
 *           tables, and rounds during which the distance changed do not count. A ratio is the
 *           median of the ratios of the rounds.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

#define FAR  200e-9 /* in s: cores with a longer round trip are far */
#define WIDE 1.5    /* limit for the ratio of the quartiles; above it, results are noisy */
enum { FEWEST = 3 /* rounds */ };

const char *const peer_state_text[PEER_STATES] = {"near cores", "far cores",
                                                  "ranks that share cores"};

peer_state peer_state_of(const peer_memory *m, const peer_row *row, int round) {
  const double before = row->line[0][round], after = row->line[1][round];
  if (m->ranks > m->cores) return PEER_SHARED;
  if ((before > FAR) != (after > FAR)) return PEER_MOVED;
  return before > FAR ? PEER_FAR : PEER_NEAR;
}

static double middle(double *numbers, int n) {
  cli_sort(numbers, (size_t)n);
  return numbers[n / 2];
}

/* Times are corrected by subtracting the time of the loop without the call, so a disturbed round can have a negative
 * time. The ratio of such a round does not count. */
peer_cell peer_cell_of(const peer_memory *m, const peer_row *row, peer_state state) {
  double mine[PEER_ROUNDS], theirs[PEER_ROUNDS], ratios[PEER_ROUNDS];
  int n = 0, k = 0;
  for (int i = 0; i < row->rounds; i++) {
    if (peer_state_of(m, row, i) != state) continue;
    mine[n] = row->seconds[PEER_TUTTI][i];
    theirs[n] = row->seconds[PEER_OTHER][i];
    if (mine[n] > 0 && theirs[n] > 0) ratios[k++] = theirs[n] / mine[n];
    n++;
  }
  peer_cell c = {.rounds = n};
  if (n < FEWEST) return c;
  c.tutti = middle(mine, n);
  c.seconds = middle(theirs, n);
  if (k < FEWEST) return c;
  c.ratio = middle(ratios, k);
  c.least = ratios[k / 4];
  c.most = ratios[k - 1 - k / 4];
  return c;
}

bool peer_noisy(const peer_cell *c) {
  return c->ratio > 0 && c->most > WIDE * c->least;
}

bool peer_has_state(peer_memory *const *all, int n, peer_state state) {
  for (int i = 0; i < n; i++)
    for (size_t k = 0; k < all[i]->sizes; k++)
      if (peer_cell_of(all[i], &peer_rows(all[i])[k], state).rounds >= FEWEST) return true;
  return false;
}

double peer_tutti(peer_memory *const *all, int n, size_t row, peer_state state) {
  double each[PEERS * PEER_ROUNDS];
  int k = 0;
  for (int i = 0; i < n; i++) {
    const peer_row *r = &peer_rows(all[i])[row];
    for (int j = 0; j < r->rounds; j++)
      if (peer_state_of(all[i], r, j) == state) each[k++] = r->seconds[PEER_TUTTI][j];
  }
  return k < FEWEST ? 0 : middle(each, k);
}

/* ---- the text ---- */

static void show_us(double seconds, int width) {
  const double us = 1e6 * seconds;
  if (seconds > 0)
    printf(" %*.*f", width, us < 100 ? 2 : us < 10000 ? 1 : 0, us);
  else
    printf(" %*s", width, "-");
}

static void show_head(const bench_options *o, peer_memory *const *all, int n) {
  const bool reduces = bench_reduces(o->coll), barrier = o->coll == TUTTI_BARRIER;
  printf("# tutti %s bench: %s", tutti_version(NULL, NULL, NULL), tutti_coll_name(o->coll));
  if (!barrier) printf(" of %s", tutti_type_name(o->type));
  if (reduces) printf(", %s", tutti_op_name(o->op));
  printf(", %ld ranks", o->ranks);
  if (!barrier) printf(", %s", peer_in_place(o) ? "in place" : "out of place");
  printf("\n# %s\n", barrier    ? "call after call"
                     : o->cycle ? "cycle: each rank writes its vector, calls, and reads the "
                                  "result; minus the same without the call"
                                : "loop: call after call on the same vector");
  printf(
      "# tutti and a library alternate in time slices of %g ms; median of the slowest rank's "
      "times, at least %ld rounds\n"
      "# ratio: time of the library over tutti's in the same round; above 1 tutti is faster\n",
      1e3 * o->budget, o->repeats);
  for (int i = 0; i < n; i++) {
    char title[32], settings[400];
    const peer_memory *m = all[i];
    peer_title(m, title);
    peer_settings(m, settings);
    printf("# %s: %s; %s; ", title, m->library, *settings ? settings : "default settings");
    if (m->kind == PEER_TORCH)
      printf("%.*s; called from Python in a process next to each rank\n",
             (int)strcspn(m->version, "\n"), m->version);
    else if (m->bound == 1)
      printf("in the same processes, each rank on one core\n");
    else
      printf("in the same processes, ranks may use %d cores\n", m->bound);
  }
}

/* Prints the shortest and the longest round-trip time of a cache line while the cores were in this state. */
static void show_distance(peer_memory *const *all, int n, peer_state state) {
  double least = 0, most = 0;
  int rounds = 0;
  for (int i = 0; i < n; i++)
    for (size_t k = 0; k < all[i]->sizes; k++) {
      const peer_row *row = &peer_rows(all[i])[k];
      for (int j = 0; j < row->rounds; j++) {
        if (peer_state_of(all[i], row, j) != state) continue;
        const double line = row->line[0][j];
        if (!rounds++ || line < least) least = line;
        if (line > most) most = line;
      }
    }
  printf("#\n# %s", peer_state_text[state]);
  if (state != PEER_SHARED)
    printf(": a cache line goes %s and back in %.0f to %.0f ns",
           all[0]->ranks > 2 ? "from rank 0 to rank 1" : "there", 1e9 * least, 1e9 * most);
  printf("; %d rounds\n", rounds);
}

static void show_columns(peer_memory *const *all, int n) {
  char title[32];
  printf("#%9s %10s", "", "tutti");
  for (int i = 0; i < n; i++) peer_title(all[i], title), printf("  %17s", title);
  printf("\n#%9s %10s", "size (B)", "us");
  for (int i = 0; i < n; i++) printf("  %10s %6s", "us", "ratio");
  printf("  tutti's plan\n");
}

static void show_mean(peer_memory *const *all, int n, peer_state state) {
  for (int i = 0; i < n; i++) {
    char title[32];
    double logs = 0, least = 0, most = 0;
    int k = 0;
    for (size_t r = 0; r < all[i]->sizes; r++) {
      const double ratio = peer_cell_of(all[i], &peer_rows(all[i])[r], state).ratio;
      if (ratio <= 0) continue;
      logs += log(ratio);
      if (!k++ || ratio < least) least = ratio;
      if (ratio > most) most = ratio;
    }
    peer_title(all[i], title);
    if (k)
      printf("# %s takes %.2f times as long as tutti (geometric mean; %.2f to %.2f)\n", title,
             exp(logs / k), least, most);
  }
}

static void show_state(const bench_options *o, peer_memory *const *all, int n, peer_state state) {
  show_distance(all, n, state);
  show_columns(all, n);
  for (size_t k = 0; k < all[0]->sizes; k++) {
    printf("%10zu", o->coll == TUTTI_BARRIER ? 0 : peer_rows(all[0])[k].bytes);
    show_us(peer_tutti(all, n, k, state), 10);
    for (int i = 0; i < n; i++) {
      const peer_cell c = peer_cell_of(all[i], &peer_rows(all[i])[k], state);
      printf(" ");
      show_us(c.seconds, 10);
      if (c.ratio > 0)
        printf(" %5.2f%c", c.ratio, peer_noisy(&c) ? '~' : ' ');
      else
        printf(" %6s", "-");
    }
    printf("  %s\n", peer_rows(all[0])[k].plan);
  }
  show_mean(all, n, state);
  int noisy = 0;
  for (int i = 0; i < n; i++)
    for (size_t k = 0; k < all[i]->sizes; k++) {
      const peer_cell c = peer_cell_of(all[i], &peer_rows(all[i])[k], state);
      noisy += peer_noisy(&c);
    }
  if (noisy)
    printf(
        "# ~ %d ratios are uncertain: their quartiles are more than a factor of %g apart, as if "
        "other programs used the "
        "cores\n",
        noisy, WIDE);
}

void peer_show(const bench_options *o, peer_memory *const *all, int n) {
  show_head(o, all, n);
  for (int s = 0; s < PEER_STATES; s++)
    if (peer_has_state(all, n, (peer_state)s)) show_state(o, all, n, (peer_state)s);
  for (int i = 0; i < n; i++) {
    char title[32];
    long long wrong = 0;
    for (size_t k = 0; k < all[i]->sizes; k++)
      if (peer_rows(all[i])[k].wrong > 0) wrong += peer_rows(all[i])[k].wrong;
    peer_title(all[i], title);
    if (wrong) printf("# %s: %lld elements of its results are WRONG\n", title, wrong);
  }
}
