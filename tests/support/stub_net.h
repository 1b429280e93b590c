/* stub_net.h - network functions that a test does not need to simulate.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STUB_NET_H
#define STUB_NET_H

static inline void stub_net_close(void *self, int clean) {
  (void)self, (void)clean;
}

static inline const char *stub_net_error(void *self) {
  (void)self;
  return "";
}

#endif
