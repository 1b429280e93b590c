/* run_hosts.c - `tutti run --hosts`: ranks on several hosts, without MPI.
 *
 * Idea       the local job has one process per host, the carrier. The carrier runs the agent (ssh,
 *            or --agent), which starts `tutti run --part` on that host. The ranks of each host thus
 *            have their own guard, and the local guard handles hosts as other guards handle ranks.
 * Leash      the agent's input is a pipe that only the carrier has open. The carrier sends the id
 *            of the rendezvous, which runs in this process, and then signals for the remote ranks,
 *            one byte each. When the pipe closes, the remote processes end. The agent has a
 *            separate process group, so signals of the terminal are sent over the leash as well.
 * Invariant  no command line contains a key, because other users can read command lines.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "run.h"
#include "tutti_create.h"
#include "tutti_launch.h"

extern char **environ;

enum { MOST_HOSTS = 1024, KEY_MOST = 4096 /* size of TUTTI_KEY, with its final 0 */ };

/* ---- the list: h1:4,h2:4 ---- */

static int bad_host(const char *at) {
  return cli_fail(CLI_USAGE, "run",
                  "--hosts: '%.*s' is not of the form HOST or HOST:RANKS, with an IPv6 address in "
                  "brackets",
                  (int)strcspn(at, ","), at);
}

int run_hosts_read(run_options *o, const char *list) {
  o->hosts = calloc(MOST_HOSTS, sizeof *o->hosts);
  if (!o->hosts) return cli_fail(CLI_FAILED, "run", "out of memory");
  for (const char *at = list; *at;) {
    const int six = *at == '['; /* an IPv6 address is in brackets */
    const size_t n = strcspn(at, ","), name = strcspn(at + six, six ? ",]" : ",:"),
                 begin = name + 2 * (size_t)six;
    const int counted = begin < n && at[begin] == ':';
    long ranks = 1;
    char number[16] = "1";
    if (counted) snprintf(number, sizeof number, "%.*s", (int)(n - begin - 1), at + begin + 1);
    if (!name || name >= sizeof o->hosts->name || begin > n || n - begin > 8 ||
        (begin < n && !counted) || !cli_int(number, 0, 4096, &ranks) || *at == '-')
      return bad_host(at);
    if (o->nhosts == MOST_HOSTS)
      return cli_fail(CLI_USAGE, "run", "--hosts: more than %d", MOST_HOSTS);
    run_host *h = &o->hosts[o->nhosts++];
    memcpy(h->name, at + six, name);
    h->ranks = (int)ranks;
    h->first = o->total;
    o->total += h->ranks;
    at += n + (at[n] == ',');
  }
  return o->nhosts ? 0 : cli_fail(CLI_USAGE, "run", "--hosts: which hosts? --hosts h1:4,h2:4");
}

int run_part_read(run_options *o, const char *text) {
  char first[16], all[16];
  const char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
  long from = 0, total = 0, newcomer = 0;
  snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - text) : 0, text);
  snprintf(all, sizeof all, "%.*s", colon ? second ? (int)(second - colon - 1) : 15 : 0,
           colon ? colon + 1 : "");
  if (!colon || !cli_int(first, 0, 1 << 20, &from) || !cli_int(all, 1, 1 << 20, &total) ||
      (second && !cli_int(second + 1, 1, 1000, &newcomer)))
    return cli_fail(CLI_USAGE, "run", "--part '%s' is not of the form FIRST:TOTAL", text);
  o->first = (int)from;
  o->total = (int)total;
  o->newcomer = (int)newcomer;
  return 0;
}

/* ---- the command on a host: one line for its shell ---- */

typedef struct text {
  char *at;
  size_t n, room;
} text;

static void add(text *t, const char *bytes, size_t n) {
  if (t->n + n + 1 > t->room) {
    const size_t room = 2 * (t->n + n + 1);
    char *at = realloc(t->at, room);
    if (!at) _exit(CLI_FAILED);
    t->at = at;
    t->room = room;
  }
  memcpy(t->at + t->n, bytes, n);
  t->n += n;
  t->at[t->n] = 0;
}

