/* comm_wisdom.c - the wisdom of the process and of its communicators.
 *
 * Idea       the process keeps all entries, of any machine. When a communicator is made, its first
 *            rank picks the entries that were measured with the same placement and sends them
 *            to the others. So all choose alike, whatever their own files say. Entries measured
 *            later are added on all ranks, and to the first rank's process.
 * Placement  measurements apply where the fingerprint of the ranks' placement is equal. It covers
 *            all that makes other plans win: number of ranks, transport, ranks per core, levels
 *            and nodes, the processor. It exists in words, and mixed to a number, which also
 *            covers every rank's node.
 * File       a writer locks it, reads it again, adds its entries, writes a new file beside it and
 *            renames that. So readers see the old file or the new one, and of several writers none
 *            loses another's entries.
 * Cost       nothing extra is sent if the first rank has no wisdom: a flag in a message that is
 *            sent anyway says so.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "comm_wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plan_cache.h"
#include "topo.h"

/* ---- placement ---- */

static void format_placement(char words[TT_PLACEMENT_TEXT], const char *ranks,
                             double ranks_per_core) {
  char machine[90], share[40] = "a core each";
  const int tenths = (int)(10 * ranks_per_core + 0.5);
  if (tenths > 10) snprintf(share, sizeof share, "%d.%d to a core", tenths / 10, tenths % 10);
  snprintf(words, TT_PLACEMENT_TEXT, "%.64s, %s; %s", ranks, share,
           tt_machine_name(machine, sizeof machine));
}

static bool one_process(const tutti_comm *comm) {
  for (int r = 1; r < comm->ranks; r++)
    if (comm->info[r].pid != comm->info[0].pid) return false;
  return true;
}

/* The fingerprint that stamps this communicator's wisdom, also in words. Equal for ranks placed
 * alike on machines that are alike. Valid on the first rank. */
static uint32_t comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]) {
  const bool over = tt_over_net(comm);
  char ranks[400];
  if (over)
    snprintf(ranks, sizeof ranks, "%d ranks over %.40s%s%s", comm->ranks, comm->net->traits.name,
             *comm->plans->setting.levels ? ", " : "", comm->plans->setting.levels);
  else
    snprintf(ranks, sizeof ranks, "%d %s share memory", comm->ranks,
             one_process(comm) ? "threads" : "processes");
  format_placement(words, ranks, over ? comm->load.host_ranks_per_core : comm->load.ranks_per_core);
  uint64_t h = tt_mix_text(tt_mix_text(1, words), over ? comm->plans->setting.levels : "");
  for (int r = 0; over && r < comm->ranks; r++) { /* which ranks share a node */
    int first = 0;
    while (comm->info[first].placement.node != comm->info[r].placement.node) first++;
    h = tt_mix(h ^ (uint64_t)(uint32_t)first ^ (uint64_t)(comm->info[r].index >= 0) << 32);
    if (comm->plans->place) h = tt_mix(h ^ (uint64_t)(uint32_t)comm->plans->place[r]);
  }
  return (uint32_t)h;
}

double tt_here_ranks_per_core(int ranks) {
  cpu_set_t mine;
  tt_cores_mine(&mine);
  const double quota = tt_cores_quota(), all = CPU_COUNT(&mine), cores = quota < all ? quota : all;
  return ranks / (cores > 0 ? cores : 1);
}

/* The same for `ranks` processes that `tutti run` would start here. */
static uint32_t here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]) {
  char text[40];
  snprintf(text, sizeof text, "%d processes share memory", ranks);
  format_placement(words, text, tt_here_ranks_per_core(ranks));
  return (uint32_t)tt_mix_text(tt_mix_text(1, words), "");
}

/* ---- the file that TUTTI_WISDOM names ---- */

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

