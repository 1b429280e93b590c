/* tune_differ.c - finds, in measured times, hosts with links that differ from those of other hosts.
 *
 * Idea      A stream between two hosts is as fast as the slower of their links. The fastest of a host's streams has the
 *           speed of that host's link, unless all its partners are slow. Incoming streams show the speed of the inward link,
 *           outgoing streams that of its outward link. The slower of the two counts. A host's message time is that of its
 *           fastest message.
 * Others    tune_network measures all hosts simultaneously, so a slow host makes its results worse. If hosts differ, these
 *           are set to the values of the median host.
 * Written   A host's parameters are written if they differ from the median: the time per byte by more than a fifth,
 *           or the time of a message by a factor of two, because a busy core slows messages down as well. At least
 *           three hosts are needed, because with two, no measurement can tell which one is slow.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

#define BYTES_DIFFER    0.2
#define MESSAGES_DIFFER 1.0

/* Returns the median. For an even number of values, this is the smaller middle value, because slow hosts are exceptions. */
static double median_of(const double *values, int n) {
  double *sorted = malloc((size_t)n * sizeof *sorted), median = 0;
  if (!sorted) return 0;
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  cli_sort(sorted, (size_t)n);
  median = sorted[(n - 1) / 2];
  free(sorted);
  return median;
}

static void lower(double *least, double seconds) {
  if (seconds > 0 && (*least <= 0 || seconds < *least)) *least = seconds;
}

void tune_links(const double *stream, const double *message, int hosts, int partners, double *beta,
                double *seconds) {
  for (int h = 0; h < hosts; h++) {
    double in = 0, out = 0;
    seconds[h] = 0;
    for (int k = 1; k <= partners; k++) {
      lower(&in, stream[h * partners + k - 1]);
      lower(&out, stream[(h + k) % hosts * partners + k - 1]);
      lower(&seconds[h], message[h * partners + k - 1]);
      if (h >= k) lower(&seconds[h], message[(h - k) * partners + k - 1]);
    }
    beta[h] = in > out ? in : out;
  }
}

/* Chooses how the profile refers to a host. This is the host's name if no other host has the same name, otherwise its number. */
static void call_host(const tune_host *names, int hosts, int h, char text[TUNE_HOST]) {
  bool usable = *names[h].name && strlen(names[h].name) < 40 &&
                strspn(names[h].name, "0123456789-") < strlen(names[h].name);
  for (int i = 0; i < hosts && usable; i++)
    usable = i == h || strcmp(names[i].name, names[h].name) != 0;
  if (usable)
    snprintf(text, TUNE_HOST, "%s", names[h].name);
  else
    snprintf(text, TUNE_HOST, "%d", h);
}

/* Returns the ratio of the value to the median, or the inverse of this ratio if it is less than 1. */
static double off(double value, double median) {
  if (value <= 0 || median <= 0) return 1;
  return value > median ? value / median : median / value;
}

/* Returns true if the value differs from the median by more than `share` times the median. If `more` is greater than
 * the median, the limit is `share` times `more`. */
static bool far_off(double value, double median, double more, double share) {
  const double least = share * (median > more ? median : more);
  return value > 0 && (value > median + least || value < median - least);
}

/* Returns the value of a parameter, or NULL. */
static double *figure_of(tune_result *r, const char *level, const char *what) {
  char name[40];
  snprintf(name, sizeof name, "%s%s%s", level, *level ? "." : "", what);
  for (int i = 0; i < r->figures; i++)
    if (strcmp(r->figure[i].name, name) == 0) return &r->figure[i].value;
  return NULL;
}

typedef struct links { /* the links of all hosts, and of the median host */
  const double *beta, *seconds;
  const tune_host *names;
  int hosts;
  double bytes, message, delay;
  double whole; /* in s: time of a message in a plan, where other messages are in flight */
} links;

static bool slow_bytes(const links *l, int h) {
  return far_off(l->beta[h], l->bytes, 0, BYTES_DIFFER);
}

static bool slow_messages(const links *l, int h) {
  return far_off(l->seconds[h], l->message, l->whole, MESSAGES_DIFFER);
}

/* Returns the host that differs most from the median among those that are not written yet, or -1 if all are written. */
static int next_one(const links *l, const bool *written) {
  int next = -1;
  double most = 0;
  for (int h = 0; h < l->hosts; h++) {
    const double how = off(l->beta[h], l->bytes) * off(l->seconds[h], l->message);
    const bool is = slow_bytes(l, h) || slow_messages(l, h);
    if (is && !written[h] && how > most) next = h, most = how;
  }
  return next;
}

static void add_host(const links *l, int h, tune_result *r) {
  char who[TUNE_HOST], name[TUNE_HOST + 16];
  const double own = l->delay + l->seconds[h] - l->message;
  call_host(l->names, l->hosts, h, who);
  snprintf(name, sizeof name, "host.%s.beta", who);
  if (slow_bytes(l, h))
    tune_add(r, name, l->beta[h], "s/B: through the link of this host; %.3g in the median of %d",
             l->bytes, l->hosts);
  snprintf(name, sizeof name, "host.%s.delay", who);
  if (slow_messages(l, h))
    tune_add(r, name, own > 0 ? own : 0, "s: the rest of a message's time at this host");
  tune_note(r, "host %s differs: %.4g MB/s, a message %.3g us; in the median %.4g MB/s, %.3g us",
            who, 1e-6 / l->beta[h], 1e6 * l->seconds[h], 1e-6 / l->bytes, 1e6 * l->message);
}

/* Sets the parameters of all hosts to those of the median host. With several levels, only some hosts were measured
 * at each level, so a delay that is already known may be better and is kept. */
static void take_median(links *l, const char *level, tune_result *r) {
  double *beta = figure_of(r, level, "beta"), *delay = figure_of(r, level, "delay"), most = 0;
  bool bytes = false, messages = false;
  for (int h = 0; h < l->hosts; h++) {
    bytes |= slow_bytes(l, h);
    messages |= slow_messages(l, h);
    if (l->seconds[h] > most) most = l->seconds[h];
  }
  if (beta && bytes) *beta = l->bytes;
  if (delay && messages && !*level)
    *delay = *delay > most - l->message ? *delay - (most - l->message) : 0;
  l->delay = delay ? *delay : 0;
}

void tune_differing(const double *beta, const double *seconds, const tune_host *names, int hosts,
                    const char *level, tune_result *r) {
  links l = {beta, seconds,   names, hosts, median_of(beta, hosts), median_of(seconds, hosts),
             0,    r->message};
  bool *written = calloc((size_t)hosts, sizeof *written);
  int more = 0;
  take_median(&l, level, r);
  for (int i = 0, h; written && (h = next_one(&l, written)) >= 0; i++) {
    written[h] = true;
    if (i < TUNE_HOSTS)
      add_host(&l, h, r);
    else
      more++;
  }
  if (more) tune_note(r, "%d more hosts differ, which are too many for a profile", more);
  free(written);
}
