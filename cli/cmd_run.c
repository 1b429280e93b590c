/* cmd_run.c - `tutti run`: the command line, and the front process.
 * run.h describes its processes. SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "run.h"

enum { MOST_RANKS = 4096, MOST_RESPAWNS = 1000 };

static const char usage[] =
    "usage: tutti run -n N [options] PROGRAM [arguments]\n"
    "\n"
    "Starts N ranks of PROGRAM on this machine. Rank 0 gets the standard input.\n"
    "If a rank fails, tutti ends the others, by SIGTERM and after 2 s by SIGKILL. When the\n"
    "job ends, all processes that the ranks have started end, too.\n"
    "\n"
    "  -n, --ranks N      number of ranks, 1 to 4096\n"
    "  -b, --bind         bind each rank to a core, consecutive ranks to near cores, if there\n"
    "                     are enough cores (`tutti info` shows which cores are near)\n"
    "  -l, --label        put \"[rank] \" before every line of output\n"
    "  -t, --timeout S    end the job after S seconds, with exit status 124\n"
    "  -e, --env K=V      set the variable K for the ranks; may be repeated\n"
    "  -k, --keep-going   if a rank fails, let the others continue (tutti_comm_shrink)\n"
    "  -r, --respawn N    restart ranks that die, at most N times in total. The pause before a\n"
    "                     restart of a rank is 0.1 s, and doubles each time. tutti_comm_grow\n"
    "                     adds them. Ranks of a lost host restart on another one. Implies -k\n"
    "  -H, --hosts LIST   start ranks on these hosts, without -n: h1:4,h2:4,... No rank gets\n"
    "                     the standard input. h3:0 is a spare host, for --respawn\n"
    "  -a, --agent CMD    starts a process on another host, called as CMD HOST COMMAND\n"
    "                     (ssh -o BatchMode=yes)\n"
    "      --part F:P     the N ranks are F, F+1, ... of P; --hosts uses this on each host\n"
    "  -v, --verbose      report which processes are started, and where\n"
    "\n"
    "`tutti run` passes signals on to the ranks. A third SIGINT or SIGTERM within two seconds\n"
    "ends the job.\n"
    "\n"
    "Exit status: 0 if all ranks returned 0; a restarted rank counts with its last process.\n"
    "Otherwise the status of the first rank that failed, or 128 plus the signal that killed\n"
    "it. 2 wrong command line; 124 --timeout; 125 tutti itself failed; 126 PROGRAM cannot be\n"
    "executed; 127 not found.\n";

static const struct option long_options[] = {
    {"ranks", required_argument, NULL, 'n'},   {"bind", no_argument, NULL, 'b'},
    {"label", no_argument, NULL, 'l'},         {"timeout", required_argument, NULL, 't'},
    {"env", required_argument, NULL, 'e'},     {"keep-going", no_argument, NULL, 'k'},
    {"respawn", required_argument, NULL, 'r'}, {"verbose", no_argument, NULL, 'v'},
    {"hosts", required_argument, NULL, 'H'},   {"agent", required_argument, NULL, 'a'},
    {"part", required_argument, NULL, 'P'},    {"for", required_argument, NULL, 'F'},
    {NULL, 0, NULL, 0},
};

static int bad_env(const char *entry) {
  return cli_fail(CLI_USAGE, "run", "--env '%s' is not of the form NAME=value", entry);
}

/* Parses the command line. Returns 0, or the exit status to use after an error message. */
static int take_option(run_options *o, int c, char **argv) {
  long n;
  switch (c) {
    case 'n':
      if (strcmp(optarg, "p") == 0)
        return cli_fail(CLI_USAGE, "run", "mpirun's -np is -n here: tutti run -n N PROGRAM");
      if (!cli_int(optarg, 1, MOST_RANKS, &n))
        return cli_fail(CLI_USAGE, "run", "-n '%s' is not a number of ranks from 1 to %d", optarg,
                        MOST_RANKS);
      o->ranks = (int)n;
      return 0;
    case 't':
      if (!cli_seconds(optarg, &o->timeout))
        return cli_fail(CLI_USAGE, "run", "--timeout '%s' is not a positive number of seconds",
                        optarg);
      return 0;
    case 'e':
      if (*optarg == '=' || !strchr(optarg, '=')) return bad_env(optarg);
      o->env[o->envs++] = optarg;
      return 0;
    case 'b': o->bind = true; return 0;
    case 'l': o->label = true; return 0;
    case 'k': o->keep_going = true; return 0;
    case 'r':
      if (!cli_int(optarg, 1, MOST_RESPAWNS, &n))
        return cli_fail(CLI_USAGE, "run", "--respawn '%s' is not a number from 1 to %d", optarg,
                        MOST_RESPAWNS);
      o->respawns = (int)n;
      o->keep_going = true;
      return 0;
    case 'v': o->verbose = true; return 0;
    case 'H': return run_hosts_read(o, optarg);
    case 'a': o->agent = optarg; return 0;
    case 'P': return run_part_read(o, optarg);
    case 'F': /* from ranked.c: the command that starts its own ranks in this way */
      o->command = optarg;
      return 0;
    default: return cli_bad_option("run", c, argv, long_options);
  }
}

