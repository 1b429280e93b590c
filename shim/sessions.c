/* sessions.c - MPI's sessions (MPI 4). A program may use them and never call MPI_Init.
 *
 * Idea       tutti's communicators consist of ranks of MPI_COMM_WORLD, which such a program does not have, so the MPI serves
 *            its calls. If a report is requested, it states the reason at the program's end. The program's MPI is found at
 *            the first session, as in MPI_Init.
 * Headers    Headers before MPI 4 lack the functions: a session is a pointer in Open MPI 5, and in the standard ABI.
 * SPDX-License-Identifier: BSD-3-Clause */
/* Exports the functions that mpi.h declares, because MPICH's mpi.h does not set their visibility. */
#pragma GCC visibility push(default)
#include <mpi.h>

#ifdef MPI_SESSION_NULL
typedef MPI_Session session;
#else
typedef void *session;
#endif
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, session *of);
int MPI_Session_finalize(session *of);
#pragma GCC visibility pop

#include "report.h"
#include "serve.h"

typedef int init_fn(MPI_Info info, MPI_Errhandler handler, session *of);
typedef int finalize_fn(session *of);

int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, session *of) {
  next_fill_for(__builtin_return_address(0));
  init_fn *mpis;
  *(void **)&mpis = mpi_find(RTLD_NEXT, "PMPI_Session_init");
  return mpis ? mpis(info, handler, of) : MPI_ERR_OTHER;
}
ALSO_PMPI(Session_init)

int MPI_Session_finalize(session *of) {
  int initialized = 0;
  finalize_fn *mpis;
  next()->net.Initialized(&initialized);
  if (!initialized)
    report_nothing(
        "this program has MPI sessions and does not call MPI_Init, so it has no MPI_COMM_WORLD");
  *(void **)&mpis = mpi_find(RTLD_NEXT, "PMPI_Session_finalize");
  return mpis ? mpis(of) : MPI_ERR_OTHER;
}
ALSO_PMPI(Session_finalize)
