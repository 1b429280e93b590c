/* process_wisdom.c - the wisdom of the process, and its file.
 *
 * Idea       The process keeps all entries that it has read or measured, for any placement. A communicator picks the
 *            entries of its placement (comm_wisdom.c).
 * File       A writer locks the file, reads it again, adds its entries, writes a new file in the same folder, and
 *            renames that. Readers therefore see either the old file or the new one, and writers do not lose each
 *            other's entries.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "process_wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call_plan.h"
#include "process.h"

/* ---- the file that TUTTI_WISDOM names ---- */

enum { MOST = 4 << 20 /* bytes */, LOCK_S = 3 };

static tutti_status unreadable(const char *path) {
  return tt_fail(TUTTI_ERR_ARG, "the wisdom '%.200s' cannot be read: %s", path, strerror(errno));
}

/* Parses an open file. An empty file is valid, because another process may be about to write it. */
static tutti_status parse_file(int fd, const char *path, tt_wisdom *w) {
  char what[260];
  size_t n = 0;
  char *text = tt_file_read(fd, MOST, &n);
  tutti_status status = TUTTI_OK;
  if (!text) return unreadable(path);
  snprintf(what, sizeof what, "wisdom '%.200s'", path);
  if (strlen(text) < n)
    status = tt_fail(TUTTI_ERR_ARG, "%s is not a text file: its byte %zu is 0", what, strlen(text) + 1);
  else if (n)
    status = tt_wisdom_parse(w, text, what);
  free(text);
  return status;
}

/* Loads the wisdom in a file. If the file does not exist, the list is empty. Returns TUTTI_ERR_ARG, with a message, if the
 * file cannot be read or does not contain wisdom. */
static tutti_status load_wisdom(const char *path, tt_wisdom *w) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? TUTTI_OK : unreadable(path);
  tutti_status status = parse_file(fd, path, w);
  close(fd);
  return status;
}

/* Opens and locks the file. Retries if another process replaced the file while this process waited for the lock. */
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

/* Writes a new file in the same folder and renames it to `path`. */
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

/* Merges w into the file. Returns TUTTI_ERR_ARG if the existing file does not contain wisdom, or TUTTI_ERR_SYSTEM if the file
 * cannot be written. */
