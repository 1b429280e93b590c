/* trace_file.c - writes tapes to a file that chrome://tracing and Perfetto open.
 *
 * Idea       There is one file for all ranks, with one event per line. A rank locks the file, overwrites the closing
 *            bracket with its events, and appends the bracket again. The file is therefore complete after every rank,
 *            even if another one dies, and ranks wait for each other only at the lock.
 * Invariant  A file that is not a trace is never modified. A trace of an earlier job is replaced by the first rank of
 *            the next job. If a rank was killed while writing, the next rank removes the incomplete part. Each process
 *            logs at most one warning.
 * Source     Trace Event Format, Google (JSON array format).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "schedule.h"
#include "trace.h"

#define HEAD \
  "[\n{\"name\":\"tutti_trace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"version\":1,"
#define HEAD_REST "\"job\":\"%016" PRIx64 "\",\"claimed\":%" PRIu64 ",\"origin\":%" PRIu64 "}}"
/* each n: model: publish:find */

/* each warned: order: a flag, said once */

static const char TAIL[] = "\n]\n";
enum { TAIL_BYTES = 3, LOCK_S = 30, ENOUGH = 64 << 10 /* bytes, enough for a write */ };

static void warn(const char *path, const char *why) {
  if (!atomic_exchange(&tt_process.trace.warned, 1))
    tt_log(0, "TUTTI_TRACE: %.300s %s; the trace is not written", path, why);
}

/* ---- opening ---- */

/* Opens and locks the file for reading and writing. On error, logs a warning and returns -1. */
static int open_trace_locked(const char *path, struct stat *s) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (fd < 0) {
    char why[120];
    snprintf(why, sizeof why, "cannot be opened (%s)", strerrordesc_np(errno));
    warn(path, why);
    return -1;
  }
  if (fstat(fd, s) || !S_ISREG(s->st_mode)) {
    warn(path, "is not a regular file");
    close(fd);
    return -1;
  }
  if (!tt_file_lock(fd, LOCK_S)) {
    warn(path, "is locked by another process");
    close(fd);
    return -1;
  }
  if (fstat(fd, s)) s->st_size = 0;
  return fd;
}

typedef struct head {
  uint64_t job, claimed, origin;
} head;

