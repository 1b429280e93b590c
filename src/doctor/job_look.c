/* job_look.c - finds the shared memory of a process's job through /proc, and reads it from outside.
 *
 * Finding    Each process of a job, a rank or its launcher, has a descriptor of the shared memory. A process without one
 *            (`tutti run`, mpirun) may have started processes that have one, so its descendants are searched.
 * Reading    Everything is copied out of the file by pread, which neither stops the ranks, nor allocates pages, nor
 *            faults past the end of the file. Only the copies are inspected.
 * Invariant  Only descriptors with tutti's name are opened, and those of other users' processes only by root. An opened
 *            file must be a memfd, whatever its name is. Nothing in the memory is trusted: a number is used only if it
 *            is plausible, an offset only if a control block may lie there, and a call record only if two consecutive
 *            copies are equal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "job_look.h"
#include "process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- finding ---- */

enum { MOST_PROCESSES = 8192 };

#define load_relaxed(at) atomic_load_explicit((at), memory_order_relaxed)

static bool known(const int *fds, int n, int fd) {
  struct stat a, b;
  if (fstat(fd, &a) != 0) return true;
  for (int i = 0; i < n; i++)
    if (fstat(fds[i], &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev) return true;
  return false;
}

/* Copies text and replaces all characters that are not printable, so that no escape sequence reaches a terminal. */
static void copy_words(char *to, const char *from, size_t size) {
  size_t n = strnlen(from, size - 1);
  for (size_t i = 0; i < n; i++) to[i] = (char)(from[i] < 32 || from[i] > 126 ? '?' : from[i]);
  to[n] = 0;
}

static void add_waits(long pid, int fd, tt_found *found) {
  tt_wait_notes notes[2]; /* a note counts only if both copies contain it */
  for (int i = 0; i < 2; i++)
    if (pread(fd, &notes[i], sizeof *notes, 0) != sizeof *notes || notes[i].magic != TT_WAITS_MAGIC)
      return;
  const uint64_t now = tt_clock_us(CLOCK_MONOTONIC);
  for (int i = 0; i < TT_WAIT_NOTES && found->waits < TT_LOOK_WAITS; i++) {
    const uint64_t since = load_relaxed(&notes[1].note[i].since);
    if (!since || since > now || since != load_relaxed(&notes[0].note[i].since)) continue;
    tt_look_wait *w = &found->wait[found->waits++];
    *w = (tt_look_wait){.pid = pid, .seconds = 1e-6 * (double)(now - since)};
    copy_words(w->words, notes[1].note[i].words, sizeof w->words);
  }
}

/* Opens a memfd. Returns -1 if this fails, or if the file is not a memfd. The name of the file proves nothing. */
static int open_memory(const char *path) {
  struct stat st;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fcntl(fd, F_GET_SEALS) >= 0))
    return fd;
  close(fd);
  return -1;
}

static void add_fd(long pid, const char *path, tt_found *found) {
  char to[64];
  const ssize_t length = readlink(path, to, sizeof to - 1);
  if (length < 0) return;
  to[length] = 0;
  const bool waits = !strcmp(to, "/memfd:" TT_WAITS_NAME " (deleted)");
  if (!waits && (strcmp(to, "/memfd:tutti (deleted)") != 0 || found->fds == TT_LOOK_JOBS)) return;
  const int fd = open_memory(path);
  if (waits && fd >= 0) add_waits(pid, fd, found);
  if (!waits && fd >= 0 && !known(found->fd, found->fds, fd))
    found->fd[found->fds++] = fd;
  else if (fd >= 0)
    close(fd);
}

/* Collects the segments and the waits of a process. Returns false and sets errno if the process may not be inspected. */
static bool look_at_process(long pid, tt_found *found) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd", pid);
  DIR *dir = opendir(path);
  if (!dir) return false;
  for (struct dirent *e; (e = readdir(dir));) {
    const int length = snprintf(path, sizeof path, "/proc/%ld/fd/%.16s", pid, e->d_name);
    if (e->d_name[0] != '.' && length < (int)sizeof path) add_fd(pid, path, found);
  }
  closedir(dir);
  return true;
}

