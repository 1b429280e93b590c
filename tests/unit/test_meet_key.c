/* test_meet_key.c - uninvited peers of a rendezvous, and attackers without the key.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "meet_peers_play.h"

static void strangers_do_not_stall(void **state) {
  enum { STRANGERS = 200 };
  static int fds[STRANGERS];
  const tt_rendezvous at = meeting_serve();
  peer g[3] = {{.rank = 0}};
  tt_hello forged = {.magic = TT_MEET_MAGIC, .protocol = TT_MEET_PROTOCOL, .ranks = 3, .rank = 1};
  unsigned seed = 7;
  (void)state;
  for (int i = 0; i < STRANGERS; i++) {
    char words[1000];
    for (size_t k = 0; k < sizeof words; k++) words[k] = (char)rand_r(&seed);
    fds[i] = meeting_call(at.port);
    memcpy(forged.nonce, words, TT_DIGEST);
    switch (i % 6) { /* silent; garbage; a hello; half a hello; a hello and a wrong proof */
      case 1: send(fds[i], words, sizeof words, MSG_NOSIGNAL); break;
      case 2: send(fds[i], &forged, sizeof forged, MSG_NOSIGNAL); break;
      case 3: send(fds[i], &forged, sizeof forged / 2, MSG_NOSIGNAL); break;
      case 4:
      case 5:
        send(fds[i], &forged, sizeof forged, MSG_NOSIGNAL);
        send(fds[i], i % 6 == 4 ? words : at.key, TT_DIGEST, MSG_NOSIGNAL);
        break;
      default: break;
    }
    if (i == STRANGERS / 2)
      for (int r = 0; r < 2; r++) {
        g[r] = (peer){.at = at, .rank = r, .ranks = 3};
        meeting_begin(&g[r]);
      }
  }
  g[2] = (peer){.at = at, .rank = 2, .ranks = 3};
  meeting_begin(&g[2]);
  for (int r = 0; r < 3; r++) meeting_finish(&g[r]);
  for (int r = 0; r < 3; r++) {
    meeting_expect(&g[r], TUTTI_OK, "");
    assert_true(g[r].took < 3);
  }
  for (int i = 0; i < STRANGERS; i++) close(fds[i]);
}

/* A rank of a version that sent the key in clear text is refused with the reason. The other ranks connect. */
static void versions_that_told_the_key_are_refused(void **state) {
  const tt_rendezvous at = meeting_serve();
  const tt_hello old = {.magic = TT_MEET_MAGIC, .protocol = 2, .ranks = 2, .who = "old, pid 5"};
  struct {
    tt_reply head;
    char text[400];
  } heard = {{0}, ""};
  peer g[2] = {{.at = at, .rank = 0, .ranks = 2}, {.at = at, .rank = 1, .ranks = 2}};
  (void)state;
  const int fd = meeting_call(at.port);
  assert_int_equal(send(fd, &old, sizeof old, 0), sizeof old);
  assert_true(recv(fd, &heard, sizeof heard, MSG_WAITALL) > (ssize_t)sizeof heard.head);
  assert_int_equal(heard.head.status, TUTTI_ERR_SYSTEM);
  assert_non_null(strstr(heard.text, "version 2"));
  close(fd);
  for (int r = 0; r < 2; r++) meeting_begin(&g[r]);
  for (int r = 0; r < 2; r++) meeting_finish(&g[r]);
  for (int r = 0; r < 2; r++) meeting_expect(&g[r], TUTTI_OK, "");
}

