/* run_guard.c - starts the ranks, watches them, ends them, and reaps all processes.
 *
 * Phases    RUN     ranks are running
 *           LINGER  all ranks ended without errors; processes that they left may finish
 *           TERM    a rank failed or the time limit passed: SIGTERM was sent
 *           KILL    SIGKILL, repeated until this process has no descendants
 * Invariant The guard returns only when waitpid reports that no process is left (or after it has
 *           reported those that cannot be killed), and all lines are written.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "cpus.h"
#include "run_guard.h"
#include "tutti_launch.h"

static const double linger_seconds = 1, term_seconds = 2, kill_seconds = 5, tick_seconds = 0.02;
/* How long the guard waits for the front process to report a signal, in milliseconds. */
enum { front_ms = 50 };

void run_guard_say(guard *g, const char *format, ...) {
  char line[1024];
  size_t n = (size_t)snprintf(line, sizeof line, "tutti %s: ", g->o->command);
  va_list args;
  va_start(args, format);
  vsnprintf(line + n, sizeof line - n, format, args);
  va_end(args);
  if (!g->front_gone) run_relay_say(g->relay, line);
}

static void enter(guard *g, phase next) {
  if (next <= g->phase) return;
  g->phase = next;
  double seconds = next == PHASE_LINGER ? linger_seconds
                   : next == PHASE_TERM ? term_seconds
                                        : kill_seconds;
  g->deadline = cli_now() + seconds;
  bool seen = next == PHASE_TERM && run_tree_signal(SIGTERM, &g->told, NULL, NULL) >= 0;
  for (int r = 0; r < g->o->ranks; r++) /* works even if /proc cannot be read */
    if (next >= PHASE_TERM && !seen && g->ranks[r].alive)
      kill(g->ranks[r].pid, next == PHASE_TERM ? SIGTERM : SIGKILL);
}

void run_guard_fail(guard *g, int status) {
  if (!g->failed) g->status = status;
  g->failed = true;
}

/* Returns the name of a process of this job, for messages. */
const char *run_guard_name(const guard *g, int rank, char name[272]) {
  if (g->o->hosts)
    snprintf(name, 272, "host %s", g->o->hosts[rank].name);
  else
    snprintf(name, 272, "rank %d", g->o->first + rank);
  return name;
}

/* ---- the end of a rank ---- */

static bool exists(const char *program) {
  if (strchr(program, '/')) return access(program, F_OK) == 0;
  return false;
}

static void explain_refusal(guard *g, const run_refusal *r) {
  const char *program = g->o->argv[0], *why = strerror(r->error);
  char near[512];
  snprintf(near, sizeof near, "./%s", program);
  if (r->stage == STAGE_BIND)
    run_guard_say(g, "cannot bind rank %d to its core: %s; run without --bind", r->rank, why);
  else if (r->stage == STAGE_FILES)
    run_guard_say(g, "cannot give rank %d its input and output: %s", r->rank, why);
  else if (r->error == ENOENT && exists(program))
    run_guard_say(g, "cannot start '%s': its interpreter was not found", program);
  else if (r->error == ENOENT && !strchr(program, '/') && exists(near))
    run_guard_say(g, "cannot start '%s': not found in PATH; did you mean '%s'?", program, near);
  else if (r->error == ENOENT)
    run_guard_say(g, "cannot start '%s': not found%s", program, strchr(program, '/') ? "" : " in PATH");
  else if (r->error == EACCES)
    run_guard_say(g, "cannot start '%s': permission denied (is it a program, and executable?)", program);
  else
    run_guard_say(g, "cannot start '%s': %s", program, why);
  int status = r->stage != STAGE_EXEC ? CLI_FAILED
               : r->error == ENOENT   ? CLI_NOT_FOUND
                                      : CLI_NO_EXEC;
  run_guard_fail(g, status);
}

static void read_report(guard *g) {
  run_refusal r;
  while (g->report[0] >= 0) {
    ssize_t n = read(g->report[0], &r, sizeof r);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n != (ssize_t)sizeof r) {
      close(g->report[0]);
      g->report[0] = -1;
      return;
    }
    const bool again = g->ranks[r.rank].newcomer >= 0;
    g->ranks[r.rank].refused = true;
    if (!g->failed || again) explain_refusal(g, &r); /* once, not for every rank */
    if (!again) enter(g, PHASE_KILL);
  }
}

