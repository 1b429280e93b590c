/* run_relay.c - passes on the output of the ranks, in whole lines, each labeled with its rank.
 *
 * Idea       Every pipe has a buffer for its unfinished line. Finished lines, with the prefix, are
 *            appended to a sink's queue. A sink is written only when it is writable, so a slow
 *            reader never blocks the guard.
 * Invariants A queue holds whole lines, so lines are never mixed. If stdout and stderr are the same
 *            file, they are one sink. While a queue is full, its pipes are not read, so memory is
 *            bounded and nothing is dropped.
 * Limit      A line longer than LINE_MAX_BYTES is split into several lines.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

enum {
  LINE_MAX_BYTES = 16 << 20,
  QUEUE_BYTES = 1 << 20, /* while a sink's queue is longer, its pipes are not read */
  READ_BYTES = 64 << 10,
  PIPE_BYTES = 4096 /* bytes that a writable pipe accepts without blocking */
};

typedef struct bytes {
  char *data;
  size_t head, n, room; /* valid data: data[head .. head+n) */
} bytes;

typedef struct sink {
  int fd;
  int error; /* the error that broke the sink */
  bool broken, regular;
  bytes queue;
} sink;

typedef struct stream {
  int fd; /* -1 if it has reached its end */
  int rank;
  sink *to;
  bytes line;
} stream;

struct run_relay {
  sink sinks[2];
  sink *out, *err;
  stream *streams;
  size_t streams_n, streams_room;
};

/* Appends bytes to the buffer. If out of memory, drops the bytes and returns false, and the caller reports the loss. */
static bool append(bytes *b, const char *data, size_t n) {
  if (b->head && b->head >= b->n) {
    memmove(b->data, b->data + b->head, b->n);
    b->head = 0;
  }
  if (b->head + b->n + n > b->room) {
    size_t room = 2 * (b->head + b->n + n);
    char *more = realloc(b->data, room);
    if (!more) return false;
    b->data = more;
    b->room = room;
  }
  memcpy(b->data + b->head + b->n, data, n);
  b->n += n;
  return true;
}

run_relay *run_relay_make(int processes, bool label) {
  run_relay *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->streams_room = label ? 2 * (size_t)processes : 0;
  r->streams = calloc(r->streams_room + 1, sizeof *r->streams);
  if (!r->streams) {
    free(r);
    return NULL;
  }
  struct stat out = {0}, err = {0};
  bool known = fstat(1, &out) == 0 && fstat(2, &err) == 0;
  bool same = known && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
  r->sinks[0] = (sink){.fd = 1, .regular = S_ISREG(out.st_mode)};
  r->sinks[1] = (sink){.fd = 2, .regular = S_ISREG(err.st_mode)};
  r->out = &r->sinks[0];
  r->err = same ? r->out : &r->sinks[1];
  return r;
}

void run_relay_free(run_relay *r) {
  if (!r) return;
  for (size_t i = 0; i < r->streams_n; i++) {
    if (r->streams[i].fd >= 0) close(r->streams[i].fd);
    free(r->streams[i].line.data);
  }
  for (int i = 0; i < 2; i++) free(r->sinks[i].queue.data);
  free(r->streams);
  free(r);
}

void run_relay_add(run_relay *r, int rank, int out, int err) {
  r->streams[r->streams_n++] = (stream){.fd = out, .rank = rank, .to = r->out};
  r->streams[r->streams_n++] = (stream){.fd = err, .rank = rank, .to = r->err};
}

static void break_sink(sink *s, int error) {
  s->broken = true;
  s->error = error;
}

static void put(sink *s, const char *data, size_t n) {
  if (!s->broken && !append(&s->queue, data, n)) break_sink(s, ENOMEM);
}

void run_relay_say(run_relay *r, const char *line) {
  put(r->err, line, strlen(line));
  put(r->err, "\n", 1);
}

/* Appends the unfinished line and a newline to the sink. */
static void finish_line(stream *s) {
  char prefix[32];
  int n = snprintf(prefix, sizeof prefix, "[%d] ", s->rank);
  put(s->to, prefix, (size_t)n);
  put(s->to, s->line.data + s->line.head, s->line.n);
  put(s->to, "\n", 1);
  s->line.head = s->line.n = 0;
}

static void take(stream *s, const char *data, size_t n) {
  while (n) {
    const char *newline = memchr(data, '\n', n);
    size_t part = newline ? (size_t)(newline - data) : n;
    if (part > LINE_MAX_BYTES - s->line.n) {
      part = LINE_MAX_BYTES - s->line.n;
      newline = NULL;
    }
    if (!append(&s->line, data, part)) break_sink(s->to, ENOMEM);
    data += part;
    n -= part;
    if (newline) data++, n--;
    if (newline || s->line.n == LINE_MAX_BYTES) finish_line(s);
  }
}

static void end_stream(stream *s) {
  if (s->line.n) finish_line(s);
  close(s->fd);
  s->fd = -1;
}

static void read_stream(stream *s) {
  static char data[READ_BYTES];
  ssize_t n = read(s->fd, data, sizeof data);
  if (n > 0)
    take(s, data, (size_t)n);
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    end_stream(s);
}

static bool can_write(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  return poll(&p, 1, 0) == 1;
}

static void write_sink(sink *s) {
  bytes *q = &s->queue;
  while (q->n && !s->broken && (s->regular || can_write(s->fd))) {
    size_t most = s->regular || q->n < PIPE_BYTES ? q->n : PIPE_BYTES;
    ssize_t n = write(s->fd, q->data + q->head, most);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) break_sink(s, errno); /* the reader has closed the pipe: the ranks get SIGPIPE too */
    if (n > 0) q->head += (size_t)n, q->n -= (size_t)n;
  }
  if (q->n == 0 || s->broken) q->head = q->n = 0;
}

size_t run_relay_most(const run_relay *r) {
  return r->streams_room + 2;
}

size_t run_relay_fill(run_relay *r, struct pollfd *fds) {
  size_t n = 0;
  for (int i = 0; i < 2; i++)
    if (r->sinks[i].queue.n) fds[n++] = (struct pollfd){.fd = r->sinks[i].fd, .events = POLLOUT};
  for (size_t i = 0; i < r->streams_n; i++) {
    stream *s = &r->streams[i];
    if (s->fd >= 0 && s->to->queue.n < QUEUE_BYTES)
      fds[n++] = (struct pollfd){.fd = s->fd, .events = POLLIN};
  }
  return n;
}

void run_relay_serve(run_relay *r, const struct pollfd *fds, size_t n) {
  size_t at = 0;
  for (size_t k = 0; k < n; k++) {
    if (!fds[k].revents || !(fds[k].events & POLLIN)) continue;
    while (at < r->streams_n && r->streams[at].fd != fds[k].fd) at++;
    if (at < r->streams_n) read_stream(&r->streams[at]);
  }
  for (int i = 0; i < 2; i++) write_sink(&r->sinks[i]);
  for (size_t i = 0; i < r->streams_n; i++)
    if (r->streams[i].fd >= 0 && r->streams[i].to->broken) end_stream(&r->streams[i]);
}

int run_relay_error(const run_relay *r) {
  return r->sinks[0].error ? r->sinks[0].error : r->sinks[1].error;
}

bool run_relay_flushed(const run_relay *r) {
  return r->sinks[0].queue.n == 0 && r->sinks[1].queue.n == 0;
}

bool run_relay_idle(const run_relay *r) {
  for (size_t i = 0; i < r->streams_n; i++)
    if (r->streams[i].fd >= 0) return false;
  return run_relay_flushed(r);
}
