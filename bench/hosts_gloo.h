/* hosts_gloo.h - the functions of gloo for hosts.c. SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOSTS_GLOO_H
#define HOSTS_GLOO_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
int hosts_gloo_open(int rank, int ranks, const char *folder, const char *interface);
int hosts_gloo_sum(float *x, size_t n);
void hosts_gloo_close(void);
#ifdef __cplusplus
}
#endif
#endif
