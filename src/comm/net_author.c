/* net_author.c - functions for the author of a network: to wait, and to report failures (tutti_net.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"
#include "long_wait.h"
#include "settings.h"
#include "tutti_net.h"

typedef struct awaiting {
  const char *whom;
  double limit; /* in seconds; 0: none */
  int (*done)(void *);
  void *ctx;
  tt_long_wait wait;
} awaiting;

static bool is_done(void *ctx, unsigned turn, tutti_status *status) {
  awaiting *a = ctx;
  (void)turn;
  if (a->done(a->ctx)) return true;
  tt_long_wait_for(&a->wait, "%s", a->whom);
  if (a->limit > 0 && tt_seconds() - a->wait.since > a->limit)
    *status = tt_fail(TUTTI_ERR_TIMEOUT, "%s has waited %.0f s for %s (TUTTI_CONNECT_TIMEOUT)",
                      a->wait.call, a->limit, a->whom);
  return false;
}

tutti_status tutti_net_await(const char *call, const char *whom, int gives_up,
                             int (*done)(void *), void *ctx) {
  awaiting a = {whom, gives_up ? tt_connect_timeout(0) : 0, done, ctx, tt_long_wait_begin(call)};
  const tutti_status status = tt_wait_until(gives_up ? call : NULL, is_done, &a);
  tt_long_wait_end(&a.wait);
  return status;
}

tutti_status tutti_net_refuse(tutti_status status, const char *sentence) {
  return tt_fail(status, "%.400s", sentence);
}
