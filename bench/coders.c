/* coders.c - rates (GB/s) and compression ratios of tutti's codes on one core, compared with zstd -1 and LZ4 on
 * the same data, if their libraries are installed; `make bench-coding`.
 *
 *   coders [--json] [--bf16] [FILE ...]     FILE: floats of this machine, such as gradients (bench/gradients.py)
 *
 * Without a FILE, the data are normally distributed floats, once as they are and once with every second float
 * set to 0. Rates count the bytes of the numbers, not of the compressed data. The time of decompression is the
 * time of compression and decompression minus that of compression alone. --bf16 uses the upper halves of the
 * floats, losslessly.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <tutti.h>
#include <tutti_plan.h>

#include "timing.h"

enum { NUMBERS = 1 << 19, MESSAGE = 1 << 18, REPEATS = 11, SPARE = 1 << 16 };

typedef struct vector {
  const char *name;
  char *bytes;
  size_t n; /* bytes */
  tutti_type type;
} vector;

/* A compression method. `pack` compresses `n` bytes and returns the compressed size, or 0 if it failed. */
typedef struct coder {
  const char *name, *code; /* code: the name of the compression in tutti */
  size_t (*pack)(const void *from, size_t n, void *to, size_t most);
  size_t (*unpack)(const void *from, size_t n, void *to, size_t most);
} coder;

/* ---- zstd and LZ4 ---- */

static size_t (*zstd_pack)(void *, size_t, const void *, size_t, int);
static size_t (*zstd_unpack)(void *, size_t, const void *, size_t);
static int (*lz4_pack)(const char *, char *, int, int);
static int (*lz4_unpack)(const char *, char *, int, int);

static size_t by_zstd(const void *from, size_t n, void *to, size_t most) {
  return zstd_pack(to, most, from, n, 1);
}
static size_t from_zstd(const void *from, size_t n, void *to, size_t most) {
  return zstd_unpack(to, most, from, n);
}
static size_t by_lz4(const void *from, size_t n, void *to, size_t most) {
  return (size_t)lz4_pack(from, to, (int)n, (int)most);
}
static size_t from_lz4(const void *from, size_t n, void *to, size_t most) {
  return (size_t)lz4_unpack(from, to, (int)n, (int)most);
}

/* Looks up two functions in a library. Returns false if the library is not installed. */
static bool find(const char *library, const char *one, void *pack, const char *other,
                 void *unpack) {
  void *l = dlopen(library, RTLD_NOW);
  void *const found[] = {l ? dlsym(l, one) : NULL, l ? dlsym(l, other) : NULL};
  memcpy(pack, &found[0], sizeof found[0]);
  memcpy(unpack, &found[1], sizeof found[1]);
  if (!found[0] || !found[1]) printf("# %s is not installed\n", library);
  return found[0] && found[1];
}

/* ---- one coder, one vector ---- */

static char packed[4 * NUMBERS + SPARE], got[4 * NUMBERS + SPARE];

static size_t size_of(size_t n, size_t at) {
  return n - at < MESSAGE ? n - at : MESSAGE;
}

