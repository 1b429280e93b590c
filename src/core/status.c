/* status.c - status codes, and the message of the last error of each thread.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "process.h"

static _Thread_local char sentence[1024];
static _Thread_local char text[1024];

tutti_status tt_fail(tutti_status status, const char *format, ...) {
  va_list args;
  char fresh[sizeof sentence]; /* separate, since the arguments may include the old message */
  va_start(args, format);
  vsnprintf(fresh, sizeof fresh, format, args);
  va_end(args);
  memcpy(sentence, fresh, sizeof sentence);
  const bool is_one = status <= TUTTI_OK && status >= TUTTI_ERR_INTERRUPTED;
  return is_one ? status : TUTTI_ERR_SYSTEM; /* an unknown status from another process */
}

tutti_status tt_ended(tutti_status status) {
  if (!status) sentence[0] = 0;
  return status;
}

tutti_status tt_size_check(const char *function, const char *what, size_t size, size_t want) {
  if (size == want) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG,
                 "%s: %s->size is %zu, not %zu; set it, and compile and link with the same version",
                 function, what, size, want);
}

char *tt_thread_text(size_t *size) {
  *size = sizeof text;
  return text;
}

const char *tutti_error(void) {
  return sentence[0] ? sentence : "no error";
}

const char *tutti_strerror(tutti_status status) {
  switch (status) {
    case TUTTI_OK: return "ok";
    case TUTTI_ERR_ARG: return "invalid argument";
    case TUTTI_ERR_TYPE: return "no such type";
    case TUTTI_ERR_OP: return "no such op for this type";
    case TUTTI_ERR_OVERLAP: return "buffers overlap";
    case TUTTI_ERR_MEMORY: return "out of memory";
    case TUTTI_ERR_MISMATCH: return "ranks made different calls";
    case TUTTI_ERR_PEER_LOST: return "a rank died";
    case TUTTI_ERR_TIMEOUT: return "timed out";
    case TUTTI_ERR_ABORTED: return "aborted";
    case TUTTI_ERR_STATE: return "not possible in this state";
    case TUTTI_ERR_SYSTEM: return "the operating system refused";
    case TUTTI_ERR_SCHEDULE: return "not a right schedule";
    case TUTTI_ERR_UNSUPPORTED: return "no plan can do this";
    case TUTTI_ERR_INTERRUPTED: return "interrupted";
  }
  return "unknown status";
}

#define TEXT2(x) #x
#define TEXT(x)  TEXT2(x)

const char *tutti_version(int *major, int *minor, int *patch) {
  if (major) *major = TUTTI_VERSION_MAJOR;
  if (minor) *minor = TUTTI_VERSION_MINOR;
  if (patch) *patch = TUTTI_VERSION_PATCH;
  return TEXT(TUTTI_VERSION_MAJOR) "." TEXT(TUTTI_VERSION_MINOR) "." TEXT(TUTTI_VERSION_PATCH);
}
