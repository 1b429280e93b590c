/* trace_read.c - reads the traces that tutti writes.
 *
 * Idea       a strict reader of the JSON that tutti writes: an array of objects that contain
 *            strings, numbers and one object `args`, without escapes. Anything else is rejected,
 *            with its line and column. The reader is not recursive and stores no lines. The memory
 *            per event and the number of events are bounded. Lanes and kinds of calls are found
 *            through a hash table, because there may be many of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trace_data.h"

enum { CHAINS = 1 << 16 };
enum { FIELDS = 32, KEY = 24, TEXT = 128, MOST_EVENTS = 20000000, MOST_CALLS = 100000 };

const char *const trace_kind_names[TRACE_KINDS] = {
    "call",   "start", "request_wait", "request_test", "message", "flight",      "mark",     "wait",
    "reduce", "copy",  "send",         "receive",      "kernel",  "from_device", "to_device"};

typedef struct field {
  char key[KEY], text[TEXT];
  double number; /* NAN if the value is a string */
} field;

typedef struct reader {
  const char *path;
  FILE *file;
  trace_data *d;
  int next; /* next character, or EOF */
  long line, column;
  int status; /* nonzero after an error message */
  field fields[FIELDS];
  int nfields;
  size_t lane; /* lane of the event */
  bool open;   /* the last event has begun but not ended */
} reader;

static bool refuse(reader *r, const char *why) {
  if (!r->status && ferror(r->file))
    r->status = cli_fail(CLI_FAILED, "trace", "%s cannot be read: %s", r->path, strerror(errno));
  if (!r->status)
    r->status = cli_fail(1, "trace", "%s:%ld:%ld: %s", r->path, r->line, r->column,
                         r->next == EOF ? "the file ends here, before it is whole" : why);
  return false;
}

/* ---- characters and words ---- */

static void step(reader *r) {
  if (r->next == '\n') r->line++, r->column = 0;
  r->next = getc_unlocked(r->file);
  r->column++;
}

static void blanks(reader *r) {
  while (r->next == ' ' || r->next == '\n' || r->next == '\r' || r->next == '\t') step(r);
}

static bool take(reader *r, int c, const char *why) {
  blanks(r);
  if (r->next != c) return refuse(r, why);
  step(r);
  return true;
}

static bool string(reader *r, char *to, size_t size) {
  size_t n = 0;
  if (!take(r, '"', "a string in double quotes is missing")) return false;
  for (; r->next != '"'; step(r)) {
    if (r->next == '\\') return refuse(r, "tutti's traces have no escapes in their strings");
    if (r->next < 32) return refuse(r, "a string has no closing quote");
    if (n + 1 >= size) return refuse(r, "the string is longer than any of tutti's");
    to[n++] = (char)r->next;
  }
  to[n] = 0;
  step(r);
  return true;
}

static bool number(reader *r, double *value) {
  char text[40], *end;
  size_t n = 0;
  for (; r->next != EOF && strchr("+-.0123456789eE", r->next) && r->next; step(r)) {
    if (n + 1 >= sizeof text) return refuse(r, "the number is longer than any of tutti's");
    text[n++] = (char)r->next;
  }
  text[n] = 0;
  *value = strtod(text, &end);
  if (n == 0 || *end || !isfinite(*value)) return refuse(r, "a number or a string is missing");
  return true;
}

/* Reads the members of a JSON object. The members of its member `args` are read as if they belonged to the object. */
static bool object(reader *r) {
  int depth = 1;
  r->nfields = 0;
  if (!take(r, '{', "an event, {...}, is missing")) return false;
  for (;;) {
    if (r->nfields == FIELDS) return refuse(r, "the event has more members than any of tutti's");
    field *f = &r->fields[r->nfields];
    *f = (field){.number = NAN};
    if (!string(r, f->key, sizeof f->key) || !take(r, ':', "a ':' is missing")) return false;
    blanks(r);
    if (r->next == '{') {
      if (depth == 2 || strcmp(f->key, "args") != 0)
        return refuse(r, "only args is an object in an event of tutti's");
      depth = 2;
      step(r);
      continue;
    }
    if (r->next == '"' ? !string(r, f->text, sizeof f->text) : !number(r, &f->number)) return false;
    r->nfields++;
    for (blanks(r); r->next == '}' && depth; blanks(r)) depth--, step(r);
    if (!depth) return true;
    if (!take(r, ',', "a ',' or a '}' is missing")) return false;
  }
}

/* ---- members of an event ---- */

static const field *find(const reader *r, const char *key) {
  for (int i = 0; i < r->nfields; i++)
    if (strcmp(r->fields[i].key, key) == 0) return &r->fields[i];
  return NULL;
}

