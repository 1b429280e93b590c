/* turns.h - the functions of turns_floor.c (shared memory) and turns_gloo.cc (gloo), for turns.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- turns_floor.c: one machine ---- */

/* Collective. Creates memory that all ranks share, with room for vectors of `last` bytes on two ranks. Returns 0, or -1 if
 * the ranks are on more than one host. */
int floor_open(int rank, int ranks, size_t last);
void floor_close(void);
/* A barrier. */
void floor_meet(void);
/* Collective. Returns the maximum of `seconds` over all ranks. */
double floor_slowest(double seconds);
/* Returns the round-trip time of a cache line between the first two cores in ns. All ranks get the same value. */
double floor_line(void);
/* Returns the vector that this rank must pass to floor_two_shot. */
float *floor_vector(void);
/* Sum in place. floor_exchange accepts at most 12 elements. floor_two_shot and floor_stream need two ranks, and
 * floor_two_shot needs the vector that floor_vector() returns. */
enum { FLOOR_EXCHANGE = 12 };
void floor_exchange(float *x, size_t n);
void floor_two_shot(float *x, size_t n);
void floor_stream(float *x, size_t n);

/* ---- turns_gloo.cc ---- */

/* Collective. Connects the ranks through files in `folder`. `interface` is the name of a network interface such as "eth0", or
 * NULL for the loopback interface. On failure, prints the error and returns nonzero. */
int gloo_open(int rank, int ranks, const char *folder, const char *interface);
void gloo_close(void);
/* Returns the name of an algorithm, counted from 0, or NULL after the last algorithm. */
const char *gloo_name(int algorithm);
/* Sums x in place. Keeps the algorithm's buffers until gloo_forget, or until a call with a different x or n. */
int gloo_sum(int algorithm, float *x, size_t n);
void gloo_forget(void);

#ifdef __cplusplus
}
#endif
#endif
