/* test_mpi_abi.c - checks all values of mpi/abi/mpi.h against the rules of the standard.
 *
 * Idea       Each kind of handle has its own range, no two predefined handles are equal, and a type of fixed size has its
 *            size in bits 3 to 5 of its handle, as a power of two. A mistake in a single value is therefore detected.
 * Source     MPI 5.0, chapter "Application Binary Interface (ABI)": its types, and the encoding of handles.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>
#include <mpi.h>

/* ---- sizes and numbers, at compile time ---- */

#define IS(condition) _Static_assert(condition, #condition)
IS(sizeof(MPI_Aint) == sizeof(void *));
IS(sizeof(MPI_Offset) == 8 && sizeof(MPI_Count) == 8);
IS(sizeof(MPI_Status) == 8 * sizeof(int));
IS(offsetof(MPI_Status, MPI_SOURCE) == 0);
IS(offsetof(MPI_Status, MPI_TAG) == sizeof(int));
IS(offsetof(MPI_Status, MPI_ERROR) == 2 * sizeof(int));
#define HANDLE(type) IS(sizeof(type) == sizeof(void *))
HANDLE(MPI_Comm);
HANDLE(MPI_Datatype);
HANDLE(MPI_Errhandler);
HANDLE(MPI_Group);
HANDLE(MPI_Info);
HANDLE(MPI_Op);
HANDLE(MPI_Request);
HANDLE(MPI_Win);
/* Special values for a rank or number are negative, and wildcards differ from them. */
IS(MPI_ANY_SOURCE < 0 && MPI_ANY_TAG < 0 && MPI_PROC_NULL < 0 && MPI_ROOT < 0 && MPI_UNDEFINED < 0);
IS(MPI_ANY_SOURCE != MPI_PROC_NULL && MPI_PROC_NULL != MPI_ROOT && MPI_ANY_SOURCE != MPI_ROOT);
IS(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
   MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
IS(MPI_SUCCESS == 0 && MPI_ERR_NO_MEM < MPI_ERR_LASTCODE);

/* ---- handles: read from the header itself, so that every one is checked ---- */

typedef struct handle {
  char name[64], kind[64];
  unsigned long value;
} handle;

enum { MOST = 256 };
static handle handles[MOST];
static int n;

static int read_handles(void **state) {
  char line[256];
  FILE *f = fopen("mpi/abi/mpi.h", "r");
  (void)state;
  if (!f) return 1;
  while (n < MOST && fgets(line, sizeof line, f)) {
    handle *h = &handles[n];
    if (sscanf(line, "#define %63s ((%63[^)])0x%lx)", h->name, h->kind, &h->value) == 3) n++;
  }
  fclose(f);
  return n == MOST;
}

static void handles_differ(void **state) {
  (void)state;
  assert_true(n > 90);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (handles[i].value == handles[j].value)
        fail_msg("%s and %s are both 0x%lx", handles[i].name, handles[j].name, handles[i].value);
}

static void kinds_have_ranges(void **state) {
  static const struct {
    const char *kind;
    unsigned long first, end;
  } ranges[] = {{"MPI_Op", 0x20, 0x40},        {"MPI_Comm", 0x100, 0x108},
                {"MPI_Group", 0x108, 0x110},   {"MPI_Win", 0x110, 0x118},
                {"MPI_Info", 0x130, 0x138},    {"MPI_Errhandler", 0x140, 0x148},
                {"MPI_Request", 0x180, 0x188}, {"MPI_Datatype", 0x200, 0x400}};
  enum { RANGES = sizeof ranges / sizeof *ranges };
  (void)state;
  for (int i = 0; i < n; i++) {
    int r = 0;
    while (r < RANGES && strcmp(ranges[r].kind, handles[i].kind) != 0) r++;
    if (r == RANGES || handles[i].value < ranges[r].first || handles[i].value >= ranges[r].end)
      fail_msg("%s is no %s: 0x%lx", handles[i].name, handles[i].kind, handles[i].value);
    const size_t length = strlen(handles[i].name);
    const int null = length > 5 && strcmp(handles[i].name + length - 5, "_NULL") == 0;
    if (null != (handles[i].value == ranges[r].first))
      fail_msg("%s is 0x%lx, and the null of its kind is 0x%lx", handles[i].name, handles[i].value,
               ranges[r].first);
  }
}

/* Names contain bits (MPI_INT8_T) or bytes (MPI_REAL8); a type without either has one byte. */
static unsigned long bytes_of(const char *name) {
  const char *digits = strpbrk(name, "0123456789");
  if (!digits) return 1;
  return strtoul(digits, NULL, 10) / (strstr(name, "INT") && strstr(name, "_T") ? 8 : 1);
}

static void sizes_are_in_handles(void **state) {
  int found = 0;
  (void)state;
  for (int i = 0; i < n; i++) {
    const unsigned long v = handles[i].value;
    if ((v & ~0x3ful) != 0x240 && (v & ~0x3ful) != 0x2c0) continue;
    found++;
    if (1ul << (v >> 3 & 7) != bytes_of(handles[i].name))
      fail_msg("%s is 0x%lx, which says %lu bytes", handles[i].name, v, 1ul << (v >> 3 & 7));
  }
  assert_true(found > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handles_differ),
      cmocka_unit_test(kinds_have_ranges),
      cmocka_unit_test(sizes_are_in_handles),
  };
  return cmocka_run_group_tests(tests, read_handles, NULL);
}
