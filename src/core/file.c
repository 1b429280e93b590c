/* file.c - reads, writes and locks whole files, and continues after interrupts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "core.h"

char *tt_file_read(int fd, size_t most, size_t *length) {
  char *text = malloc(most + 1);
  ssize_t got = text ? 1 : -1;
  for (*length = 0; got > 0 && *length<most; *length += got> 0 ? (size_t)got : 0) do
      got = read(fd, text + *length, most - *length);
    while (got < 0 && errno == EINTR);
  if (*length == most) errno = EFBIG;
  if (got >= 0 && *length < most) {
    text[*length] = 0;
    return text;
  }
  const int why = errno;
  free(text);
  errno = why;
  return NULL;
}

bool tt_file_write(int fd, const char *bytes, size_t n, off_t at) {
  while (n > 0) {
    const ssize_t k = pwrite(fd, bytes, n, at);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    bytes += k, n -= (size_t)k, at += k;
  }
  return true;
}

bool tt_file_lock(int fd, double seconds) {
  const double since = tt_seconds();
  while (flock(fd, LOCK_EX | LOCK_NB)) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || tt_seconds() - since > seconds) return false;
    usleep(1000);
  }
  return true;
}