/* Reads the header of an existing file. Returns false if the file is not a trace. */
static bool read_trace_header(int fd, head *h) {
  char text[256];
  const ssize_t n = pread(fd, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  const size_t fixed = strlen(HEAD);
  return n > (ssize_t)fixed && memcmp(text, HEAD, fixed) == 0 &&
         sscanf(text + fixed, "\"job\":\"%" SCNx64 "\",\"claimed\":%" SCNu64 ",\"origin\":%" SCNu64,
                &h->job, &h->claimed, &h->origin) == 3;
}

bool tt_trace_claim(const char *path, uint64_t job, uint64_t origin) {
  struct stat s;
  head h;
  const int fd = open_trace_locked(path, &s);
  if (fd < 0) return false;
  bool good = true;
  const bool trace = read_trace_header(fd, &h);
  if (s.st_size && !trace) {
    warn(path, "exists and is not a trace of tutti's");
    good = false;
  } else if (!trace || (h.job != job && h.claimed < tt_process.loaded_us)) {
    char text[400];
    const int n = snprintf(text, sizeof text, HEAD HEAD_REST "%s", job, tt_clock_us(CLOCK_REALTIME),
                           origin, TAIL);
    good = ftruncate(fd, 0) == 0 && tt_file_write(fd, text, (size_t)n, 0);
    if (!good) warn(path, "cannot be written");
  }
  close(fd);
  return good;
}

/* ---- writing ---- */

typedef struct writer {
  int fd;
  off_t at;
  tt_text text; /* text not yet written to the file */
  const tt_trace *trace;
  double scale;       /* ns per tick */
  int64_t tick0, ns0; /* to convert ticks to ns since the file's origin */
} writer;

static void flush_writer(writer *w) {
  if (!tt_file_write(w->fd, w->text.at, w->text.length, w->at)) w->text.failed = true;
  w->at += (off_t)w->text.length;
  w->text.length = 0;
}

/* Copies a string. Replaces characters that would need escapes in JSON. */
static const char *copy_json_safe(char *to, size_t size, const char *from) {
  size_t n = 0;
  for (; *from && n + 1 < size; from++) {
    const unsigned char c = (unsigned char)*from;
    to[n++] = c < 32 || c > 126 || c == '"' || c == '\\' ? '?' : (char)c;
  }
  to[n] = 0;
  return to;
}

static uint32_t tape_length(const tt_tape *tape) {
  return atomic_load_explicit(&tape->n, memory_order_acquire);
}

static int steps_lane(const tt_trace *t) {
  return 2 * t->id.lane;
}

/* Writes the beginning of a metadata event for a lane. The caller writes the arguments. */
static void say_meta(writer *w, const char *name, int tid) {
  tt_text_add(&w->text, ",\n{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{", name,
              w->trace->id.job_rank, tid);
}

static void say_lane(writer *w, int tid, const char *of, const tt_tape *tape) {
  const tt_trace *t = w->trace;
  char host[64] = "", safe[64], name[TT_WORDS];
  gethostname(host, sizeof host - 1);
  say_meta(w, "process_name", tid);
  tt_text_add(&w->text, "\"name\":\"rank %d\"}}", t->id.job_rank);
  say_meta(w, "process_sort_index", tid);
  tt_text_add(&w->text, "\"sort_index\":%d}}", t->id.job_rank);
  say_meta(w, "thread_name", tid);
  tt_text_add(&w->text, "\"name\":\"rank %d%s", t->id.job_rank, of);
  if (!t->id.whole || *t->id.name)
    tt_text_add(&w->text, ", as rank %d of %d", t->id.rank, t->id.ranks);
  if (*t->id.name) tt_text_add(&w->text, " of %s", copy_json_safe(name, sizeof name, t->id.name));
  tt_text_add(&w->text, "\"}}");
  say_meta(w, "tutti_lane", tid);
  tt_text_add(
      &w->text,
      "\"comm\":"
      "\"%016" PRIx64 "\",\"rank\":%d,\"ranks\":%d,\"events\":%u,\"dropped\":%" PRIu64
      ",\"offset_ns\":%" PRId64 ",\"error_ns\":%" PRId64 ",\"process\":%d,\"host\":\"%s\"}}",
      t->id.comm, t->id.rank, t->id.ranks, tape_length(tape), tape->dropped, t->clock.offset,
      t->clock.error, (int)getpid(), copy_json_safe(safe, sizeof safe, host));
}

typedef struct look { /* how a kind of event is shown */
  const char *name, *category, *color;
} look;
static const look looks[TT_EVENT_KINDS] = {
    [TT_EVENT_CALL] = {"", "call", "thread_state_runnable"},
    [TT_EVENT_START] = {"start ", "start", "thread_state_runnable"},
    [TT_EVENT_WAITS] = {"request_wait", "request_wait", "thread_state_sleeping"},
    [TT_EVENT_TEST] = {"request_test", "request_test", "thread_state_sleeping"},
    [TT_EVENT_P2P] = {"message", "message", "thread_state_runnable"},
    [TT_EVENT_FLIGHT] = {"", "flight", "grey"},
    [TT_EVENT_MARK] = {"", "mark", "rail_idle"},
    [TT_EVENT_IDLE] = {"wait for", "wait", "terrible"},
    [TT_EVENT_REDUCE] = {"reduce from", "reduce", "good"},
    [TT_EVENT_COPY] = {"copy", "copy", "thread_state_iowait"},
    [TT_EVENT_SEND] = {"send to", "send", "rail_load"},
    [TT_EVENT_RECEIVE] = {"receive from", "receive", "rail_response"},
    [TT_EVENT_KERNEL] = {"", "kernel", "good"},
    [TT_EVENT_FROM_DEVICE] = {"", "from_device", "thread_state_iowait"},
    [TT_EVENT_TO_DEVICE] = {"", "to_device", "thread_state_iowait"},
};

static void print_timestamp(writer *w, uint64_t tick) {
  const int64_t ns = w->ns0 + (int64_t)(w->scale * (double)((int64_t)tick - w->tick0));
  tt_text_add(&w->text, "%s%" PRId64 ".%03d", ns < 0 ? "-" : "", (ns < 0 ? -ns : ns) / 1000,
              (int)((ns < 0 ? -ns : ns) % 1000));
}

static void say_call(writer *w, const tt_traced_call *c) {
  char tag[TT_WORDS];
  if (!c->key || !c->plan) {
    tt_text_add(&w->text, ",\"plan\":\"?\"");
    return;
  }
  tt_text_add(&w->text,
              ",\"coll\":\"%s\",\"plan\":\"%s\",\"count\":%" PRIu64
              ",\"type\":\"%s\",\"op\":\"%s\","
              "\"bytes\":%" PRIu64 ",\"slices\":%u",
              tutti_coll_name((tutti_coll)c->coll), c->plan, c->count,
              tutti_type_name((tutti_type)c->type),
              tt_coll_reduces((tutti_coll)c->coll) ? tutti_op_name((tutti_op)c->op) : "", c->bytes,
              c->slices);
  if (*c->tag) tt_text_add(&w->text, ",\"tag\":\"%s\"", copy_json_safe(tag, sizeof tag, c->tag));
}

static void say_name(writer *w, const tt_event *e) {
  const tt_traced_call *c = &w->trace->calls[e->what];
  char name[TT_WORDS];
  const look *l = &looks[e->kind];
  if (e->kind == TT_EVENT_MARK)
    tt_text_add(&w->text, ",\n{\"name\":\"%s\"",
                copy_json_safe(name, sizeof name, w->trace->names[e->what]));
  else if (e->kind == TT_EVENT_CALL || e->kind == TT_EVENT_START || e->kind == TT_EVENT_FLIGHT)
    tt_text_add(&w->text, ",\n{\"name\":\"%s%s %" PRIu64 " B%s%s\"", l->name,
                c->key ? tutti_coll_name((tutti_coll)c->coll) : "collective", c->bytes,
                *c->tag ? ", " : "", copy_json_safe(name, sizeof name, c->tag));
  else if (e->peer >= 0)
    tt_text_add(&w->text, ",\n{\"name\":\"%s %d\"", l->name, e->peer);
  else
    tt_text_add(&w->text, ",\n{\"name\":\"%s\"", l->category);
  tt_text_add(&w->text, ",\"cat\":\"%s\"", l->category);
}

/* Writes one line of an event. `phase` is 'X', or 'b' and 'e' for operations in flight, which overlap and have two lines. */
static void say_line(writer *w, const tt_event *e, int tid, char phase) {
  const uint64_t ns = (uint64_t)(w->scale * (double)(e->end - e->begin));
  const int pid = w->trace->id.job_rank;
  say_name(w, e);
  tt_text_add(&w->text, ",\"ph\":\"%c\"", phase);
  if (phase != 'X')
    tt_text_add(&w->text, ",\"id\":\"%d.%d.%" PRIu64 "\"", pid, w->trace->id.lane, e->seq);
  tt_text_add(&w->text, ",\"ts\":");
  print_timestamp(w, phase == 'e' ? e->end : e->begin);
  if (phase == 'X') tt_text_add(&w->text, ",\"dur\":%" PRIu64 ".%03d", ns / 1000, (int)(ns % 1000));
  tt_text_add(&w->text, ",\"pid\":%d,\"tid\":%d", pid, tid);
  if (phase == 'X') tt_text_add(&w->text, ",\"cname\":\"%s\"", looks[e->kind].color);
  tt_text_add(&w->text, ",\"args\":{\"seq\":%" PRIu64, e->seq);
  if (phase == 'b' || e->kind == TT_EVENT_CALL || e->kind == TT_EVENT_START)
    say_call(w, &w->trace->calls[e->what]);
  else if (e->kind == TT_EVENT_IDLE)
    tt_text_add(&w->text, ",\"peer\":%d", e->peer);
  else if (e->kind > TT_EVENT_IDLE)
    tt_text_add(&w->text, ",\"step\":%u,\"peer\":%d,\"bytes\":%" PRIu64, e->step, e->peer,
                e->bytes);
  tt_text_add(&w->text, "}}");
}

static void say_event(writer *w, const tt_event *e, int tid) {
  const bool flies = e->kind == TT_EVENT_FLIGHT;
  say_line(w, e, tid, flies ? 'b' : 'X');
  if (flies) say_line(w, e, tid, 'e');
}

/* Finds the end of the last complete event, which is before the closing bracket or before a killed rank's partial text. */
static off_t find_events_end(int fd, off_t size) {
  char text[8 << 10];
  const off_t from = size > (off_t)sizeof text ? size - (off_t)sizeof text : 0;
  ssize_t n = pread(fd, text, sizeof text, from);
  if (n >= TAIL_BYTES && memcmp(text + n - TAIL_BYTES, TAIL, TAIL_BYTES) == 0)
    return from + n - TAIL_BYTES;
  for (; n > 1; n--)
    if (text[n - 1] == '\n' && (text[n - 2] == ',' || text[n - 2] == '}'))
      return from + n - (text[n - 2] == ',' ? 2 : 1);
  return -1;
}

/* Computes the conversion from ticks to the file's time. Both times are known for the tape's creation and for now. */
static void set_clock(writer *w, uint64_t origin) {
  const tt_trace *t = w->trace;
  const uint64_t tick1 = tt_trace_now(t), ns1 = tt_trace_ns();
  const double ticks = (double)(tick1 - t->clock.tick0);
  w->scale = t->counter && ticks > 0 ? (double)(ns1 - t->clock.ns0) / ticks : 1;
  w->tick0 = (int64_t)t->clock.tick0;
  w->ns0 = (int64_t)(t->clock.ns0 + (uint64_t)t->clock.offset - origin);
}

static void say_tape(writer *w, const tt_tape *tape, int tid, const char *of) {
  const uint32_t n = tape_length(tape);
  if (!n) return;
  say_lane(w, tid, of, tape);
  for (uint32_t i = 0; i < n; i++) {
    say_event(w, &tape->events[i], tid);
    if (w->text.length >= ENOUGH) flush_writer(w);
  }
}

void tt_trace_write(const char *path, const tt_trace *trace) {
  struct stat s;
  head h;
  if (!tape_length(&trace->steps) && !tape_length(&trace->marks)) return;
  writer w = {.trace = trace, .fd = open_trace_locked(path, &s)};
  if (w.fd < 0) return;
  const off_t end = read_trace_header(w.fd, &h) ? find_events_end(w.fd, s.st_size) : -1;
  if (end < 0) {
    warn(path, "is not a trace any more");
    close(w.fd);
    return;
  }
  w.at = end;
  set_clock(&w, h.origin);
  say_tape(&w, &trace->steps, steps_lane(trace), "");
  w.scale = 1; /* marks use the clock directly */
  w.tick0 = (int64_t)trace->clock.ns0;
  say_tape(&w, &trace->marks, steps_lane(trace) - 1, ": program");
  tt_text_add(&w.text, "%s", TAIL);
  flush_writer(&w);
  bool good = !w.text.failed && ftruncate(w.fd, w.at) == 0;
  if (!good) { /* restore the file */
    good = ftruncate(w.fd, end) == 0 && tt_file_write(w.fd, TAIL, TAIL_BYTES, end);
    warn(path, good ? "cannot be written" : "cannot be written, and is not whole");
  }
  free(w.text.at);
  close(w.fd);
}
