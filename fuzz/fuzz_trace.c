/* fuzz_trace.c - reads untrusted traces with the reader of `tutti trace`.
 *
 * Invariant  a trace is rejected with line and column, or the whole report is printed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"
#include "fuzz.h"
#include "trace_data.h"

static char said[400];

/* Replaces the function of cli.c, which would print. */
int cli_fail(int status, const char *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  return command ? status : CLI_FAILED;
}

/* Discards output. Returns the descriptor to restore. */
static int hush(void) {
  fflush(stdout);
  const int kept = dup(1), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  need(kept >= 0 && nowhere >= 0 && dup2(nowhere, 1) == 1);
  close(nowhere);
  return kept;
}

static void speak(int kept) {
  fflush(stdout);
  need(dup2(kept, 1) == 1);
  close(kept);
}

static void show(const trace_data *d) {
  trace_sums s;
  need(trace_sum(d, &s));
  const int kept = hush();
  trace_show(d, &s, true);
  trace_show(d, &s, false);
  trace_show_json(d, &s);
  need(trace_draw(d, &s, 0, 0) == 0);
  need(trace_draw(d, &s, 1, 1000) == 0);
  speak(kept);
  trace_sums_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[40];
  const int fd = memfd_create("trace", MFD_CLOEXEC);
  need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  trace_data d = {.events = NULL};
  if (trace_read(path, &d) == 0)
    show(&d);
  else
    need(strncmp(said, path, strlen(path)) == 0 && said[strlen(path)] == ':');
  trace_free(&d);
  close(fd);
  return 0;
}
