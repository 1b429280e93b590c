/* tune_differ.c - hosts whose links differ from the others', from times that were measured.
 *
 * Idea      A stream between two hosts is as fast as the slower of their links. So the fastest of a host's streams tells its own
 *           link, unless all its partners are slow, too. What a host receives tells its link inward, what
 *           others receive from it the link outward; the slower of the two counts. Likewise the
 *           fastest of its messages.
 * Written   are the figures of hosts that differ from the median of all by more than a fifth. Three hosts are the
 *           least: of two nobody can say which one is slow.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

#define DIFFER 0.2

/* Of an even number the smaller one, because slow hosts are the exception. */
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

void tune_links(const double *stream, const double *message, int hosts, int partners,
                double *beta, double *seconds) {
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

/* How a host is called in the profile: by its name if no other host has it, else by its number. */
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

/* The ratio to the median, or its inverse: at least 1. */
static double off(double value, double median) {
  if (value <= 0 || median <= 0) return 1;
  return value > median ? value / median : median / value;
}

static bool far_off(double value, double median) {
  return value > 0 && (value > (1 + DIFFER) * median || value < (1 - DIFFER) * median);
}

static double figure_of(const tune_result *r, const char *name) {
  double value = 0;
  for (int i = 0; i < r->figures; i++)
    if (strcmp(r->figure[i].name, name) == 0) value = r->figure[i].value;
  return value;
}

typedef struct links { /* of all hosts, and in the median */
  const double *beta, *seconds;
  const tune_host *names;
  int hosts;
  double bytes, message, delay;
} links;

/* The host that differs most, of those that are not written yet; -1: none. */
static int next_one(const links *l, const bool *written) {
  int next = -1;
  double most = 0;
  for (int h = 0; h < l->hosts; h++) {
    const double how = off(l->beta[h], l->bytes) * off(l->seconds[h], l->message);
    const bool is = far_off(l->beta[h], l->bytes) || far_off(l->seconds[h], l->message);
    if (is && !written[h] && how > most) next = h, most = how;
  }
  return next;
}

static void add_host(const links *l, int h, tune_result *r) {
  char who[TUNE_HOST], name[TUNE_HOST + 16];
  const double own = l->delay + l->seconds[h] - l->message;
  call_host(l->names, l->hosts, h, who);
  snprintf(name, sizeof name, "host.%s.beta", who);
  if (far_off(l->beta[h], l->bytes))
    tune_add(r, name, l->beta[h], "s/B: through the link of this host; %.3g in the median of %d",
             l->bytes, l->hosts);
  snprintf(name, sizeof name, "host.%s.delay", who);
  if (far_off(l->seconds[h], l->message))
    tune_add(r, name, own > 0 ? own : 0, "s: the rest of a message's time at this host");
  tune_note(r, "host %s differs: %.4g MB/s, a message %.3g us; in the median %.4g MB/s, %.3g us", who,
            1e-6 / l->beta[h], 1e6 * l->seconds[h], 1e-6 / l->bytes, 1e6 * l->message);
}

void tune_differing(const double *beta, const double *seconds, const tune_host *names, int hosts,
                    const char *level, tune_result *r) {
  links l = {beta, seconds, names, hosts, median_of(beta, hosts), median_of(seconds, hosts), 0};
  bool *written = calloc((size_t)hosts, sizeof *written);
  char name[40];
  int more = 0;
  snprintf(name, sizeof name, "%s%sdelay", level, *level ? "." : "");
  l.delay = figure_of(r, name);
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
