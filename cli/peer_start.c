/* peer_start.c - starts the ranks of a comparison under a library's own launcher, and waits for their results.
 *
 * Idea      The ranks write into shared memory, so nothing that a library prints can be mistaken for a result.
 *           The output of the launcher and the ranks is logged, and shown only if they fail. A launcher that
 *           makes no progress for PATIENCE seconds is ended. It is also ended if its ranks have written all
 *           results and do not exit, because some MPIs hang in MPI_Finalize.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "peer.h"

enum { PATIENCE = 120, GRACE = 5, WORDS = 24 };

static size_t bytes_of(const peer_memory *m) {
  return peer_bytes(m->ranks, m->sizes);
}

void peer_free(peer_memory *m) {
  munmap(m, bytes_of(m));
}

/* ---- the command line ---- */

typedef struct words {
  const char *word[WORDS];
  int n;
} words;

static void put(words *w, const char *word) {
  if (w->n + 1 < WORDS) w->word[w->n++] = word;
}

static words launch_line(const peer_memory *m, const peer_place *p, const char *number) {
  const bool crowded = m->ranks > m->cores;
  words w = {.n = 0};
  if (m->kind == PEER_TORCH) {
    for (int i = 0; i < 4; i++)
      put(&w, (const char *const[]){"/proc/self/exe", "run", "--for", "bench"}[i]);
    if (!crowded) put(&w, "--bind");
  } else {
    put(&w, p->launcher);
  }
  if (m->kind == PEER_OMPI && crowded) put(&w, "--oversubscribe");
  if (m->kind == PEER_OMPI) put(&w, "--bind-to"), put(&w, crowded ? "none" : "core");
  if (m->kind == PEER_MPICH && !crowded && strcmp(m->name, "mpich") == 0)
    put(&w, "-bind-to"), put(&w, "core");
  put(&w, "-n");
  put(&w, number);
  return w;
}

static void set(const char *name, const char *value) {
  setenv(name, value, 0); /* a setting of the user is kept */
}

/* Sets environment variables for the launcher. Runs in the child process. Open MPI refuses to run as root without
 * permission, and looks for ssh, which is not needed on one machine. A relocated Intel MPI needs to know its folder. */
static void settings(const peer_memory *m, const peer_place *p) {
  static const char *const unset[] = {"TUTTI_EXPLAIN", "TUTTI_TRACE", "TUTTI_LOG", "TUTTI_RANK"};
  for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) unsetenv(unset[i]);
  const char *name, *value;
  for (int i = 0; (name = peer_preset(m, i, &value)); i++) set(name, value);
  if (m->kind == PEER_OMPI) {
    if (geteuid() == 0)
      set("OMPI_ALLOW_RUN_AS_ROOT", "1"), set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    set("OMPI_MCA_plm", "isolated");
  }
  if (strcmp(m->name, "intelmpi") == 0) {
    char root[PATH_MAX], path[2 * PATH_MAX];
    snprintf(root, sizeof root, "%s", p->launcher);
    for (int up = 0; up < 2; up++) {
      char *slash = strrchr(root, '/');
      if (slash) *slash = 0;
    }
    snprintf(path, sizeof path, "%s/bin:%s", root,
             getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    set("I_MPI_ROOT", root);
    setenv("PATH", path, 1);
  }
}

static pid_t start(const peer_memory *m, const peer_place *p, int fd, int log) {
  char number[16], file[64], self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = 0;
  snprintf(number, sizeof number, "%d", m->ranks);
  snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)getpid(), fd);
  words w = launch_line(m, p, number);
  put(&w, self);
  put(&w, "bench-peer");
  put(&w, file);
  w.word[w.n] = NULL;
  const pid_t child = fork();
  if (child) return child;
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  setpgid(0, 0); /* a process group, so that all of it can be ended */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(null, 0);
  dup2(log, 1);
  dup2(log, 2);
  settings(m, p);
  execv(m->kind == PEER_TORCH ? self : w.word[0], (char *const *)w.word);
  _exit(CLI_NOT_FOUND);
}

/* ---- waiting ---- */

/* Stores the last line of the log that is not blank. */
static void last_line(int log, char *text, size_t size) {
  char all[8192];
  const off_t end = lseek(log, 0, SEEK_END),
              from = end > (off_t)sizeof all - 1 ? end - (off_t)sizeof all + 1 : 0;
  const ssize_t n = pread(log, all, sizeof all - 1, from);
  *text = 0;
  all[n > 0 ? n : 0] = 0;
  for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
    if (strspn(line, " \t-=") < strlen(line))
      snprintf(text, size, "%s", line + strspn(line, " \t"));
}

