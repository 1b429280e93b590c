/* turns.h - the functions of turns_floor.c (shared memory) and turns_gloo.cc (gloo), for turns.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- turns_floor.c: one machine ---- */

/* Collective. Shares memory between all ranks, enough for vectors of `last` bytes on two ranks.
 * 0, or -1 if the ranks are on several hosts. */
int floor_open(int rank, int ranks, size_t last);
void floor_close(void);
/* A barrier. */
void floor_meet(void);
/* The greatest `seconds` of all ranks, on all ranks. */
double floor_slowest(double seconds);
/* Nanoseconds of the round trip of a cache line between the first two cores; the same value on all ranks. */
double floor_line(void);
/* This rank's vector for floor_two_shot. */
float *floor_vector(void);
/* Sums, in place. exchange: up to 12 elements. two_shot (on floor_vector()) and stream: two ranks. */
enum { FLOOR_EXCHANGE = 12 };
void floor_exchange(float *x, size_t n);
void floor_two_shot(float *x, size_t n);
void floor_stream(float *x, size_t n);

/* ---- turns_gloo.cc ---- */

/* Collective. The ranks connect through files in `folder`. interface: "eth0", or NULL for the
 * loopback. Prints the error and returns nonzero if it fails. */
int gloo_open(int rank, int ranks, const char *folder, const char *interface);
void gloo_close(void);
/* The name of algorithm 0, 1, ...; NULL after the last one. */
const char *gloo_name(int algorithm);
/* Sums x, in place. The algorithm keeps its buffers until gloo_forget or another x or n. */
int gloo_sum(int algorithm, float *x, size_t n);
void gloo_forget(void);

#ifdef __cplusplus
}
#endif
#endif
