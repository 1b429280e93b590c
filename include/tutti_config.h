/* tutti_config.h - the settings of a communicator: what results guarantee, which plans may run, how long calls wait. A part of
 * tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tutti.h" /* before the guard: other parts of it use this one */
#ifndef TUTTI_CONFIG_H
#define TUTTI_CONFIG_H

#ifdef __cplusplus
extern "C" {
#endif

/** What results guarantee. docs/reproducible.md says on what conditions, and at what cost.
 *  Under exact, sums of floating point and complex types are exact sums, rounded once to nearest even; avg is the exact
 *  mean, rounded once; a scaled op sums the rounded products. Infinities and NaNs give what IEEE 754 says of a sum, in any
 *  order. Finite numbers overflow only if their exact sum does. A zero is negative only if all summands are. prod of these
 *  types, and ops of tutti_op_create, return TUTTI_ERR_UNSUPPORTED. Everything else is as under run. */
typedef enum tutti_contract {
  TUTTI_CONTRACT_DEFAULT, /* as the variable TUTTI_CONTRACT says; else same */
  TUTTI_CONTRACT_SAME,    /* the same bits on all ranks */
  TUTTI_CONTRACT_ANY,     /* ranks may round a sum differently: more plans can run */
  TUTTI_CONTRACT_RUN,     /* the same bits on all ranks and in every run: no measurement decides */
  TUTTI_CONTRACT_ELEMENT, /* the bits of an element depend on its inputs and the number of ranks alone: each sum adds all ranks'
                             inputs in one step, in rank order */
  TUTTI_CONTRACT_EXACT /* the exact sum, rounded once: the same bits for every plan, every placement of the ranks, and
                             every number of ranks (at most 2097151) */
} tutti_contract;

/** The settings of a communicator. A field that is 0 or NULL has its default: the value of the environment variable named in
 *  its comment, else the value after it. All but the timeouts, the name and the net must be the same on all ranks. */
typedef struct tutti_config {
  size_t size;             /* sizeof(tutti_config) */
  tutti_contract contract; /* TUTTI_CONTRACT; same */
  /* Which plans may run: TUTTI_ALGO; tutti chooses, as it does for "" and where a named algorithm cannot run (the log says
   * why). Names of algorithms with their parameters, as `tutti plan list` prints them; '^' excludes one, also with further
   * parameters; a range of sizes, in bytes of the vector, may follow; semicolons separate entries:
   *   "consistent(i=2):0-64k;fold(ring):64k-"    or    "^ring;^tree" */
  const char *algorithm;
  /* Each part of a vector runs the schedule, up to three at a time, in allreduce, reduce, broadcast, scan and exscan.
   * TUTTI_SLICES; tutti chooses. */
  int slices;
  /* The last `helpers` ranks, at most P - 1, bring no data and receive no result, but sum for the others, as a network's
   * switches can (`aggregate` in docs/schedules.md). Collectives are over the first P - helpers ranks: avg divides by their
   * number, roots are among them, and each has a block in reduce_scatter and allgather. Helpers make every call that the
   * others make, with the same count, type, op and root; their buffers may be NULL. What no plan supports with helpers, as
   * gather, returns TUTTI_ERR_UNSUPPORTED. A rank can help several groups, in one communicator each: it starts the
   * collectives of all groups, and waiting for one drives all. */
  int helpers;
  /* s to wait for other ranks before a call fails on all with TUTTI_ERR_TIMEOUT, and tutti_error() names the late rank and
   * the call. Where ranks differ, the shortest counts. TUTTI_TIMEOUT; none, and a warning after 10 s. */
  double timeout;
  /* Messages between hosts may take fewer bytes, where that is faster by the prices (docs/lighter.md). TUTTI_CODE; "none".
   *   "lossless"  floating point numbers of up to 64 bits, in any collective, with the same bits
   *   "error=E"   sums, scaled sums and means of TUTTI_FLOAT32, in allreduce, reduce and reduce_scatter, differ from exact
   *               ones by at most E times the sum (of a mean: the mean) of the ranks' largest magnitudes in each block of
   *               256 numbers, apart from the rounding of float. All ranks get the same bits. Numbers travel as int8 with
   *               a scale per block; "error=E,code=fp8_e4m3" (or fp8_e5m2) takes 8-bit floats, which keep small numbers of
   *               a block better. A block with an infinity or a NaN becomes NaN as a whole. */
  const char *compression;
  /* 1: measure a call before its first run if no wisdom covers calls of its kind and about its size; blocking calls, and
   * persistent ones when they are made. -1: never. TUTTI_MEASURE of the first rank; never. */
  int measure;
  const char *name; /* up to 47 bytes, which the log, errors, traces and `tutti doctor` show; none */
  /* At creation only. The network: "ucx", "tcp", "tls"; "name" for libtutti_name.so; or a path with a '/'. TUTTI_NET;
   * ucx or tcp. */
  const char *net;
  double connect_timeout; /* at creation only: s to wait for missing ranks. TUTTI_CONNECT_TIMEOUT; 120 */
} tutti_config;

/** Set all settings of a communicator; `config` is read during the call only. To change one of them, ask tutti_comm_config
 *  first. Requests that were made before keep their plans; tutti_comm_dup, _shrink and _grow copy the settings. Local.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG (no such algorithm, a number out of range, ...); TUTTI_ERR_UNSUPPORTED (exact on too many
 *          ranks, or with a compression that rounds); TUTTI_ERR_MEMORY; TUTTI_ERR_STATE (requests are in flight, and more
 *          than the timeout or the name changes). After an error nothing has changed. */
TUTTI_API tutti_status tutti_comm_configure(tutti_comm *comm, const tutti_config *config);

/** Fill in the settings in effect; `config->size` is set before. No field is a default, but for the timeouts, whose
 *  variables may change, the name of a communicator that has none, and the net. The texts are valid until the next call of
 *  either function on `comm`, and while it exists. `comm` may have failed. Returns TUTTI_OK; TUTTI_ERR_ARG, _MEMORY, _STATE. */
TUTTI_API tutti_status tutti_comm_config(tutti_comm *comm, tutti_config *config);

#ifdef __cplusplus
}
#endif
#endif
