/* stub_mpi.c - this machine's MPI with properties of other MPIs: MPICH 5 and Open MPI 5 built without Fortran,
 * Intel MPI, MPICH over several nodes.
 *
 * Idea      A library with the name of the MPI's, which needs the MPI's own library under another name (tests/sh/other_mpis.sh makes
 *           that copy). Programs load it instead of the MPI's, and the drop-in finds its functions first. Functions that it
 *           does not define come from the MPI. Calls that the drop-in must not make end the process.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* The MPI's function. */
#define THEIRS(type, symbol)                                         \
  ({                                                                 \
    static __typeof__(&type) function_;                              \
    if (!function_) *(void **)&function_ = dlsym(RTLD_NEXT, symbol); \
    function_;                                                       \
  })
#define CALL(name, ...) THEIRS(MPI_##name, "PMPI_" #name)(__VA_ARGS__)
/* A function that programs and the drop-in call. */
#define BOTH(name, ...)                                                    \
  __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name))); \
  int MPI_##name(__VA_ARGS__)

static void end(const char *sentence) {
  fprintf(stderr, "stub: %s\n", sentence);
  abort();
}

/* Errors of calls without a communicator belong to MPI_COMM_SELF since MPI 4, and to MPI_COMM_WORLD before. The
 * drop-in must handle both, so both handlers are called. */
static int refuse(int class) {
  CALL(Comm_call_errhandler, MPI_COMM_WORLD, class);
  CALL(Comm_call_errhandler, MPI_COMM_SELF, class);
  return class;
}

/* ---- no Fortran ---- */

typedef enum lack { NOTHING, TYPE, REDUCTIONS } lack;

static lack lacks(MPI_Datatype type) {
  const MPI_Datatype types[] = {
      MPI_CHARACTER, MPI_LOGICAL,  MPI_INTEGER,  MPI_REAL,      MPI_DOUBLE_PRECISION,
      MPI_COMPLEX,   MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4,  MPI_INTEGER8,
      MPI_REAL4,     MPI_REAL8,    MPI_COMPLEX8, MPI_COMPLEX16, MPI_DOUBLE_COMPLEX};
  const MPI_Datatype pairs[] = {MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (type == types[i]) return TYPE;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (type == pairs[i]) return REDUCTIONS;
  return NOTHING;
}

/* ASKS refuses missing types, REDUCES also types without reductions. */
#define ASKS(name, parameters, arguments)                 \
  BOTH(name, WITHOUT_PARENTHESES parameters) {            \
    if (lacks(type) == TYPE) return refuse(MPI_ERR_TYPE); \
    return THEIRS(MPI_##name, "PMPI_" #name) arguments;   \
  }
#define REDUCES(name, parameters, arguments)               \
  BOTH(name, WITHOUT_PARENTHESES parameters) {             \
    if (lacks(type) != NOTHING) return refuse(MPI_ERR_OP); \
    return THEIRS(MPI_##name, "PMPI_" #name) arguments;    \
  }
#define WITHOUT_PARENTHESES(...) __VA_ARGS__

ASKS(Type_size, (MPI_Datatype type, int *size), (type, size))
ASKS(Type_size_x, (MPI_Datatype type, MPI_Count *size), (type, size))
ASKS(Type_get_extent, (MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent), (type, lower, extent))
ASKS(Type_get_true_extent, (MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent),
     (type, lower, extent))
REDUCES(Reduce_local, (const void *in, void *inout, int n, MPI_Datatype type, MPI_Op op),
        (in, inout, n, type, op))
REDUCES(Allreduce, (const void *src, void *dst, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (src, dst, n, type, op, comm))
REDUCES(Reduce,
        (const void *src, void *dst, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
        (src, dst, n, type, op, root, comm))
REDUCES(Reduce_scatter,
        (const void *src, void *dst, const int *n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (src, dst, n, type, op, comm))
REDUCES(Reduce_scatter_block,
        (const void *src, void *dst, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (src, dst, n, type, op, comm))

/* ---- properties of other MPIs ---- */

/* The drop-in looks for a library that defines MPI_Init. */
BOTH(Init, int *argc, char ***argv) {
  return CALL(Init, argc, argv);
}
BOTH(Init_thread, int *argc, char ***argv, int required, int *provided) {
  return CALL(Init_thread, argc, argv, required, provided);
}

/* Intel MPI and others name neither MPICH nor Open MPI. */
BOTH(Get_library_version, char *version, int *length) {
  *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "A stub of an MPI, 1.0");
  return MPI_SUCCESS;
}

/* MPICH 5 crashes in a later collective. */
BOTH(T_finalize, void) {
  end("MPI_T_finalize: this MPI crashes after it");
  return MPI_SUCCESS;
}

/* In MPICH 5 over UCX no two ranks share memory. */
BOTH(Comm_split_type, MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out) {
  int rank;
  if (type != MPI_COMM_TYPE_SHARED) return CALL(Comm_split_type, comm, type, key, info, out);
  CALL(Comm_rank, comm, &rank);
  return CALL(Comm_split, comm, rank, key, out);
}

/* Persistent collectives of Intel MPI 2021.18 complete without their data once a persistent message has been
 * freed. Programs may use them nevertheless, but the drop-in must not. */
static int is_dropin(const void *caller) {
  Dl_info info;
  return dladdr(caller, &info) && strstr(info.dli_fname, "libtutti_pmpi");
}
#define MESSAGE(name, buffer)                                                                \
  BOTH(name, buffer, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,             \
       MPI_Request *request) {                                                               \
    if (is_dropin(__builtin_return_address(0)))                                              \
      end("a persistent message: freed, this MPI's persistent collectives lose their data"); \
    return CALL(name, at, n, type, peer, tag, comm, request);                                \
  }
MESSAGE(Send_init, const void *at)
MESSAGE(Recv_init, void *at)

/* Open MPI 5 has the persistent collectives of MPI 4, and no longer those of its extension. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
#define X(name, lower, parameters, arguments)                                                      \
  int PMPI_##name##_init(parameters(int, int), MPI_Info info, MPI_Request *request) {              \
    return THEIRS(MPIX_##name##_init, "PMPIX_" #name "_init")(WITHOUT_PARENTHESES arguments, info, \
                                                              request);                            \
  }                                                                                                \
  int PMPIX_##name##_init(parameters(int, int), MPI_Info info, MPI_Request *request) {             \
    (void)info, (void)request;                                                                     \
    end("PMPIX_" #name "_init: this MPI has none");                                                \
    return MPI_SUCCESS;                                                                            \
  }
#include "../../shim/collectives.def"
#endif
