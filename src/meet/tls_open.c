/* tls_open.c - loads libtutti_tls.so, which implements TLS with OpenSSL. libtutti_tcp.so contains this file as well.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "secure.h"

typedef const tt_tls *table_fn(void);

tutti_status tt_tls_load(const tt_tls **tls) {
  table_fn *of;
  char why[200];
  void *symbol = tt_library_symbol("tls", TT_TLS_OF, why, sizeof why);
  memcpy(&of, &symbol, sizeof of);
  if (!of)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "TLS needs libtutti_tls.so, which cannot be loaded: %.160s (Debian's "
                   "package libssl-dev and `make tls`)",
                   why);
  const tt_tls *table = of();
  if (!table || table->size != sizeof *table)
    return tt_fail(TUTTI_ERR_SYSTEM, "libtutti_tls.so belongs to another version of tutti");
  if (!table->call) return tt_fail(TUTTI_ERR_SYSTEM, "TLS: %.280s", table->name);
  *tls = table;
  return TUTTI_OK;
}
