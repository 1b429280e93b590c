/* fuzz_rows.c - fuzzes the data that other ranks contribute to the rounds of the bootstrap: rows
 * and answers in a store, rows of a gather, cards, addresses, and descriptions of ranks and
 * networks.
 *
 * Idea       The input controls the store, the gather and the meeting. Each returns the rows that
 *            the ranks of this program would contribute, including this rank's own row, with some
 *            bytes changed, or replaced by bytes of the input. The row that this rank contributes
 *            shows what a row contains.
 * Invariant  Nothing outside of a row is read. If a communicator cannot be created, there is an
 *            error with a message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "build_comm.h"
#include "create.h"
#include "fuzz.h"
#include "posted_net.h"
#include "stub_net.h"

enum { RANKS = 3, MOST = 1 << 16 };

static const uint8_t *at, *end;
static int me;

static unsigned byte(void) {
  return at < end ? *at++ : 0;
}

/* Changes some of these bytes. */
static void spoil(char *bytes, size_t n) {
  for (unsigned k = byte() % 8; n && k > 0; k--) {
    const size_t where = (byte() | byte() << 8u) % n;
    const unsigned how = byte();
    if (how == 0) /* a string without a terminator, a number with all bits set */
      memset(bytes + where, 0xff, tt_min(n - where, (size_t)byte()));
    else
      bytes[where] = (char)how;
  }
}

static size_t other_size(size_t n) {
  static const size_t sizes[] = {0, 1, 3, 4, 7, 8, 15, 16, 47, 48, 100, 4000};
  return byte() % 8 ? n : sizes[byte() % (sizeof sizes / sizeof *sizes)];
}

/* ---- a store ---- */

/* The layout of a row, as in store.c. */
typedef struct store_row {
  uint64_t number;
  int32_t status;
  uint32_t bytes;
} store_row;

typedef struct store_answer {
  int32_t outcome;
  uint32_t bytes;
  char text[304];
  uint64_t numbers[RANKS];
} store_answer;

static uint64_t my_number;

static int store_put(void *ctx, const char *key, const void *bytes, size_t n) {
  (void)ctx;
  need(key && (bytes || !n));
  if (strstr(key, "rank") && n >= sizeof my_number) memcpy(&my_number, bytes, sizeof my_number);
  return byte() % 16 == 1;
}

static size_t put_table(char *to, const char *row, size_t n) {
  uint32_t offset = (uint32_t)tt_row_bytes((RANKS + 1) * sizeof offset);
  for (int r = 0; r <= RANKS; r++) {
    memcpy(to + r * (int)sizeof offset, &offset, sizeof offset);
    if (r == RANKS) break;
    memcpy(to + offset, row, n);
    offset += (uint32_t)tt_row_bytes(n);
  }
  return offset;
}

static int store_get(void *ctx, const char *key, void *to, size_t size, size_t *n, double seconds) {
  static char value[MOST];
  store_row row = {.number = 7, .bytes = byte()};
  store_answer a = {.bytes = 0};
  (void)ctx, (void)seconds;
  memset(value, 'w', 1000);
  if (byte() % 16 == 1) return 1;
  if (strstr(key, "table")) {
    *n = put_table(value, "0123456789abcdefghijklmnopqrstuvwxyz", byte() % 32);
  } else if (strstr(key, "all")) {
    a.bytes = size > sizeof a ? 0 : (uint32_t)(16 + 3 * 16);
    a.numbers[me] = my_number;
    if (byte() % 4 == 1) a.outcome = (int)byte() - 20;
    if (byte() % 4 == 1) memset(a.text, 'w', sizeof a.text);
    memcpy(value, &a, *n = sizeof a);
  } else if (strstr(key, "rank")) {
    if (byte() % 4 == 1) row.status = (int)byte() - 20;
    memcpy(value, &row, sizeof row);
    *n = sizeof row + row.bytes;
  } else {
    memset(value, 1, *n = sizeof(uint64_t));
  }
  spoil(value, *n);
  *n = other_size(*n);
  memcpy(to, value, tt_min(*n, size)); /* reports the true length even if the value is too long */
  return 0;
}

/* Runs some rounds, and reads all bytes of their tables. */
static void meet(tt_meeting *m) {
  static char mine[40] = "what this rank brings";
  tutti_status status = TUTTI_OK;
  for (int round = 0; !status && round < 3; round++) {
    tt_table all;
    size_t n, sum = 0;
    const tutti_status failed =
        byte() % 8 == 1 ? tt_fail(TUTTI_ERR_SYSTEM, "this rank cannot") : TUTTI_OK;
    status = m->gather(m, failed, mine, sizeof mine, &all);
    need(!status || *tutti_error());
    need(status <= TUTTI_OK && status >= TUTTI_ERR_INTERRUPTED);
    for (int r = 0; !status && r < RANKS; r++) {
      const char *row = tt_table_row(&all, r, &n);
      for (size_t b = 0; b < n; b++) sum += (unsigned char)row[b];
    }
    need(sum < SIZE_MAX);
    tt_table_drop(&all);
  }
  m->end(m);
}

static void over_store(void) {
  const tutti_store store = {.size = sizeof store, .put = store_put, .get = store_get};
  tt_meeting m;
  my_number = 0;
  need(!tt_meet_store(&store, me, RANKS, 0, &m));
  meet(&m);
}

/* ---- a gather ---- */

