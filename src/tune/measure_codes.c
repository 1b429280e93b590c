/* measure_codes.c - measures a call with and without compression, and records which is faster.
 *
 * Idea       An estimate accounts neither for the load of the cores nor for how well these numbers compress without
 *            loss. The plan without compression therefore races against the one with it, on copies of the caller's
 *            numbers (race.c).
 *            Later calls of that kind and about that size use the faster variant. Messages remain uncompressed unless
 *            compression is faster by more than chance.
 * Cost       As in race.c: up to a quarter of a second, or a few calls of each variant.
 * Invariant  As in race.c. All ranks reach the same verdict.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"
#include "race.h"

/* Compression is not measured if its predicted time is longer by more than this factor. */
static const double AT_MOST = 2;

static tutti_status find_both(tt_race *s) {
  tt_code_pair pair;
  tutti_status status = tt_coding_pair(s->comm, s->asked, &s->problem, &pair);
  if (status || !pair.coded.plan) return status;
  if (pair.without > 0 && pair.with > AT_MOST * pair.without) return TUTTI_OK;
  status = tt_race_add(s, &pair.plain, pair.without);
  return status ? status : tt_race_add(s, &pair.coded, pair.with);
}

tutti_status tt_measure_codes(tutti_comm *comm, const tt_call *asked) {
  const bool reserved = tt_coding_reserve(comm);
  bool may_record;
  int won;
  tt_race s;
  tt_race_begin(&s, comm, asked);
  s.real = true;
  const tutti_status status = tt_race_run(&s, find_both(&s), reserved, &won, &may_record);
  if (may_record) tt_coding_learn(comm, asked, won > 0);
  return status;
}
