/* replay.c - runs a fuzz target on its corpus, without a fuzzer. build/fuzz/replay_NAME reads every
 * file of build/fuzz/corpus/NAME, which make unpacks from fuzz/corpus/NAME.tar, or the files given
 * as arguments.
 *
 * Idea       every build, including those with sanitizers, tests past findings and the code paths
 *            that the seeds cover. One input may take a second of CPU time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <time.h>

#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const double most_seconds = 10;
#else
static const double most_seconds = 1;
#endif

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the fuzz target on a file. Returns the processor time in seconds, or a negative number if it cannot be read. */
static double play(const char *path) {
  FILE *f = fopen(path, "re");
  uint8_t *bytes = NULL;
  size_t n = 0, room = 4096;
  do {
    uint8_t *more = realloc(bytes, room *= 2);
    need(more);
    bytes = more;
    n += f ? fread(bytes + n, 1, room - n, f) : 0;
  } while (n == room);
  const double from = processor_seconds();
  if (f && !ferror(f)) LLVMFuzzerTestOneInput(bytes, n);
  const double took = f && !ferror(f) ? processor_seconds() - from : -1;
  if (f) fclose(f);
  free(bytes);
  return took;
}

static int not_hidden(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

/* Runs all files of the folder. Returns their number. */
static int play_all(const char *folder, double *longest, char *slowest, size_t size) {
  struct dirent **list = NULL;
  const int n = scandir(folder, &list, not_hidden, alphasort);
  for (int i = 0; i < n; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
    printf("# %s\n", path); /* if the process ends here, the last file is the cause */
    fflush(stdout);
    const double took = play(path);
    need(took >= 0);
    if (took > *longest) {
      *longest = took;
      snprintf(slowest, size, "%s", list[i]->d_name);
    }
    free(list[i]);
  }
  free(list);
  return n;
}

int main(int argc, char **argv) {
  const char *name = strrchr(argv[0], '/');
  char folder[300], slowest[256] = "";
  double longest = 0;
  for (int i = 1; i < argc; i++) {
    const double took = play(argv[i]);
    printf("%s: %.3f s\n", argv[i], took);
    if (took < 0) return 1;
  }
  if (argc > 1) return 0;
  const int at = name ? (int)(name - argv[0]) : 0; /* length of the folder's name */
  name = name ? name + 1 : argv[0];
  name = strncmp(name, "replay_", 7) == 0 ? name + 7 : name;
  snprintf(folder, sizeof folder, "%.*s/corpus/%s", at ? at : 1, at ? argv[0] : ".", name);
  const int n = play_all(folder, &longest, slowest, sizeof slowest);
  printf("%s - %s: %d inputs without a finding\n", n > 0 ? "ok" : "not ok", name, n);
  printf("%s - %s: no input takes longer than %.0f s (%s: %.3f s)\n",
         longest <= most_seconds ? "ok" : "not ok", name, most_seconds, slowest, longest);
  return n <= 0 || longest > most_seconds;
}
