/* uplink.c - a session's way to the aggregator above: the sum of its members goes up, the sum of all comes back.
 *
 * Idea       For the aggregator above, this session is one member of a session there. What its members give together
 *            is what it gives; what they want together, from the first such byte to the last, it wants.
 * Cost       a copy into a buffer of two pieces on the way up; none on the way back, which ends in the ring.
 * Invariant  One turn is under way at a time.
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
