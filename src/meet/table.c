/* table.c - tables of rows in sealed memory (table.h).
 *
 * Cost       4 bytes for each rank, and its row, rounded up to a multiple of 8 bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const int SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

static tutti_status no_memory(size_t bytes) {
  return tt_fail(TUTTI_ERR_MEMORY, "no memory for a table of %zu bytes of all ranks: %s", bytes,
                 strerror(errno));
}

static tutti_status map_for(int protection, tt_table *t) {
  void *at = mmap(NULL, t->bytes, protection, MAP_SHARED, t->fd, 0);
  if (at == MAP_FAILED) return no_memory(t->bytes);
  t->base = at;
  return TUTTI_OK;
}

tutti_status tt_table_new(size_t bytes, tt_table *t) {
  *t = (tt_table){.bytes = bytes,
                  .fd = memfd_create("tutti-table", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  tutti_status status = t->fd < 0 || ftruncate(t->fd, (off_t)bytes) ? no_memory(bytes) : TUTTI_OK;
  if (!status) status = map_for(PROT_READ | PROT_WRITE, t);
  if (status) tt_table_drop(t);
  return status;
}

/* Unmaps the table before sealing it, because a memfd with a writable mapping cannot be sealed against writing. */
tutti_status tt_table_seal(tt_table *t) {
  munmap(t->base, t->bytes);
  t->base = NULL;
  tutti_status status = fcntl(t->fd, F_ADD_SEALS, SEALS) ? no_memory(t->bytes) : TUTTI_OK;
  if (!status) status = map_for(PROT_READ, t);
  if (status) tt_table_drop(t);
  return status;
}

tutti_status tt_table_map(int fd, size_t bytes, tt_table *t) {
  struct stat st;
  *t = (tt_table){.bytes = bytes, .fd = fd};
  const int seals = fcntl(fd, F_GET_SEALS);
  tutti_status status = TUTTI_OK;
  if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || (size_t)st.st_size != bytes)
    status = tt_fail(TUTTI_ERR_SYSTEM,
                     "the agent of this host handed out a table that is not sealed: is it another "
                     "version of tutti?");
  if (!status) status = map_for(PROT_READ, t);
  close(fd);
  t->fd = -1;
  return status;
}

bool tt_table_valid(const tt_table *t, int ranks) {
  const uint32_t *at = (const uint32_t *)(const void *)t->base;
  const size_t head = tt_row_bytes(((size_t)ranks + 1) * sizeof *at);
  if (t->bytes < head || at[0] != head || at[ranks] != t->bytes) return false;
  for (int r = 0; r < ranks; r++)
    if (at[r] > at[r + 1] || at[r] % 8) return false;
  return true;
}

tt_row *tt_row_new(tutti_status failed, const void *mine, size_t bytes, size_t *n) {
  const char *why = failed ? tutti_error() : "";
  const size_t has = failed ? tt_min(strlen(why), TT_ROW_WHY - 1) : bytes;
  tt_row *row = calloc(1, *n = sizeof *row + tt_row_bytes(has + (failed != 0)));
  if (!row) return NULL;
  *row = (tt_row){failed, (uint32_t)(has + (failed != 0))};
  if (has) memcpy(row->text, failed ? why : mine, has);
  return row;
}

tutti_status tt_row_failure(int rank, const tt_row *row) {
  return row->of ? tt_fail((tutti_status)row->of, "rank %d: %.*s", rank,
                           (int)tt_min(row->bytes, TT_ROW_WHY), row->text)
                 : TUTTI_OK;
}

tutti_status tt_table_make(int ranks, const tt_row *const *rows, tt_table *t) {
  const size_t head = tt_row_bytes(((size_t)ranks + 1) * sizeof(uint32_t));
  size_t all = head;
  for (int r = 0; r < ranks; r++) all += tt_row_bytes(rows[r]->bytes);
  if (all > UINT32_MAX) {
    errno = EFBIG;
    return no_memory(all);
  }
  const tutti_status status = tt_table_new(all, t);
  if (status) return status;
  uint32_t *at = (uint32_t *)(void *)t->base, next = (uint32_t)head;
  for (int r = 0; r < ranks; r++) {
    at[r] = next;
    if (rows[r]->bytes) memcpy(t->base + next, rows[r]->text, rows[r]->bytes);
    next += (uint32_t)tt_row_bytes(rows[r]->bytes);
  }
  at[ranks] = next;
  return tt_table_seal(t);
}

void tt_table_drop(tt_table *t) {
  if (t->base) munmap(t->base, t->bytes);
  if (t->fd >= 0) close(t->fd);
  *t = (tt_table){.fd = -1};
}
