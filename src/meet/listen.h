/* listen.h - the ports on which this process awaits others.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LISTEN_H
#define TT_LISTEN_H

#include <sys/socket.h>

#include "core.h"

enum { TT_ADDRESS = 64 /* characters of an address, or of a host's name */ };

/* The address that TUTTI_INTERFACE asks for; *text empty: it is not set. TUTTI_ERR_ARG: this host has no such
 * device or address. */
tutti_status tt_interface(struct sockaddr_storage *at, char text[TT_ADDRESS]);
/* A nonblocking socket that listens on the interface that is asked for, or on all addresses; *port 0: any, which is
 * returned. what: for the error, "an agent". TUTTI_ERR_ARG, TUTTI_ERR_SYSTEM. */
tutti_status tt_listen(const char *what, int *port, int *fd);
/* An address without its port, in text; one that only its link knows is bare (reach.h). False: it is of another
 * family. */
bool tt_address_text(const struct sockaddr *at, char text[TT_ADDRESS]);
/* "HOST:PORT", or "[ADDRESS]:PORT". */
void tt_port_text(const char *host, int port, char *text, size_t size);

#endif