static const char *text(const reader *r, const char *key) {
  const field *f = find(r, key);
  return f && isnan(f->number) ? f->text : "";
}

/* Returns a member's number, which must be in [lo, hi], `otherwise` if it is missing, or NAN after an error message. */
static double value(reader *r, const char *key, double lo, double hi, double otherwise) {
  const field *f = find(r, key);
  char why[80];
  if (!f && !isnan(otherwise)) return otherwise;
  if (f && f->number >= lo && f->number <= hi) return f->number;
  snprintf(why, sizeof why, f ? "\"%s\" has an impossible value" : "\"%s\" is missing", key);
  refuse(r, why);
  return NAN;
}

static bool grow(reader *r, void **array, size_t n, size_t *capacity, size_t size, size_t most) {
  if (n < *capacity) return true;
  if (n >= most) return refuse(r, "there are more events than this command can hold");
  const size_t more = *capacity ? 2 * *capacity : 64;
  void *moved = realloc(*array, more * size);
  if (!moved) return refuse(r, "out of memory");
  *array = moved;
  *capacity = more;
  return true;
}

/* Returns the head of the hash chain for these bytes. */
static uint32_t *chain(trace_data *d, bool of_calls, const void *bytes, size_t n) {
  uint32_t hash = 2166136261u;
  for (const unsigned char *b = bytes; n--; b++) hash = (hash ^ *b) * 16777619u;
  return &d->chains[(hash ^ hash >> 16) % CHAINS + (of_calls ? CHAINS : 0)];
}

static uint32_t *chain_of_lane(trace_data *d, int pid, int tid) {
  const int both[2] = {pid, tid};
  return chain(d, false, both, sizeof both);
}

static const double MOST_INT = 9007199254740992.0;

static bool add_lane(reader *r) {
  trace_data *d = r->d;
  if (!grow(r, (void **)&d->lanes, d->nlanes, &d->lanes_room, sizeof *d->lanes, 1 << 20))
    return false;
  const double pid = value(r, "pid", 0, 1e9, NAN), tid = value(r, "tid", 0, 1e9, NAN);
  const double ranks = value(r, "ranks", 1, 1 << 24, NAN);
  const double rank = value(r, "rank", 0, ranks - 1, NAN);
  const double dropped = value(r, "dropped", 0, MOST_INT, 0);
  const double error = value(r, "error_ns", 0, MOST_INT, 0);
  if (r->status) return false;
  d->lanes[d->nlanes++] = (trace_lane){.pid = (int)pid,
                                       .tid = (int)tid,
                                       .rank = (int)rank,
                                       .ranks = (int)ranks,
                                       .comm = strtoull(text(r, "comm"), NULL, 16),
                                       .dropped = (uint64_t)dropped,
                                       .error_us = error / 1e3};
  uint32_t *first = chain_of_lane(d, (int)pid, (int)tid);
  d->lanes[d->nlanes - 1].next = *first;
  *first = (uint32_t)d->nlanes;
  return true;
}

static bool find_lane(reader *r) {
  const trace_data *d = r->d;
  const double pid = value(r, "pid", 0, 1e9, NAN), tid = value(r, "tid", 0, 1e9, NAN);
  if (r->status) return false;
  for (uint32_t i = *chain_of_lane(r->d, (int)pid, (int)tid); i; i = d->lanes[i - 1].next) {
    r->lane = i - 1;
    if (d->lanes[r->lane].pid == pid && d->lanes[r->lane].tid == tid) return true;
  }
  return refuse(r, "the event is of a lane that was not introduced");
}

static bool find_call(reader *r, uint32_t *what) {
  trace_data *d = r->d;
  trace_call c;
  memset(&c, 0, sizeof c);
  *what = 0;
  const bool mark = strcmp(text(r, "cat"), "mark") == 0;
  if (!mark && !*text(r, "coll")) return true;
  snprintf(c.coll, sizeof c.coll, "%.23s", text(r, "coll"));
  c.plan = kept_text(&d->names, text(r, mark ? "name" : "plan"));
  snprintf(c.type, sizeof c.type, "%.23s", text(r, "type"));
  snprintf(c.op, sizeof c.op, "%.15s", text(r, "op"));
  const double count = value(r, "count", 0, MOST_INT, 0), bytes = value(r, "bytes", 0, MOST_INT, 0);
  const double slices = value(r, "slices", 0, 1e9, 1);
  if (r->status) return false;
  c.count = (uint64_t)count, c.bytes = (uint64_t)bytes, c.slices = (uint32_t)slices;
  const size_t told = offsetof(trace_call, next);
  uint32_t *first = chain(d, true, &c, told);
  for (uint32_t i = *first; i; i = d->calls[i - 1].next)
    if (memcmp(&d->calls[i - 1], &c, told) == 0) {
      *what = i - 1;
      return true;
    }
  if (!grow(r, (void **)&d->calls, d->ncalls, &d->calls_room, sizeof c, MOST_CALLS)) return false;
  *what = (uint32_t)d->ncalls;
  c.next = *first;
  d->calls[d->ncalls++] = c;
  *first = (uint32_t)d->ncalls;
  return true;
}