static void add_word(text *t, const char *word) {
  add(t, word, strlen(word));
}

/* Quotes the word, so that a shell reads it as one word. */
static void add_quoted(text *t, const char *word) {
  add_word(t, " '");
  for (; *word; word++) {
    if (*word == '\'')
      add_word(t, "'\\''");
    else
      add(t, word, 1);
  }
  add_word(t, "'");
}

/* Returns true if a variable is passed on to other hosts: settings of tutti and UCX, library paths, and the thread count. */
static bool travels(const char *entry) {
  static const char *const names[] = {"TUTTI_", "UCX_", "LD_LIBRARY_PATH=", "OMP_NUM_THREADS="};
  static const char *const stay[] = {
      "TUTTI_RANK=", "TUTTI_SIZE=", "TUTTI_SHM_FD=", "TUTTI_ID=", "TUTTI_KEY="};
  for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
    if (strncmp(entry, stay[i], strlen(stay[i])) == 0) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(entry, names[i], strlen(names[i])) == 0) return true;
  return false;
}

static void write_line(text *t, const run_options *o, const run_host *h) {
  char self[PATH_MAX] = "tutti", here[PATH_MAX] = "/", number[64];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n > 0) self[n] = 0;
  if (!getcwd(here, sizeof here)) memcpy(here, "/", 2);
  add_word(t, "cd");
  add_quoted(t, here);
  add_word(t, " && exec env");
  for (char **e = environ; *e; e++)
    if (travels(*e)) add_quoted(t, *e);
  add_quoted(t, self);
  snprintf(number, sizeof number, " run -n %d --part %d:%d", h->ranks, h->first, o->total);
  add_word(t, number);
  snprintf(number, sizeof number, ":%d", h->newcomer);
  if (h->newcomer) add_word(t, number);
  snprintf(number, sizeof number, " --respawn %d", o->respawns);
  if (o->respawns) add_word(t, number);
  if (o->bind_there) add_word(t, " --bind");
  if (o->label_there) add_word(t, " --label");
  if (o->verbose) add_word(t, " --verbose");
  if (o->keep_going) add_word(t, " --keep-going");
  for (int i = 0; i < o->envs; i++) {
    add_word(t, " --env");
    add_quoted(t, o->env[i]);
  }
  for (char **a = o->argv; *a; a++) add_quoted(t, *a);
}

/* ---- the carrier ---- */

static bool is_here(const char *host) {
  char name[65] = "";
  gethostname(name, sizeof name - 1);
  return strcmp(host, "localhost") == 0 || strcmp(host, name) == 0;
}

static void call_agent(const run_options *o, const run_host *h, const char *line, int leash) {
  text command = {NULL, 0, 0};
  dup2(leash, 0);
  if (!o->agent && is_here(h->name)) {
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  } else {
    add_word(&command, "exec ");
    add_word(&command, o->agent ? o->agent : "ssh -o BatchMode=yes");
    add_word(&command, " \"$@\"");
    execl("/bin/sh", "sh", "-c", command.at, "tutti-agent", h->name, line, (char *)NULL);
  }
  _exit(CLI_NOT_FOUND);
}

/* Waits until the agent ends, and returns its status. A signal that the guard sends to the whole job ends this
 * process. Signals that the guard delivers, or that the terminal sends, are passed on to the ranks. */
static int pass_on(pid_t agent, int leash, const sigset_t *set) {
  for (int status;;) {
    siginfo_t info;
    if (waitpid(agent, &status, WNOHANG) == agent) return status;
    const int s = sigwaitinfo(set, &info);
    const unsigned char byte = (unsigned char)s;
    if (s <= 0 || s == SIGCHLD) continue;
    if (s == SIGTERM && info.si_code == SI_USER) _exit(128 + SIGTERM);
    if (leash >= 0 && write(leash, &byte, 1) < 0) continue; /* the agent is about to end */
  }
}

