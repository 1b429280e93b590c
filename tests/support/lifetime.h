/* lifetime.h - ends a process if its parent does not end it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIFETIME_H
#define LIFETIME_H

/* SIGALRM ends this process after this many seconds. Time during which it is stopped does not count, except for
 * half a minute each time. */
void lifetime(unsigned seconds);

#endif