/* Handles the event at the end of a message's flight. The preceding event must be the start of this flight. */
static bool end_flight(reader *r, double ts) {
  trace_data *d = r->d;
  trace_event *e = d->nevents ? &d->events[d->nevents - 1] : NULL;
  if (!e || !r->open || e->lane != (int32_t)r->lane) return refuse(r, "an end without a begin");
  e->end = (int64_t)llround(ts * 1e3);
  r->open = false;
  return e->end >= e->begin || refuse(r, "it ends before it begins");
}

static bool add_event(reader *r, const char *phase) {
  trace_data *d = r->d;
  trace_event e = {.end = 0};
  if (!find_lane(r)) return false;
  const double ts = value(r, "ts", -1e12, 1e14, NAN);
  if (r->status) return false;
  if (*phase == 'e') return end_flight(r, ts);
  const double dur = *phase == 'X' ? value(r, "dur", 0, 1e14, NAN) : 0;
  const double seq = value(r, "seq", 0, UINT32_MAX, 0), at = value(r, "step", 0, UINT32_MAX, 0);
  const double peer = value(r, "peer", -1, d->lanes[r->lane].ranks - 1, -1);
  const double bytes = value(r, "bytes", 0, MOST_INT, 0);
  while (e.kind < TRACE_KINDS && strcmp(trace_kind_names[e.kind], text(r, "cat")) != 0) e.kind++;
  if (e.kind == TRACE_KINDS || (e.kind == TRACE_FLIGHT) != (*phase == 'b'))
    return refuse(r, "the event is of no category of tutti's");
  if (r->status || !find_call(r, &e.what)) return false;
  e.begin = (int64_t)llround(ts * 1e3);
  if (*phase == 'X') e.end = e.begin + (int64_t)llround(dur * 1e3);
  e.seq = (uint32_t)seq, e.step = (uint32_t)at, e.peer = (int32_t)peer;
  e.bytes = (uint64_t)bytes, e.lane = (int32_t)r->lane;
  if (!grow(r, (void **)&d->events, d->nevents, &d->events_room, sizeof e, MOST_EVENTS))
    return false;
  d->events[d->nevents++] = e;
  r->open = *phase == 'b';
  return true;
}

static bool add(reader *r) {
  const char *phase = text(r, "ph"), *name = text(r, "name");
  if (r->open && strcmp(phase, "e") != 0) return refuse(r, "a begin without an end");
  if (strcmp(phase, "M") == 0) return strcmp(name, "tutti_lane") != 0 || add_lane(r);
  if (strlen(phase) != 1 || !strchr("Xbe", *phase))
    return refuse(r, "tutti's events have ph M, X, b or e");
  return add_event(r, phase);
}

static bool array(reader *r) {
  static const char no_trace[] = "this is not a trace of tutti's (TUTTI_TRACE=FILE writes one)";
  if (!take(r, '[', no_trace) || !object(r)) return false;
  if (strcmp(text(r, "name"), "tutti_trace") != 0) return refuse(r, no_trace);
  if (value(r, "version", 1, 1, NAN) != 1) return false;
  for (blanks(r); r->next == ','; blanks(r)) {
    step(r);
    if (!object(r) || !add(r)) return false;
  }
  if (!take(r, ']', "a ',' or a ']' is missing")) return false;
  if (r->open) return refuse(r, "a begin without an end");
  blanks(r);
  return r->next == EOF || refuse(r, "something follows the end");
}

int trace_read(const char *path, trace_data *d) {
  reader r = {.path = path, .d = d, .line = 1};
  if (!grow(&r, (void **)&d->calls, d->ncalls, &d->calls_room, sizeof *d->calls, MOST_CALLS))
    return r.status;
  if (!d->chains && !(d->chains = calloc(2 * CHAINS, sizeof *d->chains)))
    return cli_fail(CLI_FAILED, "trace", "out of memory");
  if (d->ncalls == 0) d->calls[d->ncalls++] = (trace_call){.plan = "?"};
  r.file = fopen(path, "re");
  if (!r.file) return cli_fail(CLI_FAILED, "trace", "%s: %s", path, strerror(errno));
  step(&r);
  array(&r);
  fclose(r.file);
  return r.status;
}

void trace_free(trace_data *d) {
  free(d->events);
  free(d->lanes);
  free(d->calls);
  kept_free(&d->names);
  free(d->chains);
}
