/* drop_session.c - MPI sessions alone, without MPI_Init: all ranks compute a sum in a communicator of a
 * session. MPIs before MPI 4 have no sessions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4 && defined MPI_SESSION_NULL
int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int one = 1, sum = 0, rank = 0, ranks = 0;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) ||
      MPI_Group_from_session_pset(session, "mpi://WORLD", &group) ||
      MPI_Comm_create_from_group(group, "drop_session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm))
    return 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) printf("%s - a sum in a session\n1..1\n", sum == ranks ? "ok" : "not ok");
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  return MPI_Session_finalize(&session);
}
#else
int main(void) {
  printf("ok - a sum in a session # SKIP this MPI has no sessions\n1..1\n");
  return 0;
}
#endif
