/* peer_mpi.c - an MPI whose library is loaded at run time, as the other side of a comparison.
 *
 * Idea      There are two binary interfaces. The handles of Open MPI are addresses of objects;
 *           those of MPICH and its derivatives (Intel MPI, MVAPICH) are integers. Functions are
 *           called with handles that are as wide as an address. On x86-64 and 64-bit ARM, a
 *           function that expects an integer uses the low half of the register, or of the stack
 *           slot.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

typedef intptr_t handle;

/* The functions, named as in MPI. */
static struct {
  int (*Init)(int *, char ***);
  int (*Finalize)(void);
  int (*Get_library_version)(char *, int *);
  int (*Comm_rank)(handle, int *);
  int (*Comm_size)(handle, int *);
  int (*Allreduce)(const void *, void *, int, handle, handle, handle);
  int (*Reduce)(const void *, void *, int, handle, handle, int, handle);
  int (*Reduce_scatter_block)(const void *, void *, int, handle, handle, handle);
  int (*Scan)(const void *, void *, int, handle, handle, handle);
  int (*Exscan)(const void *, void *, int, handle, handle, handle);
  int (*Bcast)(void *, int, handle, int, handle);
  int (*Allgather)(const void *, int, handle, void *, int, handle, handle);
  int (*Alltoall)(const void *, int, handle, void *, int, handle, handle);
  int (*Gather)(const void *, int, handle, void *, int, handle, int, handle);
  int (*Scatter)(const void *, int, handle, void *, int, handle, int, handle);
  int (*Barrier)(handle);
} mpi;
static handle world, type_of, op_of;
static void *in_place;

/* Types and ops as MPI constants. In Open MPI, a constant is the address of a symbol. In MPICH, it is a number. */
typedef struct constant {
  const char *symbol;
  handle number;
} constant;
static const constant types[TUTTI_TYPE_COUNT] = {
    [TUTTI_INT8] = {"ompi_mpi_int8_t", 0x4c000137},
    [TUTTI_INT16] = {"ompi_mpi_int16_t", 0x4c000238},
    [TUTTI_INT32] = {"ompi_mpi_int32_t", 0x4c000439},
    [TUTTI_INT64] = {"ompi_mpi_int64_t", 0x4c00083a},
    [TUTTI_UINT8] = {"ompi_mpi_uint8_t", 0x4c00013b},
    [TUTTI_UINT16] = {"ompi_mpi_uint16_t", 0x4c00023c},
    [TUTTI_UINT32] = {"ompi_mpi_uint32_t", 0x4c00043d},
    [TUTTI_UINT64] = {"ompi_mpi_uint64_t", 0x4c00083e},
    [TUTTI_FLOAT] = {"ompi_mpi_float", 0x4c00040a},
    [TUTTI_DOUBLE] = {"ompi_mpi_double", 0x4c00080b},
};
static const constant ops[TUTTI_OP_COUNT] = {
    [TUTTI_MAX] = {"ompi_mpi_op_max", 0x58000001},
    [TUTTI_MIN] = {"ompi_mpi_op_min", 0x58000002},
    [TUTTI_SUM] = {"ompi_mpi_op_sum", 0x58000003},
    [TUTTI_PROD] = {"ompi_mpi_op_prod", 0x58000004},
    [TUTTI_LAND] = {"ompi_mpi_op_land", 0x58000005},
    [TUTTI_BAND] = {"ompi_mpi_op_band", 0x58000006},
    [TUTTI_LOR] = {"ompi_mpi_op_lor", 0x58000007},
    [TUTTI_BOR] = {"ompi_mpi_op_bor", 0x58000008},
    [TUTTI_LXOR] = {"ompi_mpi_op_lxor", 0x58000009},
    [TUTTI_BXOR] = {"ompi_mpi_op_bxor", 0x5800000a},
};

const char *peer_mpi_lacks(const bench_options *o) {
  static char why[120];
  if (!types[o->type].symbol)
    snprintf(why, sizeof why, "MPI has no type %s", tutti_type_name(o->type));
  else if (bench_reduces(o->coll) && !ops[o->op].symbol)
    snprintf(why, sizeof why, "it is not compared with the op %s", tutti_op_name(o->op));
  else
    return NULL;
  return why;
}