static bool tell(int leash, const char *word, char end) {
  const size_t n = strlen(word);
  return write(leash, word, n) == (ssize_t)n && write(leash, &end, 1) == 1;
}

/* Runs instead of a rank's program. Returns an exit status. */
int run_carry(const run_options *o, int host) {
  const run_host *h = &o->hosts[host];
  text line = {NULL, 0, 0};
  int leash[2], status;
  write_line(&line, o, h);
  const pid_t me = getpid();
  sigset_t set, before;
  if (pipe2(leash, O_CLOEXEC)) return CLI_FAILED;
  run_passed_on(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, &before);
  const pid_t agent = fork();
  if (agent == 0) {
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != me) _exit(1);
    call_agent(o, h, line.at, leash[0]);
  }
  close(leash[0]);
  free(line.at);
  signal(SIGPIPE, SIG_IGN);
  const char *id = getenv("TUTTI_ID"), *key = tutti_setting("TUTTI_KEY");
  const bool told = agent > 0 && id && tell(leash[1], id, '\n') && tell(leash[1], key ? key : "", '\0');
  if (agent < 0) return cli_fail(CLI_FAILED, "run", "fork: %s", strerror(errno));
  if (!told) close(leash[1]);
  status = pass_on(agent, told ? leash[1] : -1, &set);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the rendezvous, and the other end of the leash ---- */

const char *run_hosts_open(const run_options *o) {
  tutti_id id;
  const char *key = tutti_setting("TUTTI_KEY");
  if (key && strlen(key) >= KEY_MOST) return "TUTTI_KEY has more than 4095 characters";
  if (o->respawns ? tutti_unique_id_growing(o->total, o->respawns, &id) : tutti_unique_id_lasting(&id))
    return tutti_error();
  return setenv("TUTTI_ID", id.text, 1) ? "out of memory" : NULL;
}

/* Reads text from the carrier up to the character `end`. Returns false if the text is incomplete or too long. */
static bool heard(char *word, size_t size, char end) {
  size_t n = 0;
  while (n < size && read(0, word + n, 1) == 1 && word[n] != end) n++;
  const bool whole = n < size && word[n] == end;
  word[n < size ? n : size - 1] = 0;
  return whole;
}

int run_part_begin(run_options *o) {
  char id[TUTTI_ID_BYTES] = "", key[KEY_MOST] = "";
  if (!heard(id, sizeof id, '\n') || !heard(key, sizeof key, '\0') || !*id)
    return cli_fail(CLI_USAGE, "run",
                    "--part: no id of a rendezvous was received; `tutti run --hosts` uses this option");
  const int full = setenv("TUTTI_ID", id, 1) || (*key && setenv("TUTTI_KEY", key, 1));
  explicit_bzero(key, sizeof key);
  if (full) return cli_fail(CLI_FAILED, "run", "out of memory");
  o->leash = fcntl(0, F_DUPFD_CLOEXEC, 3);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (o->leash < 0 || null < 0 || dup2(null, 0) < 0)
    return cli_fail(CLI_FAILED, "run", "--part: %s", strerror(errno));
  close(null);
  return 0;
}

/* Reads signals from the leash, a connection to the carrier, and sends them to this process, which forwards them.
 * The leash closes when the carrier ends. This process and all processes that it started are then killed. */
static void *hold(void *options) {
  const run_options *o = options;
  unsigned char byte;
  ssize_t n;
  sigset_t set;
  run_passed_on(&set);
  while ((n = read(o->leash, &byte, 1)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0 && sigismember(&set, byte) == 1) kill(getpid(), byte);
  kill(getpid(), SIGKILL);
  return NULL;
}

int run_part_hold(const run_options *o) {
  pthread_t thread;
  return pthread_create(&thread, NULL, hold, (void *)(uintptr_t)o) || pthread_detach(thread);
}
