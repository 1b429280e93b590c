/* turns.h - the functions of turns_floor.c (shared memory) and turns_gloo.cc (gloo), for turns.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- turns_floor.c: one machine ---- */

/* Collective. Creates memory that all ranks share, large enough for vectors of `last` bytes on two ranks. Returns 0,
 * or -1 if the ranks are on several hosts. */
int floor_open(int rank, int ranks, size_t last);
void floor_close(void);
/* A barrier. */
void floor_meet(void);
/* Returns the maximum of `seconds` over all ranks, on every rank. */
double floor_slowest(double seconds);
/* Returns the round trip of a cache line between the first two cores, in nanoseconds; the same value on all ranks. */
double floor_line(void);
/* Returns this rank's vector for floor_two_shot. */
float *floor_vector(void);
/* Sums in place. floor_exchange takes up to 12 elements. floor_two_shot (on floor_vector()) and floor_stream need two
 * ranks. */
enum { FLOOR_EXCHANGE = 12 };
void floor_exchange(float *x, size_t n);
void floor_two_shot(float *x, size_t n);
void floor_stream(float *x, size_t n);

/* ---- turns_gloo.cc ---- */

/* Collective. The ranks connect through files in `folder`. interface is a name such as "eth0", or
 * NULL for the loopback. On failure, prints the error and returns nonzero. */
int gloo_open(int rank, int ranks, const char *folder, const char *interface);
void gloo_close(void);
/* Returns the name of algorithm 0, 1, ..., or NULL after the last one. */
const char *gloo_name(int algorithm);
/* Sums x in place. The algorithm keeps its buffers until gloo_forget, or until a call with another x or n. */
int gloo_sum(int algorithm, float *x, size_t n);
void gloo_forget(void);

#ifdef __cplusplus
}
#endif
#endif