/* Returns the CPU time of this thread in seconds. Other programs affect it only through the caches. */
static double of_core(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the time in seconds to compress all messages of a vector or, if `unpacks`, to compress and decompress them. Sets
 * *left to the compressed size. */
static double run(const coder *c, const vector *v, bool unpacks, size_t *left) {
  const double begin = of_core();
  *left = 0;
  for (size_t at = 0, n; at < v->n; at += n) {
    size_t bytes = 0;
    n = size_of(v->n, at);
    if (!c->code) {
      bytes = c->pack(v->bytes + at, n, packed, sizeof packed);
      if (unpacks && c->unpack(packed, bytes, got + at, n) != n) exit(1);
    } else if (tutti_code_local(c->code, v->bytes + at, unpacks ? got + at : NULL,
                                n / tutti_type_size(v->type), v->type, &bytes)) {
      fprintf(stderr, "coders: %s\n", tutti_error());
      exit(1);
    }
    *left += bytes;
  }
  return of_core() - begin;
}

static void measure(const coder *c, const vector *v, bool json) {
  double one[REPEATS], both[REPEATS];
  size_t left = 0;
  for (int i = -1; i < REPEATS; i++) { /* the first repeat is not counted */
    const double coding = run(c, v, false, &left), all = run(c, v, true, &left);
    if (i >= 0) one[i] = coding, both[i] = all;
  }
  const bool lossless = !c->code || strcmp(c->code, "lossless") == 0;
  if (lossless && memcmp(got, v->bytes, v->n) != 0) {
    fprintf(stderr, "coders: %s: other bytes after decoding\n", c->name);
    exit(1);
  }
  const double coding = timing_median(one, REPEATS), all = timing_median(both, REPEATS);
  const double gb = 1e-9 * (double)v->n, decoding = all > coding ? all - coding : 1e-12;
  printf(json ? "{\"numbers\": \"%s\", \"type\": \"%s\", \"coder\": \"%s\", \"left\": %.4f, "
                "\"code_GBs\": %.4g, "
                "\"decode_GBs\": %.4g, \"both_GBs\": %.4g}\n"
              : "%-24s %-6s %-10s %6.3f %8.2f %8.2f %8.2f\n",
         v->name, tutti_type_name(v->type), c->name, (double)left / (double)v->n, gb / coding,
         gb / decoding, gb / all);
  fflush(stdout);
}

/* ---- numbers ---- */

static bool read_file(const char *path, vector *v) {
  FILE *f = fopen(path, "rb");
  const char *slash = strrchr(path, '/');
  v->name = slash ? slash + 1 : path;
  v->n = f ? fread(v->bytes, 4, NUMBERS, f) * 4 : 0;
  if (f) fclose(f);
  if (!v->n) fprintf(stderr, "coders: %s has no numbers\n", path);
  return v->n > 0;
}

static void fill_normal(vector *v, bool sparse) {
  float *x = (void *)v->bytes;
  v->name = sparse ? "normal, half of them 0" : "normal";
  v->n = 4 * NUMBERS;
  srand48(1);
  for (size_t i = 0; i < NUMBERS; i++) {
    const double r = sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48());
    x[i] = sparse && i % 2 ? 0 : (float)(1e-3 * r);
  }
}

static void halve(vector *v) {
  for (size_t i = 0; i < v->n / 4; i++) memcpy(v->bytes + 2 * i, v->bytes + 4 * i + 2, 2);
  v->n /= 2;
  v->type = TUTTI_BFLOAT16;
}

int main(int argc, char **argv) {
  static _Alignas(64) char room[4 * NUMBERS];
  bool json = false, bf16 = false;
  int first = 1;
  for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
    if (strcmp(argv[first], "--json") == 0) json = true;
    if (strcmp(argv[first], "--bf16") == 0) bf16 = true;
  }
  coder all[6] = {{"int8", "error=1", NULL, NULL},
                  {"fp8_e4m3", "error=1,code=fp8_e4m3", NULL, NULL},
                  {"fp8_e5m2", "error=1,code=fp8_e5m2", NULL, NULL},
                  {"lossless", "lossless", NULL, NULL}};
  int coders = 4;
  if (find("libzstd.so.1", "ZSTD_compress", &zstd_pack, "ZSTD_decompress", &zstd_unpack))
    all[coders++] = (coder){"zstd -1", NULL, by_zstd, from_zstd};
  if (find("liblz4.so.1", "LZ4_compress_default", &lz4_pack, "LZ4_decompress_safe", &lz4_unpack))
    all[coders++] = (coder){"LZ4", NULL, by_lz4, from_lz4};
  if (!json)
    printf("%-24s %-6s %-10s %6s %8s %8s %8s\n", "GB/s on one core", "type", "coder", "left",
           "code", "decode", "both");
  for (int i = first; i < (argc > first ? argc : first + 2); i++) {
    vector v = {.bytes = room, .type = TUTTI_FLOAT};
    if (argc == first)
      fill_normal(&v, i > first);
    else if (!read_file(argv[i], &v))
      return 1;
    if (bf16) halve(&v);
    for (int c = 0; c < coders; c++)
      if (!bf16 || !all[c].code || strcmp(all[c].code, "lossless") == 0) measure(&all[c], &v, json);
  }
  return 0;
}
