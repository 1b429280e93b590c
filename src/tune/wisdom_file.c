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
#include <sys/stat.h>
#include <unistd.h>

#include "comm_wisdom.h"

enum { MOST = 4 << 20 /* bytes */, LOCK_S = 3 };

static tutti_status unreadable(const char *path) {
  return tt_fail(TUTTI_ERR_ARG, "the wisdom '%.200s' cannot be read: %s", path, strerror(errno));
}

/* An empty file is valid: a process is about to write it. */
static tutti_status parse_file(int fd, const char *path, tt_wisdom *w) {
  char what[260];
  size_t n = 0;
  char *text = tt_file_read(fd, MOST, &n);
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

/* Opens the file locked; it may have been replaced while this waited for the lock. */
static int open_wisdom_locked(const char *path) {
  for (int look = 0; look < 100; look++) {
    struct stat mine, there;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0) return -1;
    const bool locked = tt_file_lock(fd, LOCK_S);
    if (locked && fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
        mine.st_dev == there.st_dev)
      return fd;
    close(fd);
    if (!locked) break;
  }
  errno = EBUSY;
  return -1;
}

/* Writes a file beside it, then renames that. */
static bool replace(const char *path, mode_t mode, const char *text, size_t n) {
  char *beside = malloc(strlen(path) + 40);
  if (!beside) return false;
  snprintf(beside, strlen(path) + 40, "%s.%ld", path, (long)getpid());
  const int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
  bool ok = fd >= 0 && fchmod(fd, mode & 0777) == 0 && tt_file_write(fd, text, n, 0);
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