static tutti_status call(const bench_job *job, const bench_call *c) {
  const int n = (int)c->count;
  const bool inside = c->src == c->dst;
  const bool root = job->rank == c->root;
  int error = 0;
  switch (c->coll) {
    case TUTTI_ALLREDUCE:
      error = mpi.Allreduce(inside ? in_place : c->src, c->dst, n, type_of, op_of, world);
      break;
    case TUTTI_REDUCE:
      error =
          mpi.Reduce(inside && root ? in_place : c->src, c->dst, n, type_of, op_of, c->root, world);
      break;
    case TUTTI_REDUCE_SCATTER:
      error = mpi.Reduce_scatter_block(c->src, c->dst, n, type_of, op_of, world);
      break;
    case TUTTI_SCAN:
      error = mpi.Scan(inside ? in_place : c->src, c->dst, n, type_of, op_of, world);
      break;
    case TUTTI_EXSCAN:
      error = mpi.Exscan(inside ? in_place : c->src, c->dst, n, type_of, op_of, world);
      break;
    case TUTTI_BROADCAST: error = mpi.Bcast(c->dst, n, type_of, c->root, world); break;
    case TUTTI_ALLGATHER:
      error = mpi.Allgather(c->src, n, type_of, c->dst, n, type_of, world);
      break;
    case TUTTI_ALLTOALL: error = mpi.Alltoall(c->src, n, type_of, c->dst, n, type_of, world); break;
    case TUTTI_GATHER:
      error = mpi.Gather(c->src, n, type_of, c->dst, n, type_of, c->root, world);
      break;
    case TUTTI_SCATTER:
      error = mpi.Scatter(c->src, n, type_of, c->dst, n, type_of, c->root, world);
      break;
    default: error = mpi.Barrier(world);
  }
  return error ? TUTTI_ERR_SYSTEM : TUTTI_OK;
}

static void leave(void) {
  mpi.Finalize();
}

static handle constant_of(peer_memory *m, void *library, constant c) {
  if (m->kind == PEER_MPICH) return c.number;
  void *at = dlsym(library, c.symbol);
  if (!at) peer_fail(m, "%s has no %s; is it an Open MPI?", m->library, c.symbol);
  return (handle)at;
}

static void find_functions(peer_memory *m, void *library) {
#define FIND(name)                                     \
  *(void **)&mpi.name = dlsym(library, "PMPI_" #name); \
  if (!mpi.name) peer_fail(m, "%s has no PMPI_" #name, m->library);
  FIND(Init)
  FIND(Finalize)
  FIND(Get_library_version)
  FIND(Comm_rank)
  FIND(Comm_size)
  FIND(Allreduce)
  FIND(Reduce)
  FIND(Reduce_scatter_block)
  FIND(Scan)
  FIND(Exscan)
  FIND(Bcast)
  FIND(Allgather)
  FIND(Alltoall)
  FIND(Gather)
  FIND(Scatter)
  FIND(Barrier)
#undef FIND
}

peer_other peer_mpi_open(peer_memory *m, int *rank, int *ranks) {
  static char version[8192 + 1]; /* MPICH's MPI_MAX_LIBRARY_VERSION_STRING */
  int length;
  void *library = dlopen(m->library, RTLD_NOW | RTLD_GLOBAL); /* plugins need its symbols */
  if (!library) peer_fail(m, "%s cannot be loaded: %s", m->library, dlerror());
  find_functions(m, library);
  if (mpi.Init(NULL, NULL)) peer_fail(m, "MPI_Init failed");
  world = constant_of(m, library, (constant){"ompi_mpi_comm_world", 0x44000000});
  type_of = constant_of(m, library, types[m->o.type]);
  if (bench_reduces(m->o.coll)) op_of = constant_of(m, library, ops[m->o.op]);
  in_place = (void *)(m->kind == PEER_MPICH ? (intptr_t)-1 : (intptr_t)1);
  if (mpi.Comm_rank(world, rank) || mpi.Comm_size(world, ranks))
    peer_fail(m, "MPI_Comm_rank failed");
  if (*rank == 0 && !mpi.Get_library_version(version, &length))
    snprintf(m->version, sizeof m->version, "%.255s", version);
  return (peer_other){.call = call, .close = leave};
}