static volatile sig_atomic_t stopped;
static void stop(int signal) {
  stopped = signal;
}

static void end(pid_t child, int *status) {
  kill(-child, SIGTERM);
  for (int i = 0; i < 100; i++, usleep(20000))
    if (waitpid(child, status, WNOHANG) == child) {
      kill(-child, SIGKILL); /* ranks that the launcher left behind */
      return;
    }
  kill(-child, SIGKILL);
  waitpid(child, status, 0);
}

/* Waits for the launcher to end. Returns false if it failed, or if it was killed before all results were complete. */
static bool wait_for(peer_memory *m, pid_t child, int done, int all, bool *late) {
  int status = 0, seen = -1, complete;
  double since = cli_now();
  for (;; usleep(20000)) {
    complete = atomic_load_explicit(&m->rows, memory_order_acquire);
    if (waitpid(child, &status, WNOHANG) == child) break;
    const int alive = atomic_load_explicit(&m->alive, memory_order_relaxed) + complete;
    if (alive != seen) since = cli_now();
    seen = alive;
    bench_progress((size_t)done * m->sizes + (size_t)complete, (size_t)all * m->sizes,
                   (size_t)complete < m->sizes ? (size_t)complete : m->sizes);
    const bool finished = complete == (int)m->sizes;
    *late = cli_now() - since > (finished ? GRACE : PATIENCE);
    if (!*late && !stopped && !atomic_load_explicit(&m->failed, memory_order_acquire)) continue;
    if (!*late && !stopped) usleep(500000); /* gives the launcher time to end the job */
    end(child, &status);
    if (finished) *late = false;
    break;
  }
  return atomic_load_explicit(&m->rows, memory_order_acquire) == (int)m->sizes;
}

static void run_ranks(peer_memory *m, peer_place *p, int fd, int done, int all) {
  struct sigaction act = {.sa_handler = stop}, before[2];
  const int log = memfd_create("tutti-compare-log", MFD_CLOEXEC);
  bool late = false;
  sigaction(SIGINT, NULL, &before[0]);
  if (before[0].sa_handler != SIG_IGN) sigaction(SIGINT, &act, NULL);
  sigaction(SIGTERM, &act, &before[1]);
  const pid_t child = start(m, p, fd, log);
  const bool good = child > 0 && wait_for(m, child, done, all, &late);
  sigaction(SIGINT, &before[0], NULL);
  sigaction(SIGTERM, &before[1], NULL);
  if (stopped) {
    bench_progress(0, 0, 0);
    raise(stopped);
    _exit(128 + stopped);
  }
  if (!good && *m->failure) {
    snprintf(p->why, sizeof p->why, "%s", m->failure);
  } else if (!good) {
    char line[400];
    last_line(log, line, sizeof line);
    snprintf(p->why, sizeof p->why, "%.150s %s%s%s", p->launcher[0] ? p->launcher : p->library,
             late ? "made no progress for two minutes and was ended" : "failed",
             *line ? "; the last line of its output: " : "", line);
  }
  close(log);
}

/* ---- one library ---- */

static int allowed_cores(void) {
  size_t bytes;
  cpu_set_t *mine = cpus_mask(0, &bytes);
  const int n = mine ? CPU_COUNT_S(bytes, mine) : 1;
  CPU_FREE(mine);
  return n;
}

peer_memory *peer_measure(const bench_options *o, peer_place *p, int done, int all) {
  const size_t sizes = bench_sizes(o), bytes = peer_bytes((int)o->ranks, sizes);
  const int fd = memfd_create("tutti-compare", MFD_CLOEXEC);
  peer_memory *m = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
    m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (m == MAP_FAILED) {
    snprintf(p->why, sizeof p->why, "no shared memory: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return NULL;
  }
  m->o = *o;
  m->kind = p->kind;
  m->ranks = (int)o->ranks;
  m->cores = allowed_cores();
  m->sizes = sizes;
  snprintf(m->algo, sizeof m->algo, "%s", o->algo ? o->algo : "");
  snprintf(m->name, sizeof m->name, "%s", p->name);
  snprintf(m->library, sizeof m->library, "%s", p->library);
  if (p->kind == PEER_TORCH) {
    const char *temporary = getenv("TMPDIR");
    snprintf(m->meeting, sizeof m->meeting, "%s/tutti-compare-%d-%d",
             temporary ? temporary : "/tmp", (int)getpid(), done);
    unlink(m->meeting);
  }
  run_ranks(m, p, fd, done, all);
  if (p->kind == PEER_TORCH) unlink(m->meeting);
  close(fd);
  if (!*p->why) return m;
  peer_free(m);
  return NULL;
}
