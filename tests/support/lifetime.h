/* lifetime.h - ends a process if its parent does not end it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIFETIME_H
#define LIFETIME_H

/* Lets SIGALRM end this process after this many seconds. While the process is stopped, time does not count, except
 * for up to half a minute each time. */
void lifetime(unsigned seconds);

#endif
