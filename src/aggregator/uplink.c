/* uplink.c - a session's connection to the aggregator above: sends the sum of its members, and
 * receives the sum of all.
 *
 * Idea       For the aggregator above, this session is one member of a session there. It contributes what its
 *            members contribute together, and wants the smallest range that covers everything its members want.
 * Cost       One copy into a buffer of two pieces for the outgoing bytes. Incoming bytes are read directly into the ring.
 * Invariant  Only one turn is active at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "aggregator_daemon.h"

enum { CAPACITY = 2 * TT_AGGREGATOR_PIECE + sizeof(tt_aggregator_head) };

tt_uplink *tt_uplink_new(tt_connection to, void *owner) {
  tt_uplink *u = calloc(1, sizeof *u + CAPACITY);
  if (u) *u = (tt_uplink){.fd = to.fd, .secure = to.secure, .owner = owner};
  return u;
}

size_t tt_uplink_bytes(void) {
  return sizeof(tt_uplink) + CAPACITY;
}

size_t tt_uplink_room(const tt_uplink *u) {
  return CAPACITY - u->to;
}

void tt_uplink_put(tt_uplink *u, const void *bytes, size_t n) {
  memcpy(u->bytes + u->to, bytes, n);
  u->to += n;
}

bool tt_uplink_send(tt_uplink *u) {
  u->out_wanted = false;
  if (u->from == u->to || u->lost) return false;
  const ssize_t n = tt_secure_send(u->secure, u->fd, u->bytes + u->from, u->to - u->from);
  if (n > 0) u->from += (size_t)n;
  if (n < 0 && errno != EAGAIN && errno != EINTR) u->lost = true;
  u->out_wanted = u->from < u->to && !u->lost;
  if (u->from == u->to) u->from = u->to = 0;
  return n > 0;
}

size_t tt_uplink_read(tt_uplink *u, void *to, size_t n) {
  u->in_wanted = false;
  if (u->lost) return 0;
  const ssize_t part = tt_secure_recv(u->secure, u->fd, to, n);
  if (part > 0) return (size_t)part;
  if (part < 0 && (errno == EAGAIN || errno == EINTR))
    u->in_wanted = true;
  else
    u->lost = true;
  return 0;
}
