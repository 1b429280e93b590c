/* peer_about.c - the names of the compared libraries, and the settings that change their behavior.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

extern char **environ;

/* Finds the first version number in the text, which has the form 1.2 or 1.2.3. */
static void number_of(const char *text, char number[24]) {
  for (const char *at = text; *at; at++) {
    const size_t n = strspn(at, "0123456789.");
    if (n > 2 && isdigit((unsigned char)*at) && memchr(at, '.', n)) {
      snprintf(number, 24, "%.*s", n < 23 ? (int)n : 23, at);
      return;
    }
    at += n ? n - 1 : 0;
  }
  snprintf(number, 24, "?");
}

void peer_title(const peer_memory *m, char title[32]) {
  char number[24];
  const char *name = m->kind == PEER_OMPI               ? "Open MPI"
                     : strcmp(m->name, "intelmpi") == 0 ? "Intel MPI"
                     : m->kind == PEER_MPICH            ? "MPICH"
                                                        : m->name;
  number_of(m->version, number);
  if (strcmp(m->name, "gloo") == 0)
    snprintf(title, 32, "gloo");
  else
    snprintf(title, 32, "%.8s %.22s", name, number);
  if (strcmp(m->name, "intelmpi") == 0) snprintf(title, 32, "Intel MPI %.20s", number);
}

const char *peer_preset(const peer_memory *m, int i, const char **value) {
  const bool crowded = m->ranks > m->cores;
  const struct {
    bool wanted;
    const char *name, *value;
  } all[] = {{m->kind == PEER_OMPI && crowded, "OMPI_MCA_mpi_yield_when_idle", "1"},
             {strcmp(m->name, "intelmpi") == 0, "I_MPI_FABRICS", "shm"},
             {strcmp(m->name, "intelmpi") == 0 && crowded, "I_MPI_PIN", "off"},
             {strcmp(m->name, "gloo") == 0, "GLOO_SOCKET_IFNAME", "lo"}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    if (!all[k].wanted || i-- > 0) continue;
    *value = all[k].value;
    return all[k].name;
  }
  return NULL;
}

void peer_settings(const peer_memory *m, char text[400]) {
  static const char *const prefixes[PEER_NONE][8] = {
      [PEER_OMPI] = {"OMPI_MCA_", "PRTE_MCA_", "UCX_"},
      [PEER_MPICH] = {"MPIR_CVAR_", "MPICH_", "I_MPI_", "MV2_", "FI_", "UCX_"},
      [PEER_TORCH] = {"GLOO_", "NCCL_", "TORCH_", "OMP_NUM_THREADS"},
  };
  size_t at = 0;
  const char *name, *value;
  *text = 0;
  for (int i = 0; (name = peer_preset(m, i, &value)); i++)
    if (!getenv(name))
      at += (size_t)snprintf(text + at, 400 - at, "%s%s=%s", at ? " " : "", name, value);
  for (char **e = environ; *e; e++)
    for (int i = 0; i < 8 && prefixes[m->kind][i]; i++)
      if (strncmp(*e, prefixes[m->kind][i], strlen(prefixes[m->kind][i])) == 0 && at < 300) {
        const int n = snprintf(text + at, 400 - at, "%s%.80s", at ? " " : "", *e);
        at += (size_t)n;
      }
}
