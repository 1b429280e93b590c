/* entries.c - the MPI functions that a program calls.
 *
 * Idea       One expansion for each form of a collective: tutti serves the call if it can; otherwise the call is passed
 *            to the MPI and counted. PMPI_X is an alias of MPI_X, because Open MPI's Fortran interface calls it.
 * Cost       Passing a call to the MPI takes a look-up, and with TUTTI_REPORT a counter and two clock reads.
 * SPDX-License-Identifier: BSD-3-Clause */
/* Exports the functions that mpi.h declares, because MPICH's mpi.h does not set their visibility. */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <stdio.h>
#include <stdlib.h>

#include "async.h"
#include "net.h"
#include "serve.h"
#include "tutti_plan.h"
#include "uses.h"

/* ---- collectives ---- */

/* Ends a call, and its timing, if it is being measured. */
static inline int ended(const answer *a, int code) {
  return a->turn ? turn_end(a->turn, code) : code;
}

#define SERVED(function, name, lower, arguments, ...)                                     \
  int MPI_##name(__VA_ARGS__) {                                                           \
    const answer a = serve_##lower arguments;                                             \
    if (a.why == WHY_SERVED) return ended(&a, a.code);                                    \
    const uint64_t since = report_hand_on(SHIM_##function, a.why);                        \
    return report_back(SHIM_##function, a.why, since, ended(&a, next()->name arguments)); \
  }                                                                                       \
  ALSO_PMPI(name)

#define WITHOUT_PARENTHESES(...) __VA_ARGS__
#define STARTED(function, name, lower, arguments, ...)             \
  int MPI_##name(__VA_ARGS__, MPI_Request *request) {              \
    const async_call call = CALL_##lower arguments;                \
    const answer a = async_start(SHIM_##function, &call, request); \
    if (a.why == WHY_SERVED) return a.code;                        \
    report_hand_on(SHIM_##function, a.why);                        \
    return next()->name(WITHOUT_PARENTHESES arguments, request);   \
  }                                                                \
  ALSO_PMPI(name)

#define PREPARED(function, symbol, psymbol, member, lower, arguments, ...) \
  int symbol(__VA_ARGS__, MPI_Info info, MPI_Request *request) {           \
    const async_call call = CALL_##lower arguments;                        \
    const answer a = async_init(SHIM_I##lower, &call, request);            \
    if (a.why == WHY_SERVED) return a.code;                                \
    report_hand_on(SHIM_##function##_init, a.why);                         \
    return next()->member(WITHOUT_PARENTHESES arguments, info, request);   \
  }                                                                        \
  __typeof__(symbol) psymbol __attribute__((alias(TEXT(symbol))));

#if EXTENDED
#define ALSO_EXTENDED(name)                            \
  __typeof__(MPI_##name##_init) MPIX_##name##_init     \
      __attribute__((alias(TEXT(MPI_##name##_init)))); \
  __typeof__(MPI_##name##_init) PMPIX_##name##_init __attribute__((alias(TEXT(MPI_##name##_init))));
#else
#define ALSO_EXTENDED(name)
#endif

#define PLAIN(name, lower, parameters, arguments)                                      \
  SERVED(name, name, lower, arguments, parameters(int, int))                           \
  STARTED(I##lower, I##lower, lower, arguments, parameters(int, int))                  \
  PREPARED(name, MPI_##name##_init, PMPI_##name##_init, name##_init, lower, arguments, \
           parameters(int, int))                                                       \
  ALSO_EXTENDED(name)
#if HAS_LARGE
#define X(name, lower, parameters, arguments)                                                \
  PLAIN(name, lower, parameters, arguments)                                                  \
  SERVED(name, name##_c, lower, arguments, parameters(MPI_Count, MPI_Aint))                  \
  STARTED(I##lower, I##lower##_c, lower, arguments, parameters(MPI_Count, MPI_Aint))         \
  PREPARED(name, MPI_##name##_init_c, PMPI_##name##_init_c, name##_init_c, lower, arguments, \
           parameters(MPI_Count, MPI_Aint))
#else
#define X PLAIN
#endif
#include "collectives.def"

/* ---- communicators ---- */

int MPI_Comm_free(MPI_Comm *comm) {
  if (comm) state_remove(*comm);
  return next()->Comm_free(comm);
}
ALSO_PMPI(Comm_free)

int MPI_Comm_disconnect(MPI_Comm *comm) {
  if (comm) state_remove(*comm);
  return next()->Comm_disconnect(comm);
}
ALSO_PMPI(Comm_disconnect)

/* ---- objects that a collective in progress may still need ---- */

int MPI_Op_free(MPI_Op *op) {
  return op && uses_keep_op(op) ? MPI_SUCCESS : next()->Op_free(op);
}
ALSO_PMPI(Op_free)

int MPI_Type_free(MPI_Datatype *type) {
  return type && uses_keep_type(type) ? MPI_SUCCESS : next()->Type_free(type);
}
ALSO_PMPI(Type_free)

/* ---- initialization and finalization ---- */

/* Warns about a program that does not wait for its nonblocking collectives. Such a program may use a result before it has
 * arrived, and MPIs do not report this. */
static void name_unwaited(void) {
  const int n = atomic_load(&async_unwaited);
  int rank = 0;
  if (n == 0) return; /* this includes a process that runs another MPI with incompatible handles */
  next()->net.Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr,
          "tutti: rank %d: MPI_Finalize, and no call has completed %d of its non-blocking "
          "collectives: complete each by MPI_Wait or MPI_Test\n",
          rank, n);
}

static void end(void) {
  name_unwaited();
  state_end();
  async_end();
  report_end();
  tutti_finalize(); /* writes the measurements */
}

/* Runs the shim's cleanup when MPI_Finalize deletes the first attribute of MPI_COMM_SELF. This attribute is deleted last, so
 * the cleanup runs after the program's callbacks, which may still call MPI. */
static int end_at_last(MPI_Comm comm, int keyval, void *attribute, void *extra) {
  (void)comm, (void)keyval, (void)attribute, (void)extra;
  end();
  return MPI_SUCCESS;
}

static bool ends_at_last;

/* Makes MPI return errors instead of ending the job while the shim queries which types and ops the MPI supports. MPI calls
 * without a communicator report errors on MPI_COMM_WORLD, and since MPI 4 on MPI_COMM_SELF. */
static void look_at_types(void) {
  const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler before[2];
  for (int i = 0; i < 2; i++) {
    next()->Comm_get_errhandler(comms[i], &before[i]);
    next()->net.Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  }
  datatype_begin();
  reduction_begin();
  for (int i = 0; i < 2; i++) {
    next()->net.Comm_set_errhandler(comms[i], before[i]);
    next()->Errhandler_free(&before[i]);
  }
}

static int begin(int code) {
  if (code != MPI_SUCCESS || !state_begin()) return code;
  ends_at_last = !mpi_net_begin(&next()->net) && !net_at_end(&next()->net, end_at_last);
  state_world();
  look_at_types();
  async_begin();
  return code;
}

/* Reports that a program calls its MPI without this library. */
__attribute__((destructor)) static void name_unseen(void) {
  int (*initialized)(int *), is = 0;
  if (atomic_load(&next_filled) || !tutti_setting("TUTTI_REPORT")) return;
  *(void **)&initialized = mpi_find(RTLD_NEXT, "PMPI_Initialized");
  if (initialized && !initialized(&is) && is)
    report_nothing(
        "the program calls its MPI past this library: it opened the MPI with RTLD_DEEPBIND, or "
        "looked the functions up in it by dlsym");
}

/* A library may call MPI_Init even if the process has no MPI. */
static int no_mpi(void) {
  report_nothing("this process has no MPI");
  return MPI_ERR_OTHER;
}

int MPI_Init(int *argc, char ***argv) {
  next_fill_for(__builtin_return_address(0));
  return next()->Init ? begin(next()->Init(argc, argv)) : no_mpi();
}
ALSO_PMPI(Init)

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  next_fill_for(__builtin_return_address(0));
  return next()->Init_thread ? begin(next()->Init_thread(argc, argv, required, provided))
                             : no_mpi();
}
ALSO_PMPI(Init_thread)

int MPI_Finalize(void) {
  if (!ends_at_last) end();
  net_finalize_begin();
  const int code = next()->Finalize();
  net_finalize_end();
  return code;
}
ALSO_PMPI(Finalize)