static int parse(run_options *o, int argc, char **argv) {
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:n:blt:e:kr:vH:a:", long_options, NULL)) != -1;) {
    int status = take_option(o, c, argv);
    if (status) return status;
  }
  if (o->hosts && o->ranks && o->ranks != o->total)
    return cli_fail(CLI_USAGE, "run", "-n %d, but --hosts has %d ranks", o->ranks, o->total);
  for (int i = 0; i < o->nhosts; i++)
    if (!o->hosts[i].ranks && (!o->respawns || !o->total))
      return cli_fail(CLI_USAGE, "run",
                      "--hosts: '%s:0' is not of the form HOST or HOST:RANKS; a spare host (HOST:0) "
                      "needs --respawn and at least one host with ranks",
                      o->hosts[i].name);
  if (o->hosts) { /* these options apply to the ranks on all hosts */
    o->ranks = o->nhosts;
    o->bind_there = o->bind;
    o->label_there = o->label;
    o->bind = o->label = false;
  }
  if (o->ranks == 0)
    return cli_fail(CLI_USAGE, "run", "how many ranks? tutti run -n N PROGRAM [arguments]");
  if (optind >= argc)
    return cli_fail(CLI_USAGE, "run", "which program? tutti run -n %d PROGRAM [arguments]",
                    o->ranks);
  o->argv = argv + optind;
  return o->total && !o->hosts ? run_part_begin(o) : 0;
}

/* ---- the front ---- */

void run_passed_on(sigset_t *set) {
  static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH};
  sigemptyset(set);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(set, signals[i]);
}

/* Makes sure that descriptors 0, 1 and 2 are open, so that no pipe is assigned one of these numbers. */
static void open_standard(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
}

static bool has_children(void) {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* Returns the exit status of the keeper, which is also that of the guard. If the keeper was killed, ends the
 * processes that the keeper was watching. */
static int keeper_status(int status, bool reaper) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  cli_fail(0, "run", "the guard process was killed by SIG%s; ending all ranks",
           sigabbrev_np(WTERMSIG(status)));
  if (reaper && !run_tree_kill(5))
    cli_fail(0, "run", "some processes of the job could not be killed");
  return 128 + WTERMSIG(status);
}

/* Returns true if the ranks have already received this signal from the terminal. A keyboard signal such as Ctrl-C goes to the
 * whole process group. When a terminal disappears, the kernel signals only the first process of the session. */
static bool ranks_have(int signal, int code) {
  const bool first = getsid(0) == getpid();
  return code == SI_KERNEL && !(first && (signal == SIGHUP || signal == SIGCONT));
}

/* Forwards signals until the keeper ends, and returns the keeper's wait status. Sets `interrupted` if a SIGINT
 * arrived. A process that runs one host's part of a job also receives signals over its leash. */
static int attend(pid_t keeper, int orders, const sigset_t *set, bool part, bool *interrupted) {
  for (;;) {
    int status;
    pid_t got = waitpid(keeper, &status, WNOHANG);
    if (got == keeper) return status;
    siginfo_t info;
    int s = sigwaitinfo(set, &info);
    if (s <= 0 || s == SIGCHLD || s == SIGPIPE) continue;
    if (s == SIGINT) *interrupted = true;
    run_order order = {(unsigned char)s, !ranks_have(s, info.si_code)};
    if (write(orders, &order, sizeof order) < 0) continue; /* the guard is about to end */
    if (s == SIGTSTP && !part) raise(SIGSTOP);
  }
}

static int front(const run_options *o, char **argv) {
  open_standard();
  signal(SIGCHLD, SIG_DFL);
  bool reaper = !has_children() && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  sigset_t set;
  run_passed_on(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGPIPE); /* blocked, so that a write fails with EPIPE */
  run_origin origin = {.group = getpgrp()};
  sigprocmask(SIG_BLOCK, &set, &origin.mask);
  int orders[2];
  if (pipe2(orders, O_CLOEXEC)) return cli_fail(CLI_FAILED, "run", "pipe: %s", strerror(errno));
  pid_t keeper = fork();
  if (keeper < 0) return cli_fail(CLI_FAILED, "run", "fork: %s", strerror(errno));
  if (keeper == 0) {
    close(orders[1]);
    return run_keeper(o, &origin, orders[0], argv);
  }
  close(orders[0]);
  if (o->leash && run_part_hold(o)) return cli_fail(CLI_FAILED, "run", "no thread for --part");
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, 0); /* only rank 0 reads our input */
  bool interrupted = false;
  int status = keeper_status(attend(keeper, orders[1], &set, o->leash, &interrupted), reaper);
  if (interrupted && status == 128 + SIGINT) { /* so that a calling shell stops as well */
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
    sigprocmask(SIG_SETMASK, &origin.mask, NULL);
  }
  return status;
}

static int run(int argc, char **argv) {
  run_options o = {.command = "run", .env = calloc((size_t)argc + 1, sizeof *o.env)};
  if (!o.env) return cli_fail(CLI_FAILED, "run", "out of memory");
  int status = parse(&o, argc, argv);
  if (status == 0) status = front(&o, argv);
  free(o.env);
  free(o.hosts);
  return status;
}

const cli_command cmd_run = {"run", "start N ranks of a program on this machine", usage, run,
                             false};
