/* cusim_calls.c - begins and ends all calls of the simulated driver: injected errors, the state of
 * the process, and the lock.
 *
 * Idea       Each call is counted and compared with the settings before it does anything. A test
 *            can thus make each individual call fail (CUDA_SIM_FAIL=1, 2, ...).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cusim.h"

struct cusim cusim = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local bool cusim_in_host_fn;

/* If a function were missing in the driver, it would be missing here, and the library could not be linked. */
static const struct entry {
  const char *name, *symbol;
  void (*function)(void);
} ENTRIES[CALLS] = {
#define CUDA_CALL(name, symbol, parameters) {#name, #symbol, (void (*)(void))symbol},
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
};

/* Calls that clean up are not counted, because every error path of a program makes them. */
static const char CLEANUP[CALLS] = {
    [CALL_cuGetErrorName] = 1,  [CALL_cuGetErrorString] = 1, [CALL_cuDevicePrimaryCtxRelease] = 1,
    [CALL_cuMemFree] = 1,       [CALL_cuMemFreeHost] = 1,    [CALL_cuMemHostUnregister] = 1,
    [CALL_cuStreamDestroy] = 1, [CALL_cuEventDestroy] = 1,   [CALL_cuIpcCloseMemHandle] = 1,
    [CALL_cuModuleUnload] = 1,  [CALL_cuCtxPopCurrent] = 1,
};

static struct injection {
  long at;  /* 0 for none */
  int call; /* only calls of this function; -1 for all functions */
  CUresult error;
} fail, fail_name, fail_op;
static long counted, of_name, operations;
static bool without[CALLS];
static int late = -1; /* this function is delayed by 50 ms, so that others overtake it */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double number_of(const char *name, double otherwise) {
  const char *text = getenv(name);
  return text && *text ? atof(text) : otherwise;
}

static int call_of(const char *name, size_t length) {
  for (int c = 0; c < CALLS; c++)
    if (strlen(ENTRIES[c].name) == length && memcmp(ENTRIES[c].name, name, length) == 0) return c;
  return -1;
}

/* Parses N[:E]. */
static struct injection injection_of(const char *text, int call) {
  struct injection i = {.call = call};
  if (!text) return i;
  char *end;
  i.at = strtol(text, &end, 10);
  if (*end == ':') i.error = atoi(end + 1);
  return i;
}

static void read_settings(void) {
  cusim.devices = (int)number_of("CUDA_SIM_DEVICES", 1);
  if (cusim.devices > MOST_DEVICES) cusim.devices = MOST_DEVICES;
  cusim.memory = (size_t)number_of("CUDA_SIM_MEMORY", 1u << 30);
  cusim.delay = number_of("CUDA_SIM_DELAY", 20) * 1e-6;
  cusim.seed = (unsigned long long)number_of("CUDA_SIM_SEED", 1);
  cusim.steps = (int64_t)number_of("CUDA_SIM_STEPS", 2e9);
  cusim.strict = number_of("CUDA_SIM_STRICT", 1) != 0;
  cusim.ipc = number_of("CUDA_SIM_IPC", 1) != 0;
  cusim.stuck = number_of("CUDA_SIM_STUCK", 10);
  fail = injection_of(getenv("CUDA_SIM_FAIL"), -1);
  fail_op = injection_of(getenv("CUDA_SIM_FAIL_OP"), -1);
  const char *text = getenv("CUDA_SIM_FAIL_NAME"), *colon = text ? strchr(text, ':') : NULL;
  if (colon) fail_name = injection_of(colon + 1, call_of(text, (size_t)(colon - text)));
  if (text && (!colon || fail_name.call < 0))
    cusim_say("CUDA_SIM_FAIL_NAME=%s: expected FUNCTION:NUMBER", text);
  if ((text = getenv("CUDA_SIM_LATE")) && (late = call_of(text, strlen(text))) < 0)
    cusim_say("CUDA_SIM_LATE=%s: no function has this name", text);
  for (text = getenv("CUDA_SIM_WITHOUT"); text && *text;) {
    const size_t length = strcspn(text, ",");
    const int call = call_of(text, length);
    if (call < 0) cusim_say("CUDA_SIM_WITHOUT=%s: no function has this name", text);
    if (call >= 0) without[call] = true;
    text += length + (text[length] == ',');
  }
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&cusim.moved, &attributes);
  pthread_condattr_destroy(&attributes);
  for (int s = 0; s < MOST_STREAMS; s++) {
    cusim.stream[s].slot = s;
    cusim.stream[s].random = cusim.seed * 1000003 + (unsigned long long)s;
    pthread_cond_init(&cusim.stream[s].wake, NULL);
  }
  for (int d = 0; d < MOST_DEVICES; d++)
    cusim.device[d] = (cusim_device){.ordinal = d, .legacy = -1};
}

