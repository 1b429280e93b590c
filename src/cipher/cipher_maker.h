/* cipher_maker.h - tutti's own network between hosts, over TLS, as plugin.c finds it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CIPHER_MAKER_H
#define TT_CIPHER_MAKER_H

#include "tutti_net.h"

/* The word of TUTTI_NET, and the name in messages and profiles, which does not depend on the version of OpenSSL: all
 * versions understand each other. */
#define TT_CIPHER_WORD "tls"
#define TT_CIPHER_NAME "TLS 1.3"

tutti_net_maker tt_cipher_maker(void);

#endif
