/* plugin.c - finds and opens optional libraries: networks that need no MPI (libtutti_ucx.so, libtutti_tcp.so) and
 * launchers (libtutti_pmix.so). open_device.c does the same for devices (libtutti_cuda.so).
 *
 * Idea       libtutti loads a network (library.c) if the ranks are on several nodes: UCX, or TCP if UCX cannot be
 *            loaded or messages must be encrypted (TUTTI_TLS=all).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "create.h"
#include "secure.h"

typedef tutti_net_maker maker_fn(void);

static bool is_word(const char *net) {
  const size_t n = strlen(net);
  return n > 0 && n < 32 && strspn(net, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* Loads the library of a network. Returns TUTTI_ERR_UNSUPPORTED if it cannot be loaded. net: the network's name as
 * given by the user. */
static tutti_status load_maker(const char *net, const char *library, const char *function,
                               tutti_net_maker *maker) {
  char why[200];
  void *symbol = tt_library_symbol(library, function, why, sizeof why);
  maker_fn *make;
  memcpy(&make, &symbol, sizeof make);
  if (!make)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "the library of the network '%.60s' cannot be loaded: %.160s%s", net, why,
                   strcmp(net, "ucx") ? "" : " (Debian's package libucx0 and `make ucx`)");
  *maker = make();
  if (maker->size != sizeof *maker || maker->table != sizeof(tutti_net))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the library of the network '%.60s' belongs to another version of tutti", net);
  return TUTTI_OK;
}

/* Finds a network by its name. The name "tls" means the network "tcp" with TLS, regardless of TUTTI_TLS. */
static tutti_status find_maker(const char *net, tutti_net_maker *maker) {
  static const char function[] = "tutti_net_maker_of";
  if (!net) net = tt_env("TUTTI_NET");
  if (!net && !tt_tls_all()) {
    const tutti_status status = load_maker("ucx", "ucx", function, maker);
    if (status != TUTTI_ERR_UNSUPPORTED) return status;
    tt_log(1, "ranks on several hosts use TCP: %.300s", tutti_error());
  }
  if (!net) net = "tcp";
  if (!is_word(net) && !strchr(net, '/'))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "'%.60s' is not a network: TUTTI_NET is the name of one, such as ucx, or a path",
                   net);
  const bool tls = strcmp(net, "tls") == 0, is_tcp = tls || strcmp(net, "tcp") == 0;
  if (is_tcp && tt_env("TUTTI_RAILS") && tt_news("TUTTI_RAILS", net))
    tt_log(0,
           "TUTTI_RAILS is not used: over TCP and TLS, one connection carries what two ranks "
           "exchange");
  return load_maker(net, is_tcp ? "tcp" : net, tls ? "tutti_net_maker_tls" : function, maker);
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
  void *symbol = tt_library_symbol(name, "tutti_launcher_of", why, sizeof why);
  launcher_fn *open;
  memcpy(&open, &symbol, sizeof open);
  if (!open)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "the library of the launcher '%.60s' cannot be loaded: %.200s", name, why);
  l->interrupted = tutti_interrupted;
  if (open(l, seconds, why, sizeof why)) return tt_fail(TUTTI_ERR_SYSTEM, "%s", why);
  if (l->size == sizeof *l) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "the library of the launcher '%.60s' belongs to another version of tutti", name);
}
