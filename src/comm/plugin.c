/* plugin.c - finds and opens optional libraries: networks that need no MPI (libtutti_ucx.so), and
 * launchers (libtutti_pmix.so); devices are open_device.c's (libtutti_cuda.so).
 *
 * Idea       libtutti loads a network (library.c) when ranks are on several nodes. It contains one, over TLS (cipher/),
 *            whose cryptography is a library, too. TUTTI_TLS=all chooses that one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cipher_maker.h"
#include "create.h"
#include "secure.h"

typedef tutti_net_maker maker_fn(void);

static bool is_word(const char *net) {
  const size_t n = strlen(net);
  return n > 0 && n < 32 && strspn(net, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

static tutti_status load_maker(const char *net, tutti_net_maker *maker) {
  if (!is_word(net) && !strchr(net, '/'))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "'%.60s' is no network: TUTTI_NET is the name of one, such as ucx, or a path",
                   net);
  void *library = tt_library_load(net);
  if (!library)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the library of the network '%.60s' cannot be loaded: %.160s%s", net, dlerror(),
                   strcmp(net, "ucx") ? "" : " (Debian's package libucx0 and `make ucx`)");
  maker_fn *make;
  void *symbol = dlsym(library, "tutti_net_maker_of");
  memcpy(&make, &symbol, sizeof make);
  if (!make)
    return tt_fail(TUTTI_ERR_SYSTEM, "%.120s is no network for tutti: it lacks tutti_net_maker_of",
                   net);
  *maker = make();
  if (maker->size != sizeof *maker || maker->table != sizeof(tutti_net))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the library of the network '%.60s' belongs to another version of tutti", net);
  return TUTTI_OK;
}

static tutti_status find_maker(const char *net, tutti_net_maker *maker) {
  if (!net) net = tt_env("TUTTI_NET");
  if (!net) net = tt_tls_all() ? TT_CIPHER_WORD : "ucx";
  if (strcmp(net, TT_CIPHER_WORD) != 0) return load_maker(net, maker);
  *maker = tt_cipher_maker();
  return TUTTI_OK;
}

tutti_status tt_net_open(const char *net, tt_net_end *end) {
  char why[240] = "";
  tutti_status status = find_maker(net, &end->maker);
  const int silence = (int)tt_env_int("TUTTI_SILENCE", 0, 86400, 30);
  if (status || !end->maker.open(&end->end, silence, &end->address, &end->bytes, why, sizeof why))
    return status;
  end->end = NULL;
  return tt_fail(TUTTI_ERR_SYSTEM, "%s", why);
}

void tt_net_drop(tt_net_end *end) {
  if (end->end) end->maker.drop(end->end);
  end->end = NULL;
}

/* ---- launchers ---- */

typedef int launcher_fn(tutti_launcher *l, double seconds, char *why, size_t size);

tutti_status tt_launcher_open(const char *name, double seconds, tutti_launcher *l) {
  char why[200] = "";
  void *library = tt_library_load(name),
       *symbol = library ? dlsym(library, "tutti_launcher_of") : NULL;
  launcher_fn *open;
  memcpy(&open, &symbol, sizeof open);
  if (!open)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "the library of the launcher '%.60s' cannot be loaded: %.200s", name,
                   library ? "it lacks tutti_launcher_of" : dlerror());
  l->interrupted = tutti_interrupted;
  if (open(l, seconds, why, sizeof why)) return tt_fail(TUTTI_ERR_SYSTEM, "%s", why);
  if (l->size == sizeof *l) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "the library of the launcher '%.60s' belongs to another version of tutti", name);
}
