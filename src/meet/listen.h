/* listen.h - ports on which this process accepts connections.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LISTEN_H
#define TT_LISTEN_H

#include <sys/socket.h>

#include "core.h"

enum { TT_ADDRESS = 64 /* maximum length of an address or a host name */ };

/* Returns the address that TUTTI_INTERFACE selects; *text is empty if the variable is not set. Returns TUTTI_ERR_ARG
 * if this host has no such device or address. */
tutti_status tt_interface(struct sockaddr_storage *at, char text[TT_ADDRESS]);
/* Opens a nonblocking socket that listens on the selected interface, or on all addresses. If *port is 0, any free
 * port is used; *port is set to it. what: "an agent", for error messages. Returns TUTTI_ERR_ARG or TUTTI_ERR_SYSTEM
 * on failure. */
tutti_status tt_listen(const char *what, int *port, int *fd);
/* Writes an address, without its port, as text. A link-local address is written without its zone (reach.h). Returns
 * false for other address families. */
bool tt_address_text(const struct sockaddr *at, char text[TT_ADDRESS]);
/* Writes "HOST:PORT", or "[ADDRESS]:PORT". */
void tt_port_text(const char *host, int port, char *text, size_t size);

#endif