/* TUTTI_ERR_ARG, with a message: unreadable, or not wisdom. A missing file gives an empty list. */
static tutti_status load_wisdom(const char *path, tt_wisdom *w) {
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

/* Merges w into the file. TUTTI_ERR_ARG: the existing file is not wisdom; TUTTI_ERR_SYSTEM: it
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

/* ---- the process's wisdom; its lock is held ---- */

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

/* ---- a communicator's wisdom ---- */

/* Copies the entries with this communicator's fingerprint; none if out of memory. */
static void pick(tutti_comm *comm) {
  char words[TT_PLACEMENT_TEXT];
  const uint32_t stamp = comm_fingerprint(comm, words);
  bool ok = true;
  pthread_mutex_lock(&tt_process.lock);
  const tt_wisdom *all = tt_process.wisdom.all;
  for (int i = 0; all && i < all->n && ok; i++) {
    tt_wisdom_entry e = all->at[i];
    if (e.stamp != stamp) continue;
    e.stamp = 0; /* cleared, as in entries that the communicator measured itself */
    memset(e.placement, 0, sizeof e.placement);
    ok = tt_wisdom_add(&comm->plans->wisdom, &e);
  }
  pthread_mutex_unlock(&tt_process.lock);
  if (!ok) tt_wisdom_clear(&comm->plans->wisdom);
}

static bool can_use(const tutti_comm *comm) {
  return comm->ranks > 1 && !(comm->net && comm->net->traits.simulated);
}

/* The communicator is in use by other ranks already, so it may fail meanwhile; then the caller's
 * first call reports that, as it would without wisdom. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said) {
  static const char who[] = "the wisdom of a communicator";
  if (!can_use(comm)) return TUTTI_OK;
  comm->settings.measures = said & TT_WISDOM_MEASURES;
  if (!(said & TT_WISDOM_EXISTS)) return TUTTI_OK;
  if (comm->rank == 0) pick(comm);
  int32_t n = comm->plans->wisdom.n;
  if (tt_broadcast(comm, who, &n, sizeof n) || !n) return TUTTI_OK;
  if (comm->rank != 0 && !tt_wisdom_reserve(&comm->plans->wisdom, n))
    return tt_break_if_memory(
        comm, tt_fail(TUTTI_ERR_MEMORY, "out of memory for wisdom of %d entries", n));
  if (!tt_broadcast(comm, who, comm->plans->wisdom.at, (size_t)n * sizeof *comm->plans->wisdom.at))
    comm->plans->wisdom.n = n;
  return TUTTI_OK;
}

tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n) {
  const uint32_t said = tt_wisdom_announce();
  if (!can_use(comms[0])) return TUTTI_OK;
  if (said & TT_WISDOM_EXISTS) pick(comms[0]);
  for (int r = 0; r < n; r++) {
    comms[r]->settings.measures = said & TT_WISDOM_MEASURES;
    if (r && !tt_wisdom_merge(&comms[r]->plans->wisdom, &comms[0]->plans->wisdom))
      return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the wisdom of %d ranks", n);
  }
  return TUTTI_OK;
}

/* ---- measurements ---- */

static void say_when(char when[24]) {
  struct tm utc;
  const time_t now = time(NULL);
  snprintf(when, 24, "1970-01-01T00:00:00Z");
  if (gmtime_r(&now, &utc)) strftime(when, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

tutti_status tt_wisdom_learn(tutti_comm *comm, tt_wisdom_entry *entry) {
  say_when(entry->when);
  if (!tt_wisdom_set(&comm->plans->wisdom, entry))
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what was measured");
  tt_plans_forget_coll(comm, entry->key.coll);
  if (comm->rank != 0 || !*entry->plan) return TUTTI_OK;
  tt_wisdom_entry mine = *entry;
  mine.stamp = comm_fingerprint(comm, mine.placement);
  const tt_wisdom none = {.n = 0};
  pthread_mutex_lock(&tt_process.lock);
  const bool kept = add_all(&none) && tt_wisdom_set(tt_process.wisdom.all, &mine);
  tt_process.wisdom.changed |= kept;
  pthread_mutex_unlock(&tt_process.lock);
  if (!kept) tt_log(0, "there is no room for what was measured; it is not kept");
  return TUTTI_OK;
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
  const uint32_t stamp = here_fingerprint(ranks, words);
  snprintf(text, size, "%08x: %s", (unsigned)stamp, words);
  return TUTTI_OK;
}
