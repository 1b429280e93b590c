/* listen.h - ports on which this process accepts connections.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LISTEN_H
#define TT_LISTEN_H

#include <sys/socket.h>

#include "core.h"

enum { TT_ADDRESS = 64 /* maximum length of an address or a host name */ };

/* Writes the address that TUTTI_INTERFACE selects to *text, or an empty text if the variable is not set. Returns
 * TUTTI_ERR_ARG if this host has no such device or address. */
tutti_status tt_interface(struct sockaddr_storage *at, char text[TT_ADDRESS]);
/* Opens a nonblocking socket that listens on the selected interface, or on all addresses. If *port is 0, the system
 * chooses a port, and *port is set to it. what: name of the listener in error messages, such as "an agent". Returns
 * TUTTI_ERR_ARG or TUTTI_ERR_SYSTEM on failure. */
tutti_status tt_listen(const char *what, int *port, int *fd);
/* Writes an address as text, without its port. The zone of a link-local address is omitted (reach.h). Returns false
 * for address families other than IPv4 and IPv6. */
bool tt_address_text(const struct sockaddr *at, char text[TT_ADDRESS]);
/* Writes "HOST:PORT", or "[ADDRESS]:PORT". */
void tt_port_text(const char *host, int port, char *text, size_t size);

#endif
