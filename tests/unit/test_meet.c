/* test_meet.c - how ranks connect at startup: the rendezvous and its agents. Ranks are threads. Uninvited
 * peers: test_meet_key.c; without a rendezvous: test_meet_store.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "meet_peers_play.h"

enum { MOST = 16 };

/* ---- ids ---- */

static void ids_are_read(void **state) {
  static const struct {
    const char *text, *first, *last;
    int hosts, port;
  } good[] = {
      {"h1:80:0123456789abcdef0123456789abcdef", "h1", "h1", 1, 80},
      {"10.0.0.1,b.c:65535:0123456789abcdef0123456789abcdef", "10.0.0.1", "b.c", 2, 65535},
      {"[fe80::1],10.0.0.1:1:0123456789abcdef0123456789abcdef", "fe80::1", "10.0.0.1", 2, 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    tt_rendezvous r;
    tutti_id id;
    assert_int_equal(tt_rendezvous_read(good[i].text, &r), TUTTI_OK);
    assert_int_equal(r.hosts, good[i].hosts);
    assert_int_equal(r.port, good[i].port);
    assert_string_equal(r.host[0], good[i].first);
    assert_string_equal(r.host[r.hosts - 1], good[i].last);
    tt_rendezvous_write(&r, &id);
    assert_string_equal(id.text, good[i].text);
  }
}

static void bad_ids_are_refused(void **state) {
  static const struct {
    const char *text, *words;
  } bad[] = {
      {"", "lacks"},
      {"h1", "lacks"},
      {"h1:80", "lacks"},
      {":80:0123456789abcdef0123456789abcdef", "lacks"},
      {"h1:0:0123456789abcdef0123456789abcdef", "port"},
      {"h1:65536:0123456789abcdef0123456789abcdef", "port"},
      {"h1:8x:0123456789abcdef0123456789abcdef", "port"},
      {"h1:80:0123", "key"},
      {"h1:80:0123456789abcdef0123456789abcdef0", "key"},
      {"a-name-that-has-one-more-letter-than-the-sixty-three-of-a-labels:80:"
       "0123456789abcdef0123456789abcdef",
       "without a name"},
      {"h1,:80:0123456789abcdef0123456789abcdef", "without a name"},
      {",h1:80:0123456789abcdef0123456789abcdef", "without a name"},
      {"[::1:80:0123456789abcdef0123456789abcdef", "without a name"},
      {"a,b,c,d,e,f,g,h,i:80:0123456789abcdef0123456789abcdef", "more than 8"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tt_rendezvous r;
    if (tt_rendezvous_read(bad[i].text, &r) != TUTTI_ERR_ARG ||
        !strstr(tutti_error(), bad[i].words))
      fail_msg("'%s': %s", bad[i].text, tutti_error());
  }
}

/* ---- startup ---- */

/* One host, hosts of several ranks, and hosts of one, which gives agents below agents. */
static void all_meet(void **state) {
  (void)state;
  for (int per_host = 1; per_host <= MOST; per_host = 3 * per_host + 1)
    for (int ranks = 1; ranks <= MOST; ranks += 1 + (ranks >= 4)) {
      peer g[MOST] = {{.rank = 0}};
      const tt_rendezvous at = meeting_serve();
      for (int r = 0; r < ranks; r++)
        g[r] = (peer){.at = at, .rank = r, .ranks = ranks, .host = (uint64_t)(r / per_host)};
      for (int r = ranks - 1; r >= 0; r--) meeting_begin(&g[r]);
      for (int r = 0; r < ranks; r++) meeting_finish(&g[r]);
      for (int r = 0; r < ranks; r++) meeting_expect(&g[r], TUTTI_OK, "");
    }
}

/* One rank reports an error in one of the rounds. All ranks get its status and its reason. */
static void one_cannot(void **state) {
  (void)state;
  for (int round = 1; round <= ROUNDS; round++) {
    peer g[MOST] = {{.rank = 0}};
    const tt_rendezvous at = meeting_serve();
    for (int r = 0; r < MOST; r++)
      g[r] = (peer){.at = at,
                    .rank = r,
                    .ranks = MOST,
                    .host = (uint64_t)(r / 2),
                    .fails_in = r == MOST - 2 ? round : 0};
    for (int r = 0; r < MOST; r++) meeting_begin(&g[r]);
    for (int r = 0; r < MOST; r++) meeting_finish(&g[r]);
    for (int r = 0; r < MOST; r++)
      meeting_expect(&g[r], TUTTI_ERR_MEMORY, "rank 14 (|it is out of its memory");
  }
}

/* A rank of another host leaves. An agent below the rendezvous, or below another agent, detects it first. */
static void a_host_is_lost(void **state) {
  (void)state;
  for (int leaver = 0; leaver < MOST; leaver += MOST - 1)
    for (int rounds = 1; rounds < ROUNDS; rounds++) {
      peer g[MOST] = {{.rank = 0}};
      const tt_rendezvous at = meeting_serve();
      for (int r = 0; r < MOST; r++)
        g[r] = (peer){.at = at,
                      .rank = r,
                      .ranks = MOST,
                      .host = (uint64_t)r,
                      .rounds = r == leaver ? rounds : ROUNDS};
      for (int r = 0; r < MOST; r++) {
        meeting_begin(&g[r]);
        usleep(20000); /* agents arrive in this order, so the last ones are below the first ones */
      }
      for (int r = 0; r < MOST; r++) meeting_finish(&g[r]);
      for (int r = 0; r < MOST; r++)
        meeting_expect(&g[r], r == leaver ? TUTTI_OK : TUTTI_ERR_PEER_LOST,
                       r == leaver ? ""
                       : leaver    ? "rank 15 (|left before"
                                   : "");
    }
}

/* A table that an agent hands out cannot be written or truncated. */
static void tables_are_sealed(void **state) {
  size_t n;
  tt_row *rows[2] = {tt_row_new(TUTTI_OK, "abc", 4, &n), tt_row_new(TUTTI_OK, "defghijkl", 10, &n)};
  tt_table t, again;
  (void)state;
  assert_int_equal(tt_table_make(2, (const tt_row *const *)rows, &t), TUTTI_OK);
  for (int r = 0; r < 2; r++) free(rows[r]);
  assert_true(tt_table_valid(&t, 2));
  assert_false(tt_table_valid(&t, 3));
  assert_string_equal(tt_table_row(&t, 1, NULL), "defghijkl");
  assert_ptr_equal(mmap(NULL, t.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, 0), MAP_FAILED);
  assert_int_equal(ftruncate(t.fd, 1), -1);
  assert_int_equal(pwrite(t.fd, "x", 1, 0), -1);
  assert_int_equal(tt_table_map(dup(t.fd), t.bytes, &again), TUTTI_OK);
  assert_string_equal(tt_table_row(&again, 0, NULL), "abc");
  tt_table_drop(&again);
  const int open = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  assert_int_equal(ftruncate(open, (off_t)t.bytes), 0);
  assert_int_equal(tt_table_map(open, t.bytes, &again), TUTTI_ERR_SYSTEM);
  assert_non_null(strstr(tutti_error(), "not sealed"));
  tt_table_drop(&t);
}

/* One of three ranks is wrong: the error message that it gets, and the message of the others. */
static void one_is_wrong(void **state) {
  static const struct {
    const char *name;
    int rank, ranks, rounds;
    bool other_key, in_place_of_one; /* rank 2 does not start, or is one too many */
    tutti_status its, theirs;
    const char *it_hears, *they_hear;
  } cases[] = {
      {"another key", 1, 3, 0, true, false, TUTTI_ERR_SYSTEM, TUTTI_OK,
       "rank 1|does not know this job's key", ""},
      {"there twice", 1, 3, 0, false, false, TUTTI_ERR_SYSTEM, TUTTI_OK,
       "rank 1|is there already|two jobs", ""},
      {"another size", 1, 4, 0, false, false, TUTTI_ERR_SYSTEM, TUTTI_OK,
       "4 ranks|before it, 3|two jobs", ""},
      {"leaves at once", 2, 3, -1, false, true, TUTTI_OK, TUTTI_ERR_TIMEOUT, "",
       "rank 2 of 3|TUTTI_CONNECT_TIMEOUT|2 came"},
      {"leaves after a round", 2, 3, 1, false, true, TUTTI_OK, TUTTI_ERR_PEER_LOST, "",
       "rank 2 (|left before"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    peer g[4] = {{.rank = 0}};
    const tt_rendezvous at = meeting_serve();
    const int good = cases[i].in_place_of_one ? 2 : 3;
    const double limit = cases[i].theirs == TUTTI_ERR_TIMEOUT ? 0.5 : 10;
    g[3] = (peer){.at = at,
                  .rank = cases[i].rank,
                  .ranks = cases[i].ranks,
                  .rounds = cases[i].rounds,
                  .limit = limit};
    if (cases[i].other_key) g[3].at.key[5] ^= 1;
    for (int r = 0; r < good; r++) g[r] = (peer){.at = at, .rank = r, .ranks = 3, .limit = limit};
    for (int r = 0; r < good - !cases[i].in_place_of_one; r++) meeting_begin(&g[r]);
    usleep(200000);
    meeting_begin(&g[3]);
    if (!cases[i].in_place_of_one) {
      usleep(200000);
      meeting_begin(&g[2]);
    }
    meeting_finish(&g[3]);
    for (int r = 0; r < good; r++) meeting_finish(&g[r]);
    meeting_expect(&g[3], cases[i].its, cases[i].it_hears);
    for (int r = 0; r < good; r++) {
      meeting_expect(&g[r], cases[i].theirs, cases[i].they_hear);
      if (g[r].took > limit + 20) fail_msg("%s: rank %d took %.1f s", cases[i].name, r, g[r].took);
    }
  }
}

/* ---- no rendezvous at the address ---- */

/* A port on which another service listens, or nothing. */
typedef struct stranger {
  int listener;
  bool says;
  int ms; /* it stays this long, or until `over` */
  atomic_bool over;
} stranger;

static void *something_else(void *arg) {
  stranger *s = arg;
  const int fd = accept(s->listener, NULL, NULL);
  char words[300];
  memset(words, 'x', sizeof words);
  if (fd >= 0 && s->says && send(fd, words, sizeof words, MSG_NOSIGNAL) < 0) return NULL;
  if (!s->says) recv(fd, words, sizeof(tt_hello), MSG_WAITALL);
  for (int i = 0; i < s->ms && !atomic_load(&s->over); i++) usleep(1000);
  if (fd >= 0) close(fd);
  atomic_store(&s->over, true);
  return NULL;
}

static void no_rendezvous_is_said(void **state) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t n = sizeof at;
  pthread_t thread;
  (void)state;
  inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
  getsockname(listener, (struct sockaddr *)&at, &n);
  peer g = {.at = {.hosts = 1, .host = {"127.0.0.1"}, .port = ntohs(at.sin_port)},
            .ranks = 2,
            .limit = 0.3};
  memset(g.at.key, 'a', TT_KEY);
  meeting_begin(&g); /* no process listens */
  meeting_finish(&g);
  meeting_expect(&g, TUTTI_ERR_TIMEOUT,
                 "rank 0 could not reach|Connection refused|is the id right");
  assert_true(g.took < 10);
  listen(listener, 4);
  for (int i = 0; i < 3; i++) { /* rank 0 detects that the port is taken, and all ranks report it */
    static const char *const hears[] = {"127.0.0.1|TUTTI_PORT|is not a rendezvous",
                                        "127.0.0.1|TUTTI_PORT|has closed the connection",
                                        "127.0.0.1|TUTTI_PORT|does not answer as"};
    stranger s = {.listener = listener, .says = i == 0, .ms = i < 2 ? 200 : 20000};
    pthread_create(&thread, NULL, something_else, &s);
    meeting_begin(&g);
    meeting_finish(&g);
    meeting_expect(&g, i < 2 ? TUTTI_ERR_SYSTEM : TUTTI_ERR_TIMEOUT, hears[i]);
    assert_true(i < 2 || !atomic_load(&s.over)); /* rank 0 does not wait until the other has left */
    atomic_store(&s.over, true);
    pthread_join(thread, NULL);
  }
  close(listener);
  snprintf(g.at.host[0], sizeof g.at.host[0], "no.such.host.invalid");
  meeting_begin(&g);
  meeting_finish(&g);
  meeting_expect(&g, TUTTI_ERR_TIMEOUT, "no.such.host.invalid");
}

/* One of three ranks has another version, and arrives first, in the middle, or last. */
static void another_version_is_told_to_all(void **state) {
  (void)state;
  for (int when = 0; when < 3; when++) {
    const tt_rendezvous at = meeting_serve();
    tt_hello other = {.magic = TT_MEET_MAGIC,
                      .protocol = 7,
                      .ranks = 3,
                      .rank = 1,
                      .limit_ms = 9000,
                      .who = "elsewhere, pid 5"};
    struct {
      tt_reply head;
      char text[400];
    } heard = {{0}, ""};
    tt_challenge challenge;
    unsigned char proof[TT_DIGEST];
    peer g[2] = {{.at = at, .rank = 0, .ranks = 3}, {.at = at, .rank = 2, .ranks = 3}};
    for (int r = 0; r < when; r++) meeting_begin(&g[r]);
    usleep(100000);
    const int fd = meeting_call(at.port);
    assert_int_equal(send(fd, &other, sizeof other, 0), sizeof other);
    assert_int_equal(recv(fd, &challenge, sizeof challenge, MSG_WAITALL), sizeof challenge);
    tt_prove_key(TT_VISITOR, at.key, &other, challenge.nonce, proof);
    assert_int_equal(send(fd, proof, sizeof proof, 0), sizeof proof);
    assert_true(recv(fd, &heard, sizeof heard, MSG_WAITALL) > (ssize_t)sizeof heard.head);
    close(fd);
    assert_int_equal(heard.head.status, TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(heard.text, "rank 1 (elsewhere, pid 5) speaks version 7"));
    for (int r = when; r < 2; r++) meeting_begin(&g[r]);
    for (int r = 0; r < 2; r++) {
      meeting_finish(&g[r]);
      meeting_expect(&g[r], TUTTI_ERR_SYSTEM,
                     "rank 1 (elsewhere, pid 5)|version 7|one version of tutti");
      assert_true(g[r].took < 20);
    }
  }
}

enum { TIMES = 6 };
static void *visit_in_turn(void *guests) {
  for (int t = 0; t < TIMES; t++) {
    meeting_visit((peer *)guests + t);
    if (((peer *)guests)[t].status) break;
  }
  return NULL;
}

/* The same ranks connect repeatedly, before or after every rank has left the preceding round. */
static void a_lasting_rendezvous_serves_in_turn(void **state) {
  (void)state;
  for (int lasting = 0; lasting < 2; lasting++) {
    const tt_rendezvous at = meeting_serve_for(lasting);
    pthread_t thread[3];
    peer g[3][TIMES];
    memset(g, 0, sizeof g);
    for (int r = 0; r < 3; r++) {
      for (int t = 0; t < TIMES; t++)
        g[r][t] = (peer){
            .at = at, .rank = r, .ranks = 3, .rounds = ROUNDS, .limit = 1, .stays = r == t % 3};
      assert_int_equal(pthread_create(&thread[r], NULL, visit_in_turn, g[r]), 0);
    }
    for (int r = 0; r < 3; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < 3; r++) meeting_expect(&g[r][0], TUTTI_OK, "");
    for (int r = 0; r < 3; r++)
      for (int t = 1; t < TIMES && lasting; t++) meeting_expect(&g[r][t], TUTTI_OK, "");
    for (int r = 0; r < 3 && !lasting; r++) assert_int_not_equal(g[r][1].status, TUTTI_OK);
  }
}

static void a_port_that_is_taken_is_said(void **state) {
  tt_rendezvous first = meeting_serve(), second = {.hosts = 1, .host = {"127.0.0.1"}};
  (void)state;
  pthread_t thread;
  second.port = first.port;
  assert_int_equal(tt_rendezvous_serve(&second, false, &thread), TUTTI_ERR_SYSTEM);
  assert_non_null(strstr(tutti_error(), "already in use"));
  assert_non_null(strstr(tutti_error(), "TUTTI_PORT"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_read),
      cmocka_unit_test(bad_ids_are_refused),
      cmocka_unit_test(all_meet),
      cmocka_unit_test(one_cannot),
      cmocka_unit_test(a_host_is_lost),
      cmocka_unit_test(tables_are_sealed),
      cmocka_unit_test(one_is_wrong),
      cmocka_unit_test(no_rendezvous_is_said),
      cmocka_unit_test(a_port_that_is_taken_is_said),
      cmocka_unit_test(another_version_is_told_to_all),
      cmocka_unit_test(a_lasting_rendezvous_serves_in_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