/* Appends the children of `pid` to `all`. */
static void add_children(long pid, long *all, int *n) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
  FILE *f = fopen(path, "re");
  for (long child; f && *n < MOST_PROCESSES && fscanf(f, "%ld", &child) == 1;) all[(*n)++] = child;
  if (f) fclose(f);
}

static tutti_status may_look(long pid) {
  char path[40];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%ld", pid);
  if (pid < 1 || stat(path, &st) != 0)
    return tt_fail(TUTTI_ERR_ARG, "process %ld does not exist", pid);
  if (geteuid() != 0 && st.st_uid != geteuid())
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "process %ld is of user %u; only that user and root may look into its job", pid,
                   (unsigned)st.st_uid);
  return TUTTI_OK;
}

tutti_status tt_job_find(long pid, tt_found *found) {
  found->fds = found->waits = 0;
  tutti_status status = may_look(pid);
  if (status) return status;
  long *all = malloc((MOST_PROCESSES + 1) * sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the processes of a job");
  int processes = 1;
  all[0] = pid;
  bool may = look_at_process(pid, found);
  const int why = errno;
  add_children(pid, all, &processes);
  for (int i = 1; i < processes; i++) {
    if (!may_look(all[i])) look_at_process(all[i], found);
    add_children(all[i], all, &processes);
  }
  free(all);
  if (found->fds || found->waits) return TUTTI_OK;
  if (!may)
    return tt_fail(TUTTI_ERR_SYSTEM, "process %ld cannot be looked into: %s", pid, strerror(why));
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "process %ld shares no memory with ranks of a tutti job, nor does one that it has "
                 "started",
                 pid);
}

/* ---- reading ---- */

enum { MOST_COMMS = 1 << 14 }; /* of all ranks together */

#define AHEAD offsetof(tt_ctrl, flags) /* number of bytes of a control block that are read */

typedef struct reader {
  int fd, ranks, founders, comms;
  uint64_t heaps, stride;  /* offset of the first heap; size of a heap */
  tt_ctrl *first, *second; /* copies of AHEAD bytes */
} reader;

/* each ctrls: order: the command that looks from outside checks it */

static bool pread_exact(const reader *r, uint64_t at, void *to, size_t n) {
  return pread(r->fd, to, n, (off_t)at) == (ssize_t)n;
}

/* ---- a control block ---- */

static void take_calls(const reader *r, tt_look_comm *l) {
  for (uint32_t back = TT_RECORDS; back-- > 0;) {
    const uint64_t seq = l->newest - 1 - back, place = seq % TT_RECORDS;
    const tt_call_record *a = &r->first->records[place], *b = &r->second->records[place];
    if (l->newest < back + 2 || load_relaxed(&a->seq) != seq || memcmp(a, b, sizeof *a) != 0)
      continue;
    const uint32_t kind = load_relaxed(&a->kind);
    if (kind >> 24 >= TUTTI_COLL_COUNT) continue; /* overwritten, or of another version */
    l->calls[l->ncalls++] =
        (tt_record){.stamp = {seq, load_relaxed(&a->hash)},
                    .coll = kind >> 24,
                    .type = kind >> 16 & 0xff,
                    .op = kind & 0xffff,
                    .root = load_relaxed(&a->root),
                    .count = atomic_load_explicit(&a->count, memory_order_relaxed)};
  }
}