static int descriptors_open(void) {
  int n = 0;
  for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

/* A connection that was refused but stays open still counts as a stranger: there are 64 at most. */
static void refused_strangers_hold_little(void **state) {
  enum { STRANGERS = 200, MOST = 64, SPARE = 8 };
  static int fds[STRANGERS];
  const tt_rendezvous at = meeting_serve();
  const tt_hello old = {.magic = TT_MEET_MAGIC, .protocol = 2, .ranks = 2};
  peer g[2] = {{.at = at, .rank = 0, .ranks = 2}, {.at = at, .rank = 1, .ranks = 2}};
  const int before = descriptors_open();
  (void)state;
  for (int i = 0; i < STRANGERS; i++) {
    char words[500];
    fds[i] = meeting_call(at.port);
    assert_int_equal(send(fds[i], &old, sizeof old, 0), sizeof old);
    assert_true(recv(fds[i], words, sizeof words, MSG_WAITALL) > 0);
  }
  assert_true(descriptors_open() - before - STRANGERS <= MOST + SPARE);
  for (int r = 0; r < 2; r++) meeting_begin(&g[r]);
  for (int r = 0; r < 2; r++) meeting_finish(&g[r]);
  for (int r = 0; r < 2; r++) meeting_expect(&g[r], TUTTI_OK, "");
  for (int i = 0; i < STRANGERS; i++) close(fds[i]);
}

/* ---- an attacker without the key ---- */

/* What a rank sends to a process that has taken the rendezvous's port, and the result. */
typedef struct thief {
  int listener;
  const tt_challenge *says; /* or NULL */
  unsigned char heard[4096];
  ssize_t n;
} thief;

static void *steal(void *arg) {
  thief *t = arg;
  const int fd = accept(t->listener, NULL, NULL);
  ssize_t n;
  t->n = recv(fd, t->heard, sizeof(tt_hello), MSG_WAITALL);
  if (t->says && send(fd, t->says, sizeof *t->says, MSG_NOSIGNAL) < 0) t->n = 0;
  while ((n = recv(fd, t->heard + t->n, sizeof t->heard - (size_t)t->n, 0)) > 0) t->n += n;
  close(fd);
  return NULL;
}

static bool holds(const thief *t, const void *bytes, size_t n) {
  return memmem(t->heard, (size_t)t->n, bytes, n) != NULL;
}

/* The attacker has the port, and may replay a challenge of the true rendezvous. */
static void a_thief_of_the_port_learns_nothing(void **state) {
  (void)state;
  for (int replays = 0; replays < 2; replays++) {
    const tt_rendezvous real = meeting_serve();
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    tt_hello probe = {.magic = TT_MEET_MAGIC, .protocol = TT_MEET_PROTOCOL, .ranks = 2, .rank = 1};
    tt_challenge challenge = {.magic = TT_MEET_MAGIC};
    thief t = {.listener = socket(AF_INET, SOCK_STREAM, 0), .says = &challenge};
    pthread_t thread;
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    assert_int_equal(bind(t.listener, (struct sockaddr *)&at, sizeof at), 0);
    getsockname(t.listener, (struct sockaddr *)&at, &n);
    listen(t.listener, 4);
    const int fd = meeting_call(real.port);
    if (replays) {
      assert_int_equal(send(fd, &probe, sizeof probe, 0), sizeof probe);
      assert_int_equal(recv(fd, &challenge, sizeof challenge, MSG_WAITALL), sizeof challenge);
    }
    peer g = {.at = real, .rank = 1, .ranks = 2, .limit = 3};
    g.at.port = ntohs(at.sin_port);
    pthread_create(&thread, NULL, steal, &t);
    meeting_begin(&g);
    meeting_finish(&g);
    pthread_join(thread, NULL);
    meeting_expect(&g, TUTTI_ERR_SYSTEM, "does not know this job's key|TUTTI_PORT");
    assert_int_equal(t.n, sizeof(tt_hello)); /* the hello, and no further byte */
    assert_false(holds(&t, real.key, 8));
    close(fd);
    close(t.listener);
  }
}

/* A proof is not valid on another connection. */
static void a_proof_works_once(void **state) {
  const tt_rendezvous at = meeting_serve();
  tt_hello hello = {.magic = TT_MEET_MAGIC,
                    .protocol = TT_MEET_PROTOCOL,
                    .ranks = 2,
                    .rank = 1,
                    .limit_ms = 9000};
  unsigned char first[TT_DIGEST], byte;
  (void)state;
  for (int i = 0; i < 4;
       i++) { /* right; the same again; the rendezvous's own; with another hello */
    tt_challenge c;
    unsigned char proof[TT_DIGEST];
    const int fd = meeting_call(at.port);
    assert_int_equal(send(fd, &hello, sizeof hello, 0), sizeof hello);
    assert_int_equal(recv(fd, &c, sizeof c, MSG_WAITALL), sizeof c);
    tt_prove_key(TT_VISITOR, at.key, &hello, c.nonce, proof);
    if (i == 0) memcpy(first, proof, sizeof first);
    if (i == 1) memcpy(proof, first, sizeof proof);
    if (i == 2) memcpy(proof, c.proof, sizeof proof);
    hello.rank = 0;
    if (i == 3) tt_prove_key(TT_VISITOR, at.key, &hello, c.nonce, proof);
    hello.rank = 1;
    assert_int_equal(send(fd, proof, sizeof proof, 0), sizeof proof);
    assert_int_equal(recv(fd, &byte, 1, 0), i == 0); /* accepted, or disconnected */
    close(fd);
  }
}

/* A process that has the socket name of a host's agent but not the key. */
static void *lie(void *listener) {
  struct {
    unsigned char proof[TT_DIGEST];
    tt_reply reply;
    char text[6];
  } answer = {.reply = {TUTTI_ERR_MEMORY, sizeof answer.text}, .text = "a lie"};
  char heard[100];
  const int fd = accept(*(int *)listener, NULL, NULL);
  send(fd, &answer, sizeof answer.proof + sizeof answer.reply + sizeof answer.text, MSG_NOSIGNAL);
  while (read(fd, heard, sizeof heard) > 0) continue;
  close(fd);
  return NULL;
}

static void a_thief_of_the_name_is_not_believed(void **state) {
  const uint64_t host = 7;
  peer g = {.at = {.hosts = 1, .host = {"127.0.0.1"}, .port = 9, .key = "sixteen letters"},
            .host = host,
            .ranks = 2};
  const tt_piece pieces[] = {{"tutti agent 4", 14}, {&host, sizeof host}};
  unsigned char digest[TT_DIGEST];
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  pthread_t liar;
  (void)state;
  tt_hmac(g.at.key, TT_KEY, pieces, 2, digest);
  int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tutti-");
  for (int i = 0; i < 12; i++) n += snprintf(name.sun_path + 1 + n, 3, "%02x", digest[i]);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (const struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
                   0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(pthread_create(&liar, NULL, lie, &listener), 0);
  meeting_begin(&g);
  meeting_finish(&g);
  meeting_expect(&g, TUTTI_ERR_SYSTEM, "does not know this job's key");
  pthread_join(liar, NULL);
  close(listener);
}

static void count_warnings(void *ctx, int level, const char *line) {
  *(int *)ctx += level == 0 && strstr(line, " has at most ") != NULL;
}

/* A secret that can be guessed gives one warning. One with 128 bits, in any encoding, gives none. */
static void weak_secrets_are_warned_of(void **state) {
  static const struct {
    const char *name, *text;
    int warnings; /* so far */
  } table[] = {{"TUTTI_KEY", NULL, 0},
               {"TUTTI_KEY", "00112233445566778899aabbccddeeff", 0}, /* 32 hexadecimal digits */
               {"TUTTI_KEY", "fX3kP9qLz0aB7yTn2WcEmR", 0},           /* 22 of base 64 */
               {"TUTTI_KEY", "123456789012345678901234567890123456789", 0},
               {"TUTTI_KEY", "secret", 1},
               {"TUTTI_KEY", "0123456789abcdef", 1},
               {"another key", "secret", 2}};
  int warnings = 0;
  (void)state;
  tutti_log_set(count_warnings, &warnings);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tt_key_look(table[i].name, table[i].text);
    if (warnings != table[i].warnings) fail_msg("%s: %d warnings", table[i].text, warnings);
  }
  tutti_log_set(NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weak_secrets_are_warned_of),
      cmocka_unit_test(strangers_do_not_stall),
      cmocka_unit_test(versions_that_told_the_key_are_refused),
      cmocka_unit_test(refused_strangers_hold_little),
      cmocka_unit_test(a_thief_of_the_port_learns_nothing),
      cmocka_unit_test(a_proof_works_once),
      cmocka_unit_test(a_thief_of_the_name_is_not_believed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
