/* wisdom_file.c - the file that TUTTI_WISDOM names: read whole, replaced whole.
 *
 * Idea       a writer locks the file, reads it again, adds its entries, writes a new file beside
 *            it and renames that. So readers see the old file or the new one, and of several
 *            writers none loses another's entries.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm_wisdom.h"

enum { MOST = 4 << 20 /* bytes */, LOCK_MS = 3000 };

/* Reads all of a file and appends a NUL; *length: without the NUL. NULL: errno says why. */
static char *read_whole_file(int fd, size_t *length) {
  size_t n = 0, capacity = 1 << 16;
  char *text = malloc(capacity + 1);
  for (ssize_t got = 1; text && got > 0; n += got > 0 ? (size_t)got : 0) {
    if (n == capacity) {
      char *more = capacity < MOST ? realloc(text, 2 * capacity + 1) : NULL;
      if (!more) free(text);
      if (!more && capacity >= MOST) errno = EFBIG;
      if (!(text = more)) return NULL;
      capacity *= 2;
    }
    do got = read(fd, text + n, capacity - n);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
      const int why = errno;
      free(text);
      errno = why;
      return NULL;
    }
  }
  if (text) text[n] = 0;
  *length = n;
  return text;
}

static tutti_status unreadable(const char *path) {
  return tt_fail(TUTTI_ERR_ARG, "the wisdom '%.200s' cannot be read: %s", path, strerror(errno));
}

/* An empty file is valid: a process is about to write it. */
static tutti_status parse_file(int fd, const char *path, tt_wisdom *w) {
  char what[260];
  size_t n = 0;
  char *text = read_whole_file(fd, &n);
  tutti_status status = TUTTI_OK;
  if (!text) return unreadable(path);
  snprintf(what, sizeof what, "wisdom '%.200s'", path);
  if (strlen(text) < n)
    status = tt_fail(TUTTI_ERR_ARG, "%s is no text: its byte %zu is 0", what, strlen(text) + 1);
  else if (n)
    status = tt_wisdom_parse(w, text, what);
  free(text);
  return status;
}

tutti_status tt_wisdom_load(const char *path, tt_wisdom *w) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? TUTTI_OK : unreadable(path);
  tutti_status status = parse_file(fd, path, w);
  close(fd);
  return status;
}

/* Waits only LOCK_MS: any process that may read the file may lock it for as long as it likes. */
static bool lock(int fd) {
  for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms++) {
    if (ms == LOCK_MS || errno != EWOULDBLOCK) return false;
    usleep(1000);
  }
  return true;
}

/* Opens the file locked; it may have been replaced while this waited for the lock. */
static int open_wisdom_locked(const char *path) {
  for (int look = 0; look < 100; look++) {
    struct stat mine, there;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0) return -1;
    const bool locked = lock(fd);
    if (locked && fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
        mine.st_dev == there.st_dev)
      return fd;
    close(fd);
    if (!locked) break;
  }
  errno = EBUSY;
  return -1;
}

static bool write_fully(int fd, const char *text, size_t n) {
  while (n) {
    const ssize_t k = write(fd, text, n);
    if (k < 0 && errno != EINTR) return false;
    if (k > 0) text += k, n -= (size_t)k;
  }
  return true;
}

/* Writes a file beside it, then renames that. */
static bool replace(const char *path, mode_t mode, const char *text, size_t n) {
  char *beside = malloc(strlen(path) + 40);
  if (!beside) return false;
  snprintf(beside, strlen(path) + 40, "%s.%ld", path, (long)getpid());
  const int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
  bool ok = fd >= 0 && fchmod(fd, mode & 0777) == 0 && write_fully(fd, text, n);
  if (fd >= 0) ok = close(fd) == 0 && ok;
  ok = ok && rename(beside, path) == 0;
  const int why = errno;
  if (!ok && fd >= 0) unlink(beside);
  free(beside);
  errno = why;
  return ok;
}

static tutti_status unwritable(const char *path) {
  return tt_fail(TUTTI_ERR_SYSTEM, "the wisdom '%.200s' cannot be written: %s", path,
                 strerror(errno));
}

tutti_status tt_wisdom_save(const char *path, const tt_wisdom *w) {
  tt_wisdom all = {.at = NULL};
  tt_text t = {.at = NULL};
  struct stat is = {.st_mode = 0};
  const int fd = open_wisdom_locked(path);
  tutti_status status =
      fd >= 0 && fstat(fd, &is) == 0 ? parse_file(fd, path, &all) : unwritable(path);
  if (!status) {
    if (tt_wisdom_merge(&all, w)) tt_wisdom_print(&t, &all);
    const bool whole = t.at && !t.failed;
    if (!whole) errno = ENOMEM;
    if (!whole || !replace(path, is.st_mode, t.at, t.length)) status = unwritable(path);
  }
  if (fd >= 0) close(fd);
  free(t.at);
  tt_wisdom_clear(&all);
  return status;
}
