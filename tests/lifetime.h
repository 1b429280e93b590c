/* lifetime.h - a process that ends if nobody looks after it any more.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIFETIME_H
#define LIFETIME_H

/* SIGALRM ends this process after so many seconds, of which those do not count in which it was
 * stopped (but half a minute each time). */
void lifetime(unsigned seconds);

#endif
