/* fashion_data.c - reads pictures and labels from gzip IDX files, and sends them to every rank.
 *
 * Idea      One rank reads and unpacks the files, and tutti_broadcast sends them to the others.
 *           Files are thus read once, and missing or damaged files are detected in one place.
 *           tutti_comm_abort then notifies the other ranks.
 * Format    IDX: big-endian words (magic, count, and for pictures rows and
 *           columns), then one byte per pixel or label.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fashion.h"

const char *const class_name[CLASSES] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                         "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                         "Bag",         "Ankle boot"};
const char *const class_short[CLASSES] = {"T-sh", "Trou", "Pull", "Dres", "Coat",
                                          "Sand", "Shir", "Snea", "Bag",  "Boot"};

enum { MAGIC_LABELS = 0x801, MAGIC_PICTURES = 0x803, MOST = 10000000 };

/* The error message, or an empty string. */
static char problem[700];

static bool wrong(const char *path, const char *what) {
  snprintf(problem, sizeof problem, "%s: %s", path, what);
  return false;
}

/* Reads exactly `bytes` bytes from the file. On failure, sets the error message and returns false. */
static bool read_bytes(gzFile file, const char *path, void *to, int64_t bytes) {
  int64_t done = 0;
  while (done < bytes) {
    int64_t left = bytes - done;
    int got = gzread(file, (char *)to + done, (unsigned)(left < 1 << 20 ? left : 1 << 20));
    if (got <= 0) break;
    done += got;
  }
  if (done == bytes) return true;
  char what[200];
  int code = Z_OK;
  const char *why = gzerror(file, &code);
  if (code == Z_OK || code == Z_BUF_ERROR)
    snprintf(what, sizeof what, "the file ends %lld bytes too early; is it complete?",
             (long long)(bytes - done));
  else
    snprintf(what, sizeof what, "the file cannot be read (%.100s)",
             strncmp(why, path, strlen(path)) == 0 ? why + strlen(path) + 2 : why);
  return wrong(path, what);
}

static uint32_t big_endian(const uint8_t *b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Reads the header of a file: a magic number, the number of items and, for pictures, their height and width (28 and 28). */
static bool read_header(gzFile file, const char *path, uint32_t magic, int64_t *count) {
  uint8_t head[16];
  char what[200];
  if (!read_bytes(file, path, head, magic == MAGIC_PICTURES ? 16 : 8)) return false;
  if (big_endian(head) != magic) {
    snprintf(what, sizeof what, "this is not an IDX file of %s (it begins with 0x%08x, not 0x%08x)",
             magic == MAGIC_PICTURES ? "pictures" : "labels", big_endian(head), magic);
    return wrong(path, what);
  }
  *count = big_endian(head + 4);
  if (*count < 1 || *count > MOST) return wrong(path, "its header promises an absurd count");
  if (magic == MAGIC_PICTURES && (big_endian(head + 8) != SIDE || big_endian(head + 12) != SIDE))
    return wrong(path, "the pictures are not 28 x 28");
  return true;
}

/* Reads a file with *count items of `item` bytes each into newly allocated memory. */
static bool read_idx(const char *folder, const char *name, uint32_t magic, size_t item,
                     int64_t *count, uint8_t **bytes) {
  char path[400];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (length >= (int)sizeof path) return wrong(name, "the path of its folder is too long");
  errno = 0;
  gzFile file = gzopen(path, "rb");
  if (!file) {
    char what[200];
    snprintf(what, sizeof what,
             "%s; install the Debian package dataset-fashion-mnist, or say --data FOLDER",
             errno ? strerror(errno) : "out of memory");
    return wrong(path, what);
  }
  bool good = read_header(file, path, magic, count);
  if (good) {
    *bytes = room((size_t)*count, item);
    good = read_bytes(file, path, *bytes, *count * (int64_t)item);
    uint8_t more;
    if (good && gzread(file, &more, 1) == 1) good = wrong(path, "holds more than its header says");
  }
  gzclose(file);
  return good;
}

static bool read_set(const char *folder, const char *prefix, pictures *p) {
  char images[64], labels[64];
  int64_t label_count = 0;
  snprintf(images, sizeof images, "%s-images-idx3-ubyte.gz", prefix);
  snprintf(labels, sizeof labels, "%s-labels-idx1-ubyte.gz", prefix);
  if (!read_idx(folder, images, MAGIC_PICTURES, PIXELS, &p->count, &p->pixels)) return false;
  if (!read_idx(folder, labels, MAGIC_LABELS, 1, &label_count, &p->labels)) return false;
  if (label_count != p->count) return wrong(labels, "there are not as many labels as pictures");
  for (int64_t i = 0; i < p->count; i++)
    if (p->labels[i] >= CLASSES) return wrong(labels, "a label is not in 0..9");
  return true;
}

/* Sends the set from rank 0 to all. */
static void share_set(tutti_comm *comm, pictures *p) {
  must(tutti_broadcast(comm, &p->count, &p->count, 1, TUTTI_INT64, 0), "sharing the count");
  size_t count = (size_t)p->count;
  if (!p->pixels) p->pixels = room(count, PIXELS);
  if (!p->labels) p->labels = room(count, 1);
  must(tutti_broadcast(comm, p->pixels, p->pixels, count * PIXELS, TUTTI_UINT8, 0),
       "sharing the pictures");
  must(tutti_broadcast(comm, p->labels, p->labels, count, TUTTI_UINT8, 0), "sharing the labels");
}

void data_read(const char *folder, pictures *train, pictures *test) {
  memset(train, 0, sizeof *train);
  memset(test, 0, sizeof *test);
  if (read_set(folder, "train", train) && read_set(folder, "t10k", test)) return;
  fprintf(stderr, "fashion: %s\n", problem);
  exit(1);
}

void data_load(tutti_comm *comm, const char *folder, pictures *train, pictures *test) {
  memset(train, 0, sizeof *train);
  memset(test, 0, sizeof *test);
  if (tutti_comm_rank(comm) == 0 &&
      !(read_set(folder, "train", train) && read_set(folder, "t10k", test))) {
    fprintf(stderr, "fashion: %s\n", problem);
    tutti_comm_abort(comm, "rank 0 could not read the data");
    exit(1);
  }
  share_set(comm, train);
  share_set(comm, test);
}

void data_free(pictures *p) {
  free(p->pixels);
  free(p->labels);
  memset(p, 0, sizeof *p);
}
