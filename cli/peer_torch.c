/* peer_torch.c - a library that is part of PyTorch (gloo, NCCL), as the other side of a comparison.
 *
 * Idea      A rank starts a Python with PyTorch, and sends it one line per time slice through a
 *           pipe. Python times the calls itself and replies with the seconds. While one of the two
 *           works, the other sleeps in read(), so both use the same core.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "peer.h"

/* A Python program that reads requests, and answers each with a line on descriptor 4. The answer to "size BYTES" is the number
 * of wrong elements. The answer to "time CALLS CYCLE WITH" is the time in seconds per call. The calls sum floats in place. */
static const char program[] =
    "import os, sys, time\n"
    "os.environ.setdefault('GLOG_minloglevel', '2')\n"
    "backend, rank, ranks, meeting = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]\n"
    "ask, answer = os.fdopen(3), os.fdopen(4, 'w')\n"
    "def say(text):\n"
    "    print(text, file=answer, flush=True)\n"
    "try:\n"
    "    import torch, torch.distributed as dist\n"
    "    torch.set_num_threads(1)\n"
    "    place = 'cuda:%d' % rank if backend == 'nccl' else 'cpu'\n"
    "    if backend == 'nccl':\n"
    "        torch.cuda.set_device(rank)\n"
    "    dist.init_process_group(backend, init_method='file://' + meeting, rank=rank, "
    "world_size=ranks)\n"
    "    version = 'PyTorch ' + torch.__version__\n"
    "    if backend == 'nccl':\n"
    "        version = '.'.join(map(str, torch.cuda.nccl.version())) + ' of ' + version\n"
    "    say('ready ' + version)\n"
    "except Exception as e:\n"
    "    say('failed ' + (str(e) or type(e).__name__).splitlines()[0])\n"
    "    sys.exit(1)\n"
    "def done():\n"
    "    if backend == 'nccl':\n"
    "        torch.cuda.synchronize()\n"
    "for line in ask:\n"
    "    word, *numbers = line.split()\n"
    "    if word == 'size':\n"
    "        n = int(numbers[0]) // 4\n"
    "        x = (torch.arange(n) % 7 + rank).float().to(place)\n"
    "        dist.all_reduce(x)\n"
    "        want = (torch.arange(n) % 7 * ranks + ranks * (ranks - 1) // 2).float().to(place)\n"
    "        wrong = int((x != want).sum())\n"
    "        x.zero_()\n"
    "        say(wrong)\n"
    "    else:\n"
    "        calls, cycle, act = map(int, numbers)\n"
    "        dist.barrier()\n"
    "        done()\n"
    "        since = time.perf_counter()\n"
    "        for i in range(calls):\n"
    "            if cycle:\n"
    "                x.fill_(i & 0xffff)\n"
    "            if act:\n"
    "                dist.all_reduce(x)\n"
    "            if cycle:\n"
    "                x.sum()\n"
    "        done()\n"
    "        say((time.perf_counter() - since) / calls)\n"
    "dist.destroy_process_group()\n";

static FILE *asks, *answers;

const char *peer_torch_lacks(const bench_options *o) {
  if (o->coll != TUTTI_ALLREDUCE || o->type != TUTTI_FLOAT || o->op != TUTTI_SUM ||
      !peer_in_place(o))
    return "it is compared with float sums of allreduce in place only";
  return NULL;
}

/* Returns the next answer. */
static const char *answer_of(peer_memory *m) {
  static char line[600];
  if (!fgets(line, sizeof line, answers)) peer_fail(m, "its Python has ended");
  line[strcspn(line, "\n")] = 0;
  if (strncmp(line, "failed ", 7) == 0) peer_fail(m, "%s", line + 7);
  return line;
}

static void begin_size(peer_sync *s, size_t bytes) {
  fprintf(asks, "size %zu\n", bytes);
  fflush(asks);
  const double wrong = peer_slowest(s, strtod(answer_of(s->m), NULL));
  if (wrong > 0) peer_fail(s->m, "%.0f elements of its sum are wrong", wrong);
}

static double timed(peer_sync *s, long n, bool cycle, bool with) {
  peer_meet(s);
  fprintf(asks, "time %ld %d %d\n", n, cycle, with);
  fflush(asks);
  return strtod(answer_of(s->m), NULL);
}

static void leave(void) {
  fclose(asks);
  fclose(answers);
}

static _Noreturn void become_python(const peer_memory *m, int rank, int from, int to) {
  char number[16], all[16];
  snprintf(number, sizeof number, "%d", rank);
  snprintf(all, sizeof all, "%d", m->ranks);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(from, 3);
  dup2(to, 4);
  execl(m->library, m->library, "-c", program, m->name, number, all, m->meeting, (char *)NULL);
  _exit(CLI_NOT_FOUND);
}

peer_other peer_torch_open(peer_memory *m, int rank) {
  int to[2], from[2];
  if (pipe(to) || pipe(from)) peer_fail(m, "no pipe: %s", strerror(errno));
  const pid_t child = fork();
  if (child < 0) peer_fail(m, "no process: %s", strerror(errno));
  if (child == 0) {
    const int in = fcntl(to[0], F_DUPFD, 5), out = fcntl(from[1], F_DUPFD, 5);
    close(to[1]);
    close(from[0]);
    become_python(m, rank, in, out);
  }
  close(to[0]);
  close(from[1]);
  asks = fdopen(to[1], "w");
  answers = fdopen(from[0], "r");
  if (!asks || !answers) peer_fail(m, "no pipe: %s", strerror(errno));
  const char *ready = answer_of(m);
  if (rank == 0)
    snprintf(m->version, sizeof m->version, "%.200s",
             strncmp(ready, "ready ", 6) ? ready : ready + 6);
  return (peer_other){.size = begin_size, .time = timed, .close = leave};
}