void run_explain_death(guard *g, int rank, pid_t pid, int status) {
  char how[128], rest[160] = "", name[272];
  if (WIFEXITED(status))
    snprintf(how, sizeof how, "exited with status %d", WEXITSTATUS(status));
  else
    snprintf(how, sizeof how, "was killed by SIG%s (%s%s)",
             sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "RT",
             strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
  const rank_state *s = &g->ranks[rank];
  if (s->due > 0 && g->o->hosts)
    snprintf(rest, sizeof rest, "; starting %d of its ranks on host %.60s in %g s", g->o->hosts[rank].ranks,
             g->o->hosts[g->o->hosts[rank].to].name, s->pause);
  else if (s->due > 0 && run_joins(g->o))
    snprintf(rest, sizeof rest, "; starting it again in %g s, joiner %d of %d", s->pause, s->next + 1,
             g->o->respawns);
  else if (s->due > 0)
    snprintf(rest, sizeof rest, "; starting it again in %g s, %d of %d; the other %d continue",
             s->pause, g->respawned, g->o->respawns, g->alive);
  else if (g->alive && g->o->keep_going)
    snprintf(rest, sizeof rest, "; the other %d continue%s", g->alive,
             g->o->respawns ? "; it is not started again" : "");
  else if (g->alive)
    snprintf(rest, sizeof rest, "; ending the other %d", g->alive);
  run_guard_say(g, "%s (pid %d) %s%s", run_guard_name(g, rank, name), (int)pid, how, rest);
}

int run_status_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int rank_of(const guard *g, pid_t pid) {
  for (int r = 0; r < g->o->ranks; r++)
    if (g->ranks[r].alive && g->ranks[r].pid == pid) return r;
  return -1;
}

static void read_orders(guard *g);

/* Returns true if the rank was ended by a signal to the whole job, for example by Ctrl-C. The rank may receive such
 * a signal before the front process does. In that case, waits briefly for the front process to report the signal. */
bool run_interrupted(guard *g, int status) {
  const int s = run_status_of(status) - 128;
  if (s != SIGINT && s != SIGTERM && s != SIGHUP && s != SIGQUIT) return false;
  struct pollfd front = {.fd = g->orders, .events = POLLIN};
  if (!(g->asked >> s & 1) && poll(&front, 1, front_ms) > 0) read_orders(g);
  return g->asked >> s & 1;
}

static void explain_end(guard *g, int rank, pid_t pid, int status) {
  if (g->said_interrupted) return;
  g->said_interrupted = run_interrupted(g, status);
  if (g->said_interrupted)
    run_guard_say(g, "interrupted by SIG%s", sigabbrev_np(run_status_of(status) - 128));
  else
    run_explain_death(g, rank, pid, status);
}

/* Reaps all dead processes. If it finds several, it reports one that was killed by a signal as the cause. The others
 * may have failed because they lost contact with that process. */
static void reap(guard *g) {
  int culprit = -1, why = 0, status;
  pid_t pid, culprit_pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    int r = rank_of(g, pid);
    if (r < 0) continue;
    g->ranks[r].alive = false;
    g->alive--;
    const int newcomer = g->ranks[r].newcomer; /* saved, so that the message can include it */
    tutti_job_ended(g->job, newcomer < 0 ? r : g->o->ranks + newcomer, status);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) read_report(g);
    if (g->ranks[r].refused) continue;
    if (g->o->respawns && run_plan_again(g, r, pid, status)) continue;
    if (run_status_of(status) == 0) continue;
    if (culprit >= 0 && (WIFSIGNALED(why) || !WIFSIGNALED(status))) continue;
    culprit = r;
    culprit_pid = pid;
    why = status;
  }
  g->children_gone = pid < 0 && errno == ECHILD;
  if (culprit >= 0 && g->phase < PHASE_TERM) {
    if (!g->failed || g->o->keep_going) explain_end(g, culprit, culprit_pid, why);
    run_guard_fail(g, run_status_of(why));
    if (!g->o->keep_going) enter(g, PHASE_TERM);
  }
  if (g->alive == 0) run_forget_again(g);
  if (g->alive == 0 && g->phase == PHASE_RUN && !run_waits_for_due(g)) enter(g, PHASE_LINGER);
}

/* ---- orders and time ---- */

/* Sends a signal to all live ranks. Carriers pass on only signals that were sent with sigqueue. */
static void deliver(guard *g, int signal) {
  for (int r = 0; r < g->o->ranks; r++) {
    if (!g->ranks[r].alive) continue;
    if (g->o->hosts)
      sigqueue(g->ranks[r].pid, signal, (union sigval){0});
    else
      kill(g->ranks[r].pid, signal);
  }
}

static void obey(guard *g, run_order order) {
  int s = order.signal;
  if (s < 64) g->asked |= UINT64_C(1) << s;
  if (order.deliver) deliver(g, s);
  if (s != SIGINT && s != SIGTERM) return;
  if (cli_now() - g->impatient > 2) {
    g->impatient = cli_now();
    g->interrupts = 0;
  }
  if (++g->interrupts < 3 || g->phase == PHASE_KILL) return;
  run_guard_say(g, "SIG%s for the third time: ending %d ranks", sigabbrev_np(s), g->alive);
  run_guard_fail(g, 128 + s);
  enter(g, g->phase < PHASE_TERM ? PHASE_TERM : PHASE_KILL);
}