static bool copy_comm(const reader *r, int rank, uint64_t at, tt_look_comm *l) {
  const uint64_t lo = r->heaps + r->stride * (uint64_t)rank;
  if (at % alignof(tt_ctrl) || at < lo || at > lo + r->stride - sizeof(tt_ctrl)) return false;
  if (!pread_exact(r, at, r->first, AHEAD) || !pread_exact(r, at, r->second, AHEAD)) return false;
  const tt_ctrl *ctrl = r->second;
  const tt_shown *s = &ctrl->shown;
  if (s->ranks < 1 || s->ranks > 1 << 24 || s->rank >= s->ranks) return false;
  l->home = s->home;
  l->ranks = (int)s->ranks;
  l->rank = (int)s->rank;
  l->newest = load_relaxed(&ctrl->newest);
  l->over = load_relaxed(&s->over);
  memcpy(&l->shown, s, sizeof l->shown);
  copy_words(l->shown.name, s->name, sizeof s->name);
  copy_words(l->shown.tag, s->tag, sizeof s->tag);
  l->waits = s->since && (s->waits_for < s->ranks || s->waits_for == TT_ANY_RANK);
  take_calls(r, l);
  l->aborted = (tutti_status)atomic_load_explicit(&ctrl->aborted, memory_order_relaxed);
  if (l->aborted) copy_words(l->reason, ctrl->reason, sizeof l->reason);
  return true;
}

/* ---- a rank, a job ---- */

static tutti_status take_rank(reader *r, int rank, tt_look_rank *l) {
  tt_intro intro;
  tt_head found, *head = &found;
  int n = 0;
  if (!pread_exact(r, tt_intro_at(rank), &intro, sizeof intro) || intro.pid <= 0 ||
      !pread_exact(r, tt_head_at(r->ranks, rank), head, sizeof *head))
    return TUTTI_OK;
  l->pid = intro.pid;
  l->hidden = !tt_rank_visible(&intro);
  l->state = tt_rank_state(&intro);
  for (int i = 0; i < TT_CTRLS; i++) n += atomic_load(&head->ctrls[i]) != 0;
  l->hides = n == TT_CTRLS;
  l->dead = !l->hidden && tt_state_dead(l->state);
  l->stopped = tt_state_stopped(l->state);
  if (l->dead) tt_exit_words(&intro, false, l->exit, sizeof l->exit);
  if (n > MOST_COMMS - r->comms) l->hides = true, n = MOST_COMMS - r->comms;
  l->comms = calloc((size_t)n + 1, sizeof *l->comms);
  if (!l->comms) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job of %d ranks", r->ranks);
  for (int i = 0; i < TT_CTRLS && l->ncomms < n; i++) {
    const uint64_t at = atomic_load(&head->ctrls[i]);
    if (at && copy_comm(r, rank, at, &l->comms[l->ncomms])) l->ncomms++;
  }
  r->comms += l->ncomms;
  l->left = load_relaxed(&head->ctrls_made) > 0 && !l->ncomms;
  return TUTTI_OK;
}

static tutti_status read_job_header(reader *r) {
  uint64_t job_header[TT_JOB_WORDS];
  struct stat st;
  if (fstat(r->fd, &st) != 0 ||
      !pread_exact(r, offsetof(tt_job_head, is), job_header, sizeof job_header) ||
      job_header[0] != TT_JOB_MAGIC)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "its shared memory is not of a tutti job, or of one of an "
                   "older version");
  if (job_header[1] >> 32 != TT_LAYOUT)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "its shared memory is of another version of tutti than this one (layout %u, "
                   "not %d)",
                   (unsigned)(job_header[1] >> 32), TT_LAYOUT);
  r->ranks = (int)(uint32_t)job_header[1];
  r->founders = (int)(uint32_t)job_header[2];
  const bool sane = r->ranks >= 1 && r->ranks <= 1 << 17;
  r->heaps = tt_heap_first(sane ? r->ranks : 0);
  const uint64_t size = (uint64_t)st.st_size > r->heaps ? (uint64_t)st.st_size - r->heaps : 0;
  if (!sane || r->founders < 1 || r->founders > r->ranks || size % (uint64_t)r->ranks ||
      size / (uint64_t)r->ranks % 4096 || size / (uint64_t)r->ranks < 1 << 20)
    return tt_fail(TUTTI_ERR_SYSTEM, "its shared memory is corrupt");
  r->stride = size / (uint64_t)r->ranks;
  return TUTTI_OK;
}

