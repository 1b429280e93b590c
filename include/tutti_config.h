/* tutti_config.h - the settings of a communicator: guarantees on results, permitted plans, timeouts. A part of
 * tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tutti.h" /* before the guard, because other parts of tutti.h use this header */
#ifndef TUTTI_CONFIG_H
#define TUTTI_CONFIG_H

#ifdef __cplusplus
extern "C" {
#endif

/** The guarantees on results. docs/reproducible.md states their conditions and costs. Under exact, sums of floating point
 *  and complex types are exact sums, rounded once to nearest even; avg is the exact mean, rounded once; a scaled op sums
 *  the rounded products. Infinities and NaNs produce the result that IEEE 754 specifies for a sum, in any order. Finite
 *  numbers overflow only if their exact sum does. A zero is negative only if all summands are negative zeros. prod of these
 *  types, and ops of tutti_op_create, return TUTTI_ERR_UNSUPPORTED. All other cases behave as under run. */
typedef enum tutti_contract {
  TUTTI_CONTRACT_DEFAULT, /* the contract given by TUTTI_CONTRACT, or same if that is unset */
  TUTTI_CONTRACT_SAME,    /* the same bits on all ranks */
  TUTTI_CONTRACT_ANY,     /* ranks may round a sum differently, which permits more plans */
  TUTTI_CONTRACT_RUN,     /* the same bits on all ranks and in every run; no choice depends on
                             measurements */
  TUTTI_CONTRACT_ELEMENT, /* the bits of an element depend only on its inputs and the number of
                             ranks: each sum adds all ranks' inputs in one step, in rank order */
  TUTTI_CONTRACT_EXACT /* the exact sum, rounded once: the same bits for every plan, every placement of the ranks, and
                          every number of ranks (at most 2097151) */
} tutti_contract;

/** The settings of a communicator. A field that is 0 or NULL has its default. The default is the value of the environment
 *  variable named in the field's comment, or the value after that name if the variable is unset. All settings except the
 *  timeouts, the name and the net must be the same on all ranks. */
typedef struct tutti_config {
  size_t size;             /* sizeof(tutti_config) */
  tutti_contract contract; /* default: TUTTI_CONTRACT, or same */
  /* Which plans may run (default: TUTTI_ALGO, or tutti chooses). For "", and if a named algorithm cannot run, tutti also
   * chooses (the log has the reason). The text lists algorithms with their parameters, as printed by `tutti plan list`.
   * '^' excludes an algorithm, including variants with additional parameters. A range of sizes, in bytes of the vector, may
   * follow. Entries are separated by semicolons:
   *   "consistent(i=2):0-64k;fold(ring):64k-"    or    "^ring;^tree" */
  const char *algorithm;
  /* Number of slices into which a vector is cut. Each slice runs the schedule, and up to three slices run concurrently.
   * Applies to allreduce, reduce, broadcast, scan and exscan. Default: TUTTI_SLICES, or tutti chooses. */
  int slices;
  /* The last `helpers` ranks, at most P - 1, contribute no data and receive no result, but compute sums for the other ranks,
   * as a network's switches can (`aggregate` in docs/schedules.md). Collectives are over the first P - helpers ranks: avg
   * divides by their number, roots are among them, and each one has a block in reduce_scatter and allgather. Helpers make
   * every call that the others make, with the same count, type, op and root; their buffers may be NULL. Collectives that no
   * plan supports with helpers, such as gather, return TUTTI_ERR_UNSUPPORTED. A rank can help several groups, using one
   * communicator for each: it starts the collectives of all groups, and waiting for one of them drives all. */
  int helpers;
  /* Time in seconds to wait for other ranks before a call fails on all of them with TUTTI_ERR_TIMEOUT; tutti_error() then
   * names the late rank and the call. If ranks have different values, the smallest applies. Default: TUTTI_TIMEOUT, or no
   * limit, but a warning after 10 s. */
  double timeout;
  /* How messages between hosts may be compressed, if the cost model predicts that this is faster (docs/lighter.md).
   * Default: TUTTI_CODE, or "none".
   *   "lossless"  floating point numbers of up to 64 bits, in any collective, with unchanged bits
   *   "error=E"   sums, scaled sums and means of TUTTI_FLOAT32, in allreduce, reduce and reduce_scatter. Results differ from
   *               exact ones by at most E times the sum (for a mean: the mean) of the ranks' largest magnitudes in each
   *               block of 256 numbers, apart from the rounding of float. All ranks get the same bits. Numbers are sent as
   *               int8 with a scale per block; "error=E,code=fp8_e4m3" (or fp8_e5m2) sends 8-bit floats, which preserve
   *               the small numbers of a block better. A block with an infinity or a NaN becomes NaN as a whole. */
  const char *compression;
  /* 1: measure a call before its first run if no wisdom covers such calls of about this size. Blocking calls are measured
   * when they first run, persistent ones when they are created. -1: never measure. Default: TUTTI_MEASURE of the first rank,
   * or never. */
  int measure;
  const char *name; /* up to 47 bytes, shown in the log, errors, traces and by `tutti doctor`;
                       default: none */
  /* The network between ranks that do not share memory, used only when a communicator is created: "ucx", "tcp", "tls"; "name"
   * for libtutti_name.so; or a path with a '/'. Default: TUTTI_NET, or ucx or tcp. */
  const char *net;
  double connect_timeout; /* used only at creation: time in seconds to wait for missing ranks.
                             Default: TUTTI_CONNECT_TIMEOUT, or 120 */
} tutti_config;

/** Set all settings of a communicator. `config` is read only during the call. To change a single setting, call
 *  tutti_comm_config first. Existing requests keep their plans. tutti_comm_dup, _shrink and _grow copy the settings. Local.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG (an unknown algorithm, a number out of range, ...); TUTTI_ERR_UNSUPPORTED (exact on too
 *          many ranks, or with a compression that rounds); TUTTI_ERR_MEMORY; TUTTI_ERR_STATE (requests are in flight, and
 *          a setting other than the timeout or the name changes). After an error nothing has changed. */
TUTTI_API tutti_status tutti_comm_configure(tutti_comm *comm, const tutti_config *config);

/** Get the settings in effect; set `config->size` before the call. Fields contain actual values instead of defaults, except
 *  the timeouts (because their variables may change), the name if it is unset, and the net. The strings are valid until the
 *  next call of either function on `comm`, and not after it is freed. `comm` may have failed. Returns TUTTI_OK; TUTTI_ERR_ARG,
 *  _MEMORY, _STATE. */
TUTTI_API tutti_status tutti_comm_config(tutti_comm *comm, tutti_config *config);

#ifdef __cplusplus
}
#endif
#endif
