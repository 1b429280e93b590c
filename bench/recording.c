/* recording.c - the cost of publishing every call and checking it on the peers: writing the call signature, which
 * peers and `tutti doctor` read, and the hash next to the data.
 *
 *   tutti run -n 2 recording [ROUNDS]   prints three times in ns, each the minimum of alternating rounds: an
 *                                       allreduce of 4 B, the same without publishing, and publishing a signature
 *                                       and its hash alone
 *
 * Idea       the transport's table of functions has an entry that publishes the signature, so a copy of the table
 *            with an empty function switches it off. The hash cannot be switched off, because it is in the flag
 *            that ranks wait for. It is timed separately, together with the signature.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "build_comm.h"
#include "timing.h"

enum { CALLS = 20000, WARM = 2000, MOST = 201 };

static void publish_nothing(tt_wire *w, const tt_record *record) {
  (void)w, (void)record;
}

static int failed(void) {
  fprintf(stderr, "recording: %s\n", tutti_error());
  return 1;
}

/* Returns the minimum, which is the time of a call without disturbances. The signature takes the largest share of this time,
 * and the test shows that even this share is small. */
static double least(const double *x, int n) {
  double found = x[0];
  for (int i = 1; i < n; i++) found = x[i] < found ? x[i] : found;
  return found;
}

/* Returns the time of a call in ns, or -1 if a call failed. */
static double time_calls(tutti_comm *comm) {
  float x = 0;
  for (int i = 0; i < WARM; i++)
    if (tutti_allreduce(comm, &x, &x, 1, TUTTI_FLOAT, TUTTI_SUM)) return -1;
  const double from = timing_now();
  for (int i = 0; i < CALLS; i++)
    if (tutti_allreduce(comm, &x, &x, 1, TUTTI_FLOAT, TUTTI_SUM)) return -1;
  return 1e9 * (timing_now() - from) / CALLS;
}

/* Times the work that progress.c does for each call, on a communicator that has no other calls. Returns ns per call. */
static double time_records(tutti_comm *comm) {
  volatile uint32_t hash = 12345; /* stands for the hash of a plan */
  uint32_t chain = 1;
  const double from = timing_now();
  for (uint32_t seq = 1; seq <= CALLS; seq++) {
    chain = (uint32_t)tt_mix((uint64_t)chain << 32 | hash);
    const tt_record record = {{seq, chain}, TUTTI_ALLREDUCE, TUTTI_FLOAT, TUTTI_SUM, 0, 1};
    comm->wire->peer->record(comm->wire, &record);
  }
  return 1e9 * (timing_now() - from) / CALLS;
}

int main(int argc, char **argv) {
  const int asked = argc > 1 ? atoi(argv[1]) : 31, rounds = asked < 1      ? 1
                                                            : asked > MOST ? MOST
                                                                           : asked;
  double with[MOST], without[MOST], alone[MOST];
  tutti_comm *comm, *other;
  if (tutti_comm_from_env(&comm) || tutti_comm_dup(comm, &other)) return failed();
  const tt_peer_ops *usual = comm->wire->peer;
  tt_peer_ops silent = *usual;
  silent.record = publish_nothing;
  for (int i = 0; i < rounds; i++) {
    comm->wire->peer = usual;
    with[i] = time_calls(comm);
    comm->wire->peer = &silent;
    without[i] = time_calls(comm);
    alone[i] = time_records(other);
    if (with[i] < 0 || without[i] < 0) return failed();
  }
  comm->wire->peer = usual;
  if (tutti_comm_rank(comm) == 0)
    printf("%.1f %.1f %.2f\n", least(with, rounds), least(without, rounds), least(alone, rounds));
  if (tutti_comm_free(other) || tutti_comm_free(comm)) return failed();
  return tutti_finalize() ? failed() : 0;
}