/* ---- conclusions ---- */

enum {
  LONG_US = 100000,  /* a longer wait may never end */
  STALE_US = 2000000 /* a running rank that has not polled for this long is not waiting any more */
};

static void derive_wait(tt_look_rank *l, tt_look_comm *comm, uint64_t now) {
  comm->waits &= (comm->shown.seen + STALE_US > now || l->stopped) && !comm->aborted && !l->dead;
  comm->waited = now > comm->shown.since ? now - comm->shown.since : 0;
  if (comm->waits && comm->waited >= LONG_US &&
      (!l->wait || comm->shown.since < l->wait->shown.since))
    l->wait = comm;
}

/* Derives the names of the ranks, the numbers of the communicators, and which ranks are waiting. */
static tutti_status derive(tt_look *look, int comms) {
  const uint64_t now = tt_clock_us(CLOCK_MONOTONIC);
  size_t n = 0;
  look->homes = calloc((size_t)comms + 1, sizeof *look->homes);
  if (!look->homes) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job");
  for (int r = 0; r < look->ranks; r++)
    for (int i = 0; i < look->rank[r].ncomms; i++) look->homes[n++] = look->rank[r].comms[i].home;
  qsort(look->homes, n, sizeof *look->homes, tt_by_first_u64);
  for (size_t i = 0; i < n; i++)
    if (!look->nhomes || look->homes[look->nhomes - 1] != look->homes[i])
      look->homes[look->nhomes++] = look->homes[i];
  for (int r = 0; r < look->ranks; r++) {
    tt_look_rank *l = &look->rank[r];
    int most = 0;
    l->name = r;
    for (int i = 0; i < l->ncomms; i++) {
      tt_look_comm *comm = &l->comms[i];
      const uint64_t *home =
          bsearch(&comm->home, look->homes, (size_t)look->nhomes, sizeof *home, tt_by_first_u64);
      comm->number = 1 + (int)(home - look->homes);
      if (comm->ranks > most) most = comm->ranks, l->name = comm->rank;
      derive_wait(l, comm, now);
    }
  }
  return TUTTI_OK;
}

tutti_status tt_job_look(int fd, tt_look *look) {
  reader r = {.fd = fd};
  *look = (tt_look){.ranks = 0};
  tutti_status status = read_job_header(&r);
  if (status) return status;
  r.first = aligned_alloc(alignof(tt_ctrl), tt_round_up(AHEAD, alignof(tt_ctrl)));
  r.second = aligned_alloc(alignof(tt_ctrl), tt_round_up(AHEAD, alignof(tt_ctrl)));
  look->rank = calloc((size_t)r.ranks, sizeof *look->rank);
  if (!r.first || !r.second || !look->rank)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job of %d ranks", r.ranks);
  else
    look->ranks = r.ranks;
  for (int i = 0; i < look->ranks && !status; i++) status = take_rank(&r, i, &look->rank[i]);
  for (int i = 0; i < look->ranks; i++) look->used |= look->rank[i].pid > 0;
  while (look->ranks > r.founders && !look->rank[look->ranks - 1].pid) look->ranks--;
  free(r.first);
  free(r.second);
  return status ? status : derive(look, r.comms);
}

void tt_look_free(tt_look *look) {
  for (int i = 0; i < look->ranks; i++) free(look->rank[i].comms);
  free(look->rank);
  free(look->homes);
  *look = (tt_look){.ranks = 0};
}

const tt_record *tt_look_call(const tt_look_comm *comm, uint64_t seq) {
  for (int i = 0; i < comm->ncalls; i++)
    if (comm->calls[i].stamp.seq == seq) return &comm->calls[i];
  return NULL;
}