static void read_orders(guard *g) {
  run_order order;
  ssize_t n = read(g->orders, &order, sizeof order);
  if (n == (ssize_t)sizeof order) {
    obey(g, order);
  } else if (n == 0) { /* the front was killed */
    g->front_gone = true;
    close(g->orders);
    g->orders = -1;
    enter(g, PHASE_KILL);
  }
}

static void read_signals(guard *g) {
  struct signalfd_siginfo info;
  while (read(g->signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo != SIGCHLD) obey(g, (run_order){(unsigned char)info.ssi_signo, 1});
}

static void give_up(guard *g) {
  pid_t pid = 0;
  char name[32] = "?";
  int left = run_tree_signal(0, NULL, &pid, name);
  run_guard_say(g, "%d processes cannot be killed, one is %d (%s)", left, (int)pid, name);
  run_guard_fail(g, CLI_FAILED);
  g->gave_up = true;
}

static void check_time(guard *g) {
  double now = cli_now();
  if (g->time_over > 0 && now >= g->time_over && g->phase == PHASE_RUN) {
    run_guard_say(g, "%g s are over (--timeout): ending %d %s", g->o->timeout, g->alive,
        g->alive == 1 ? "rank" : "ranks");
    run_guard_fail(g, CLI_TIMEOUT);
    enter(g, PHASE_TERM);
  }
  if (g->phase == PHASE_TERM && !g->children_gone) /* also processes that were forked just now */
    run_tree_signal(SIGTERM, &g->told, NULL, NULL);
  if (g->phase == PHASE_KILL && !g->children_gone) run_tree_signal(SIGKILL, NULL, NULL, NULL);
  if (g->phase == PHASE_RUN || now < g->deadline || g->children_gone) return;
  if (g->phase == PHASE_KILL)
    give_up(g);
  else
    enter(g, g->phase + 1);
}

static int patience(const guard *g) {
  if (g->phase != PHASE_RUN && !g->children_gone) return (int)(1000 * tick_seconds);
  double next = g->time_over;
  for (int r = 0; r < g->o->ranks && g->respawned; r++)
    if (g->ranks[r].due > 0 && (next == 0 || g->ranks[r].due < next)) next = g->ranks[r].due;
  if (next == 0 || g->phase != PHASE_RUN) return -1;
  double left = next - cli_now();
  return left <= 0 ? 0 : left > 1000 ? 1000000 : (int)(1000 * left) + 1;
}

static bool done(const guard *g) {
  if (g->gave_up) return g->front_gone || run_relay_flushed(g->relay);
  return g->children_gone && !run_waits_for_due(g) && (g->front_gone || run_relay_idle(g->relay));
}

/* If the reader has closed the output of tutti, the ranks see the same as with any other pipe: their next write fails. */
static void check_output(guard *g) {
  int error = run_relay_error(g->relay);
  if (!error || g->lost_output) return;
  g->lost_output = true;
  if (error != EPIPE) {
    run_guard_say(g, "cannot write the ranks' output: %s", strerror(error));
    run_guard_fail(g, CLI_FAILED);
    enter(g, PHASE_TERM);
  } else if (g->alive == 0) {
    run_guard_fail(g, 128 + SIGPIPE);
  }
}

static void watch(guard *g) {
  reap(g);
  while (!done(g)) {
    struct pollfd *p = g->polls;
    p[0] = (struct pollfd){.fd = g->orders, .events = POLLIN};
    p[1] = (struct pollfd){.fd = g->signals, .events = POLLIN};
    p[2] = (struct pollfd){.fd = g->report[0], .events = POLLIN};
    size_t n = g->front_gone ? 0 : run_relay_fill(g->relay, p + 3);
    if (poll(p, 3 + n, patience(g)) < 0) continue;
    if (p[0].revents) read_orders(g);
    if (p[1].revents) read_signals(g);
    if (p[2].revents) read_report(g);
    run_relay_serve(g->relay, p + 3, n);
    check_output(g);
    if (!g->children_gone) reap(g);
    run_start_again(g);
    check_time(g);
  }
}

/* ---- start ---- */

static void cannot_start(guard *g, int rank, const char *what) {
  int error = errno;
  const char *hint = error == EAGAIN   ? "; no more processes are allowed, see `ulimit -u`"
                     : error == EMFILE ? "; too many descriptors, see `ulimit -n`"
                                       : "";
  run_guard_say(g, "cannot start rank %d of %d: %s: %s%s", rank, g->o->ranks, what, strerror(error), hint);
  run_guard_fail(g, CLI_FAILED);
  if (g->ranks[rank].newcomer < 0) enter(g, PHASE_KILL);
}

void run_start_rank(guard *g, int rank, int cpu, int newcomer) {
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  run_spawn spawn = {.options = g->o, .origin = g->origin, .files = g->files, .rank = rank};
  spawn.cpu = cpu;
  spawn.report = g->report[1];
  spawn.job_env = run_job_env(g->o, g->job, rank, newcomer);
  g->ranks[rank] = (rank_state){
      .cpu = cpu, .newcomer = newcomer, .began = cli_now(), .pause = g->ranks[rank].pause};
  bool piped = !g->o->label || (pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
  if (g->o->label && out[0] >= 0) run_relay_add(g->relay, g->o->first + rank, out[0], err[0]);
  spawn.out = out[1];
  spawn.err = err[1];
  pid_t pid = piped && spawn.job_env ? run_spawn_rank(&spawn) : -1;
  if (pid < 0)
    cannot_start(g, rank, !spawn.job_env ? "memory" : piped ? "fork" : "pipe");
  else
    g->ranks[rank].pid = pid, g->ranks[rank].alive = true;
  g->alive += pid > 0;
  g->children_gone &= pid < 0;
  if (out[1] >= 0) close(out[1]);
  if (err[1] >= 0) close(err[1]);
  run_free_env(spawn.job_env);
  char core[32] = "", number[32] = "", name[272];
  if (cpu >= 0) snprintf(core, sizeof core, " on core %d", cpu);
  if (newcomer >= 0) snprintf(number, sizeof number, ", joiner %d", newcomer + 1);
  if (g->o->verbose && pid > 0)
    run_guard_say(g, "%s is pid %d%s%s", run_guard_name(g, rank, name), pid, core, number);
}

static void start_all(guard *g) {
  cpu_list cpus = cpus_allowed();
  bool bind = g->o->bind && cpus.n > 0 && g->o->ranks <= cpus.n;
  if (g->o->bind && !bind && g->o->verbose)
    run_guard_say(g, "%d ranks on %d cores: not bound", g->o->ranks, cpus.n);
  for (int r = 0; r < g->o->ranks && g->phase == PHASE_RUN; r++)
    if (!g->o->hosts || g->o->hosts[r].ranks)
      run_start_rank(g, r, bind ? cpus.cpu[r % cpus.n] : -1, g->o->newcomer ? g->o->newcomer - 1 + r : -1);
  cpus_free(&cpus);
  if (!g->o->respawns) close(g->report[1]);
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, 0); /* only rank 0 reads our input */
  if (null >= 0) close(null);
  if (g->alive == 0) enter(g, PHASE_KILL);
}

/* Raises the limit on open descriptors, because the guard needs many pipes. The ranks are started with the old limit. */
static void raise_limit(guard *g) {
  getrlimit(RLIMIT_NOFILE, &g->files);
  rlim_t need = 64 + (g->o->label ? 2 * ((rlim_t)g->o->ranks + (rlim_t)g->o->respawns) : 0);
  struct rlimit more = g->files;
  if (more.rlim_cur >= need) return;
  more.rlim_cur = need < more.rlim_max ? need : more.rlim_max;
  setrlimit(RLIMIT_NOFILE, &more);
}

static const char *prepare(guard *g) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (int s = 1; s < NSIG; s++)
    if (s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL || s == SIGABRT || s == SIGTRAP ||
        s == SIGSYS || s == SIGPIPE || s == SIGTTOU || s == SIGTTIN)
      sigdelset(&all, s);
  prctl(PR_SET_NAME, "tutti-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  raise_limit(g);
  g->ranks = calloc((size_t)g->o->ranks, sizeof *g->ranks);
  g->relay = run_relay_make(g->o->ranks + g->o->respawns, g->o->label);
  if (!g->ranks || !g->relay) return "out of memory";
  g->polls = calloc(3 + run_relay_most(g->relay), sizeof *g->polls);
  if (!g->polls) return "out of memory";
  g->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (g->signals < 0 || pipe2(g->report, O_CLOEXEC)) return strerror(errno);
  fcntl(g->report[0], F_SETFL, O_NONBLOCK);
  if (tutti_job_create_watched(g->o->ranks, g->o->respawns, &g->job)) return tutti_error();
  return g->o->hosts ? run_hosts_open(g->o) : NULL;
}

int run_guard(const run_options *options, const run_origin *origin, int orders) {
  guard g = {.o = options, .origin = origin, .orders = orders, .signals = -1, .report = {-1, -1}};
  const char *trouble = prepare(&g);
  if (trouble) return cli_fail(CLI_FAILED, "run", "%s", trouble);
  if (options->timeout > 0) g.time_over = cli_now() + options->timeout;
  start_all(&g);
  watch(&g);
  tutti_job_free(g.job);
  run_relay_free(g.relay);
  free(g.ranks);
  free(g.polls);
  free(g.told.pid);
  return g.status;
}