__attribute__((destructor)) static void tell_count(void) {
  const char *path = getenv("CUDA_SIM_COUNT");
  char line[64];
  if (!path || (cusim.process && cusim.process != getpid())) return;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const int length = snprintf(line, sizeof line, "%ld %ld\n", counted, operations);
  if (fd < 0 || write(fd, line, (size_t)length) != length) cusim_say("cannot write %s", path);
  if (fd >= 0) close(fd);
}

const char *cusim_name(int call) {
  return ENTRIES[call].name;
}

/* Returns the error that a function reports if the settings make it fail. */
static CUresult error_of(int call, CUresult wanted) {
  if (wanted) return wanted;
  switch (call) {
    case CALL_cuInit: return CUDA_ERROR_NO_DEVICE;
    case CALL_cuStreamQuery:
    case CALL_cuEventQuery:
    case CALL_cuStreamSynchronize:
    case CALL_cuEventSynchronize:
    case CALL_cuCtxSynchronize: return CUDA_ERROR_LAUNCH_FAILED;
    case CALL_cuPointerGetAttribute: return CUDA_ERROR_INVALID_VALUE;
    case CALL_cuCtxSetCurrent:
    case CALL_cuCtxPushCurrent: return CUDA_ERROR_INVALID_CONTEXT;
    case CALL_cuModuleGetFunction: return CUDA_ERROR_NOT_FOUND;
    case CALL_cuIpcOpenMemHandle: return CUDA_ERROR_MAP_FAILED;
    default: return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

/* Counts the call. Returns the error that the settings require. */
static CUresult injected(int call) {
  if (without[call]) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult why = CUDA_SUCCESS;
  pthread_mutex_lock(&cusim.lock);
  if (!CLEANUP[call] && ++counted == fail.at) why = error_of(call, fail.error);
  if (call == fail_name.call && fail_name.at && ++of_name == fail_name.at)
    why = error_of(call, fail_name.error);
  pthread_mutex_unlock(&cusim.lock);
  if (why) cusim_say("%s fails with %d, as the settings want it", cusim_name(call), why);
  return why;
}

CUresult cusim_op_error(void) {
  if (++operations != fail_op.at) return CUDA_SUCCESS;
  return fail_op.error ? fail_op.error : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult cusim_begin_bare(int call) {
  pthread_once(&once, read_settings);
  if (cusim.process && cusim.process != getpid()) return CUDA_ERROR_NOT_INITIALIZED; /* forked */
  if (cusim_in_host_fn) {
    cusim_say("%s is called by a host function, which may not", cusim_name(call));
    return CUDA_ERROR_NOT_PERMITTED;
  }
  const CUresult why = injected(call);
  if (why) return why;
  if (call == late) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  pthread_mutex_lock(&cusim.lock);
  while (cusim.alone) pthread_cond_wait(&cusim.moved, &cusim.lock);
  return CUDA_SUCCESS;
}

CUresult cusim_begin(int call, cusim_device **d) {
  CUresult why = cusim_begin_bare(call);
  if (why) return why;
  if (!cusim.started) return cusim_end(CUDA_ERROR_NOT_INITIALIZED);
  if (!d) return CUDA_SUCCESS;
  *d = cusim_current();
  if (!*d) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  return (*d)->error ? cusim_end((*d)->error) : CUDA_SUCCESS;
}

CUresult cusim_end(CUresult why) {
  pthread_mutex_unlock(&cusim.lock);
  return why;
}

static void say(const char *format, va_list list) {
  char line[600];
  int n = snprintf(line, sizeof line, "cuda_sim %d: ", (int)getpid());
  n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, list);
  if (n > (int)sizeof line - 2) n = sizeof line - 2;
  line[n] = '\n';
  if (write(STDERR_FILENO, line, (size_t)n + 1) < 0) return;
}

void cusim_say(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
}

CUresult cusim_die(cusim_device *d, CUresult error, const char *format, ...) {
  if (d->error) return d->error;
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
  d->error = error;
  pthread_cond_broadcast(&cusim.moved);
  return error;
}

CUresult cuInit(unsigned flags) {
  CUresult why = cusim_begin_bare(CALL_cuInit);
  if (why) return why;
  if (flags) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if (cusim.devices < 1) return cusim_end(CUDA_ERROR_NO_DEVICE);
  cusim.started = true;
  cusim.process = getpid();
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version) {
  CUresult why = cusim_begin_bare(CALL_cuDriverGetVersion);
  if (why) return why;
  if (!version) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  *version = 12040;
  return cusim_end(CUDA_SUCCESS);
}

static const struct error {
  CUresult number;
  const char *name, *text;
} ERRORS[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_MAP_FAILED, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {CUDA_ERROR_ALREADY_MAPPED, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {CUDA_ERROR_NOT_MAPPED, "CUDA_ERROR_NOT_MAPPED", "resource not mapped"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE", "operations in no order (simulated)"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "the launch timed out and was terminated"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const struct error *look_up(CUresult number) {
  for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
    if (ERRORS[i].number == number) return &ERRORS[i];
  return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  const struct error *e = look_up(error);
  *name = e ? e->name : NULL;
  return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  const struct error *e = look_up(error);
  *text = e ? e->text : NULL;
  return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