static tutti_status save_wisdom(const char *path, const tt_wisdom *w) {
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

/* ---- the process's wisdom; the caller holds its lock ---- */

static bool add_all(const tt_wisdom *more) {
  if (!tt_process.wisdom.all) tt_process.wisdom.all = calloc(1, sizeof *tt_process.wisdom.all);
  return tt_process.wisdom.all && tt_wisdom_merge(tt_process.wisdom.all, more);
}

static tutti_status add_or_complain(const char *what, const tt_wisdom *more) {
  if (add_all(more)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_MEMORY, "%s: there is no room for %d more entries", what, more->n);
}

static tutti_status read_once(void) {
  const char *path = tt_env("TUTTI_WISDOM");
  tt_wisdom w = {.at = NULL};
  if (tt_process.wisdom.read || !path) return TUTTI_OK;
  tt_process.wisdom.read = true;
  tutti_status status = load_wisdom(path, &w);
  if (!status) status = add_or_complain("TUTTI_WISDOM", &w);
  tt_wisdom_clear(&w);
  return status;
}

uint32_t tt_wisdom_announce(void) {
  pthread_mutex_lock(&tt_process.lock);
  tutti_status status = read_once();
  const bool has = tt_process.wisdom.all && tt_process.wisdom.all->n;
  pthread_mutex_unlock(&tt_process.lock);
  if (status) tt_log(0, "%s; it is not used", tutti_error());
  return (tt_env_int("TUTTI_MEASURE", 0, 1, 0) ? TT_WISDOM_MEASURES : 0u) |
         (has ? TT_WISDOM_EXISTS : 0u);
}

bool tt_wisdom_pick(uint32_t stamp, tt_wisdom *picked) {
  bool ok = true;
  pthread_mutex_lock(&tt_process.lock);
  const tt_wisdom *all = tt_process.wisdom.all;
  for (int i = 0; all && i < all->n && ok; i++) {
    tt_wisdom_entry e = all->at[i];
    if (e.stamp != stamp) continue;
    e.stamp = 0; /* cleared, as in entries that the communicator measured itself */
    memset(e.placement, 0, sizeof e.placement);
    ok = tt_wisdom_add(picked, &e);
  }
  pthread_mutex_unlock(&tt_process.lock);
  return ok;
}

void tt_wisdom_keep(const tt_wisdom_entry *entry) {
  const tt_wisdom none = {.n = 0};
  pthread_mutex_lock(&tt_process.lock);
  const bool kept = add_all(&none) && tt_wisdom_set(tt_process.wisdom.all, entry);
  tt_process.wisdom.changed |= kept;
  pthread_mutex_unlock(&tt_process.lock);
  if (!kept) tt_log(0, "there is no room for what was measured; it is not kept");
}

void tt_wisdom_end(void) {
  const char *path = tt_env("TUTTI_WISDOM");
  pthread_mutex_lock(&tt_process.lock);
  tt_wisdom *w = tt_process.wisdom.all;
  const bool measured = tt_process.wisdom.changed;
  tt_process.wisdom.all = NULL;
  pthread_mutex_unlock(&tt_process.lock);
  if (w && measured && path && tt_env_int("TUTTI_MEASURE", 0, 1, 0) && save_wisdom(path, w))
    tt_log(0, "%s; the measurements are not kept", tutti_error());
  if (w) tt_wisdom_clear(w);
  free(w);
}

/* ---- the caller's interface ---- */

tutti_status tutti_wisdom_export(char **text) {
  tutti_status status = tt_args_given("tutti_wisdom_export", "text", text, NULL, NULL);
  if (status) return status;
  const tt_wisdom none = {.at = NULL};
  tt_text t = {.at = NULL};
  pthread_mutex_lock(&tt_process.lock);
  tt_wisdom_print(&t, tt_process.wisdom.all ? tt_process.wisdom.all : &none);
  pthread_mutex_unlock(&tt_process.lock);
  *text = t.failed ? NULL : t.at;
  if (*text) return TUTTI_OK;
  free(t.at);
  return tt_fail(TUTTI_ERR_MEMORY, "tutti_wisdom_export: out of memory");
}

tutti_status tutti_wisdom_import(const char *text) {
  tutti_status status = tt_args_given("tutti_wisdom_import", "text", text, NULL, NULL);
  if (status) return status;
  tt_wisdom w = {.at = NULL};
  status = tt_wisdom_parse(&w, text, "the wisdom");
  pthread_mutex_lock(&tt_process.lock);
  if (!status) status = add_or_complain("tutti_wisdom_import", &w);
  pthread_mutex_unlock(&tt_process.lock);
  tt_wisdom_clear(&w);
  return status;
}

tutti_status tutti_wisdom_save(const char *path) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!path || !*path) return tt_fail(TUTTI_ERR_ARG, "tutti_wisdom_save: no path");
  tt_wisdom mine = {.at = NULL};
  pthread_mutex_lock(&tt_process.lock);
  const bool ok = !tt_process.wisdom.all || tt_wisdom_merge(&mine, tt_process.wisdom.all);
  pthread_mutex_unlock(&tt_process.lock);
  status =
      ok ? save_wisdom(path, &mine) : tt_fail(TUTTI_ERR_MEMORY, "tutti_wisdom_save: out of memory");
  tt_wisdom_clear(&mine);
  return status;
}

tutti_status tutti_wisdom_forget(void) {
  tutti_status status = tt_alive();
  if (status) return status;
  pthread_mutex_lock(&tt_process.lock);
  if (tt_process.wisdom.all) tt_wisdom_clear(tt_process.wisdom.all);
  tt_process.wisdom.read = true;
  tt_process.wisdom.changed = false;
  pthread_mutex_unlock(&tt_process.lock);
  return TUTTI_OK;
}

tutti_status tutti_wisdom_here(int ranks, char *text, size_t size) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (ranks < 1 || !text || !size)
    return tt_fail(TUTTI_ERR_ARG, "tutti_wisdom_here: %s", ranks < 1 ? "no ranks" : "no room");
  char words[TT_PLACEMENT_TEXT];
  const uint32_t stamp = tt_here_fingerprint(ranks, words);
  snprintf(text, size, "%08x: %s", (unsigned)stamp, words);
  return TUTTI_OK;
}