static int gather_rows(void *ctx, const void *mine, size_t bytes, void *all) {
  (void)ctx;
  for (int r = 0; r < RANKS; r++) {
    char *row = (char *)all + (size_t)r * bytes;
    memcpy(row, mine, bytes);
    if (r != me && bytes) spoil(row, bytes);
  }
  return byte() % 16 == 1;
}

static void over_gather(void) {
  tt_meeting m;
  need(!tt_meet_gather(gather_rows, NULL, me, RANKS, TUTTI_ERR_SYSTEM, "the gather fails", &m));
  meet(&m);
}

/* ---- communicators ---- */

/* The row that rank 0 contributes to the first round of a network. It also contains the settings, so it is longer
 * than the rows of the other ranks. */
static char first_row[MOST];
static size_t first_bytes, member_bytes;
static int rounds; /* rounds so far; < 0 if they are not those of a network */

/* Restores the model parameters in the row of rank 0. Ranks trust these parameters, because they only change
 * estimates. The counts and names in the row are not trusted. */
static void believe_figures(char *row) {
  tt_profile is, was;
  memcpy(&was, first_row + member_bytes, sizeof was);
  memcpy(&is, row + member_bytes, sizeof is);
  was.levels = is.levels;
  was.hosts = is.hosts;
  memcpy(was.of, is.of, sizeof was.of);
  memcpy(was.over, is.over, sizeof was.over);
  for (int i = 0; i < TT_NAMED_LEVELS; i++)
    memcpy(was.level[i].name, is.level[i].name, sizeof was.level[i].name);
  for (int i = 0; i < TT_NAMED_HOSTS; i++) {
    memcpy(was.host[i].name, is.host[i].name, sizeof was.host[i].name);
    was.host[i].first = is.host[i].first;
    was.host[i].last = is.host[i].last;
  }
  memcpy(row + member_bytes, &was, sizeof was);
}

/* Runs a round of the rendezvous. All ranks contribute the row of this rank, with some bytes changed. */
static tutti_status gather_cards(tt_meeting *m, tutti_status failed, const void *mine, size_t bytes,
                                 tt_table *all) {
  static char sent[RANKS][sizeof(tt_row) + MOST];
  tt_row *row[RANKS];
  *all = (tt_table){.fd = -1};
  if (failed) return failed;
  need(bytes < MOST);
  for (int r = 0; r < m->ranks; r++) {
    row[r] = (tt_row *)(void *)sent[r];
    row[r]->bytes = (uint32_t)bytes;
    if (bytes) memcpy(row[r]->text, mine, bytes);
    if (r == 0 && rounds == 0) {
      if (me == 0) memcpy(first_row, mine, first_bytes = bytes);
      memcpy(row[0]->text, first_row, row[0]->bytes = (uint32_t)first_bytes);
    } else if (rounds == 0 && me == 0) {
      row[r]->bytes = (uint32_t)member_bytes;
    }
    if (r == me) continue;
    spoil(row[r]->text, row[r]->bytes);
    if (r == 0 && rounds == 0) believe_figures(row[0]->text);
    row[r]->bytes = (uint32_t)other_size(row[r]->bytes);
  }
  if (rounds == 0 && me) member_bytes = bytes;
  rounds += rounds >= 0;
  return tt_table_make(m->ranks, (const tt_row *const *)row, all);
}

static void end_cards(tt_meeting *m) {
  m->self = NULL;
}

static void create(void) {
  const tutti_config config = {.size = sizeof config, .net = "none"};
  tt_meeting m = {.rank = me,
                  .ranks = RANKS,
                  .limit = 1,
                  .light = true,
                  .wide = true,
                  .gather = gather_cards,
                  .end = end_cards};
  tutti_comm *comm = NULL;
  rounds = -1;
  need(tt_create(&m, &config, &comm) && *tutti_error() && !comm);
}

static int send_nothing(void *self, int slot, int peer, int tag, const void *bytes, size_t n,
                        int sure) {
  (void)self, (void)sure;
  post(slot, true, tag, (void *)(uintptr_t)bytes, n);
  complete(slot, peer, n, 0);
  return 0;
}

/* Makes calls fail after 100 polls. The settings of rank 0 may start calls that no other rank joins here. */
static int polls;
static int poll_a_while(void *self, int slots, tutti_net_done *out, int most, int *n) {
  return posted_net_poll(self, slots, out, most, n) || ++polls > 100;
}

static void from_net(void) {
  const tutti_net net = {.size = sizeof net,
                         .name = "made up",
                         .id = 1,
                         .rank = me,
                         .ranks = RANKS,
                         .site = {.node = me},
                         .send = send_nothing,
                         .recv = posted_net_recv,
                         .poll = poll_a_while,
                         .cancel = posted_net_cancel,
                         .close = stub_net_close,
                         .error = stub_net_error};
  tt_meeting m = {.rank = me, .ranks = RANKS, .limit = 1, .light = true, .gather = gather_cards};
  tutti_comm *comm = NULL;
  posted_net_begin();
  polls = 0;
  rounds = 0;
  const tutti_status status = tt_comm_from_net(&net, &m, &comm);
  need(!status == (comm != NULL) && (!status || *tutti_error()));
  tt_comm_destroy(comm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const kinds[])(void) = {over_store, over_gather, create, from_net};
  at = data;
  end = data + size;
  setenv("TUTTI_PROFILE", "none", 1);
  if (!first_bytes)
    for (me = 1; me >= 0; me--) from_net(); /* determines the lengths of rows */
  me = (int)byte() % RANKS;
  kinds[byte() % 4]();
  return 0;
}
