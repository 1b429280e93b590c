/* test_kit.c - what networks between hosts share (net/kit/kit_net.c): numbers of networks, requests, receipts, losses, and
 * which headers are refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "kit.h"

enum { RANKS = 5, ME = 2, MANY = 200, DONE = 8 };

typedef struct own_slot {
  kit_slot kit;
  char more[40];
} own_slot;

typedef struct own_net {
  kit_net kit;
  int begun;
} own_net;

static void begin_own(kit_net *n, tutti_net *net) {
  ((own_net *)(void *)n)->begun = 1;
  net->name = "own";
}

static const kit_library own_library = {sizeof(own_net), sizeof(own_slot), begin_own};

typedef struct home_of_rank {
  kit_home home;
  int more;
} home_of_rank;
static home_of_rank homes[RANKS];
static size_t bytes_of[RANKS];
static int dropped;

static const void *address_at(void *ctx, int rank, size_t *bytes) {
  (void)ctx;
  *bytes = bytes_of[rank];
  return &homes[rank];
}

static void drop_addresses(void *ctx) {
  (void)ctx;
  dropped++;
}

/* This process, number 2 of 5, and the network of all. */
static void open_kit(kit_world *w, tutti_net *net) {
  const tutti_net_addresses addresses = {sizeof addresses, NULL, address_at, drop_addresses};
  memset(w, 0, sizeof *w);
  kit_world_open(w, &own_library);
  kit_world_join(w, ME, RANKS, &addresses);
  assert_int_equal(kit_net_make(w, 0, NULL, ME, RANKS, net), 0);
}

static kit_net *pick(const tutti_net *old, const int *ranks, int n, tutti_net *net) {
  assert_int_equal(old->pick(old->self, old->fresh(old->self), ranks, n, net), 0);
  return net->self;
}

static void numbers_are_used_once(void **state) {
  const int some[] = {4, ME, 0};
  kit_world w;
  tutti_net all, few;
  (void)state;
  open_kit(&w, &all);
  assert_int_equal(all.fresh(all.self), 1);
  assert_int_equal(all.pick(all.self, 7, some, 3, &few), 0);
  assert_int_equal(all.fresh(all.self), 8);
  assert_int_equal(all.pick(all.self, 7, some, 3, &few), TUTTI_NET_TAKEN);
  assert_int_equal(all.pick(all.self, 9, some, 0, &few),
                   0); /* no network, but the number is used */
  assert_int_equal(all.fresh(all.self), 10);
  const kit_net *n = few.self;
  assert_ptr_equal(kit_net_of(&w, 7), n);
  assert_null(kit_net_of(&w, 9));
  assert_int_equal(((const own_net *)(const void *)n)->begun, 1);
  assert_int_equal(few.rank, 1);
  assert_int_equal(few.ranks, 3);
  assert_string_equal(few.name, "own");
  assert_int_equal(kit_process(n, 0), 4);
  assert_int_equal(kit_rank_of(n, 0), 2);
  assert_int_equal(kit_rank_of(n, 3), -1);
  dropped = 0;
  kit_world_close(&w);
  assert_int_equal(dropped, 1);
}

/* Requests stay where they are while others begin, and a slot that is used again is as new. */
static void slots_stay(void **state) {
  own_slot *slot[MANY];
  kit_world w;
  tutti_net all;
  (void)state;
  open_kit(&w, &all);
  for (int i = 0; i < MANY; i++) {
    slot[i] = kit_begin(all.self, i, i % RANKS, i % 3);
    memset(slot[i]->more, i, sizeof slot[i]->more);
  }
  for (int i = 0; i < MANY; i++) {
    assert_ptr_equal(kit_slot_at(all.self, i), slot[i]);
    assert_int_equal(slot[i]->kit.number, i);
    assert_int_equal(slot[i]->more[39], (char)i);
  }
  assert_ptr_equal(kit_begin(all.self, 70, 1, 1), slot[70]);
  assert_int_equal(slot[70]->more[39], 0);
  assert_int_equal(slot[70]->kit.peer, 1);
  kit_world_close(&w);
}

static void receipts_are_for_the_oldest(void **state) {
  static const struct { int peer, tag; } sent[] = {{1, 5}, {3, 5}, {1, 6}, {1, 5}};
  kit_slot *slot[4];
  kit_world w;
  tutti_net all;
  (void)state;
  open_kit(&w, &all);
  kit_net *n = all.self;
  for (int i = 0; i < 4; i++) {
    slot[i] = kit_begin(n, i, sent[i].peer, sent[i].tag);
    kit_ask(slot[i]);
  }
  assert_null(kit_receipt(n, 3, 6));
  assert_ptr_equal(kit_receipt(n, 1, 6), slot[2]);
  assert_ptr_equal(kit_receipt(n, 1, 5), slot[0]);
  assert_ptr_equal(kit_receipt(n, 1, 5), slot[3]);
  assert_null(kit_receipt(n, 1, 5));
  assert_false(slot[0]->awaits);
  assert_true(slot[1]->awaits);
  kit_ask(slot[2]);
  assert_ptr_equal(slot[1]->next, slot[2]); /* the end of the queue is right */
  kit_unask(slot[1]);
  kit_unask(slot[0]);
  assert_ptr_equal(n->asked.first, slot[2]);
  kit_world_close(&w);
}

/* A network reports ended requests, oldest first. Then it reports each of its lost processes, once. */
static void ends_and_losses_are_reported(void **state) {
  const int some[] = {ME, 4};
  tutti_net_done done[DONE];
  kit_world w;
  tutti_net all, few;
  (void)state;
  open_kit(&w, &all);
  kit_net *n = all.self, *f = pick(&all, some, 2, &few);
  for (int i = 0; i < 3; i++) kit_begin(n, i, i, 0);
  assert_true(kit_progress_due(n));
  kit_complete(kit_slot_at(n, 2), 0);
  kit_complete(kit_slot_at(n, 0), 1);
  assert_false(kit_progress_due(n));
  kit_lose(&w, 3);
  kit_lose(&w, 4);
  assert_int_equal(kit_report(n, done, 1), 1);
  assert_int_equal(done[0].slot, 2);
  assert_int_equal(kit_report(n, done, DONE), 3);
  assert_int_equal(done[0].slot, 0);
  assert_int_equal(done[0].failed, 1);
  assert_int_equal(done[1].slot, -1);
  assert_int_equal(done[1].peer, 3);
  assert_int_equal(done[2].peer, 4);
  assert_int_equal(done[2].failed, TUTTI_NET_LOST);
  assert_int_equal(kit_report(n, done, DONE), 0);
  assert_false(((const kit_slot *)kit_slot_at(n, 0))->taken);
  assert_true(((const kit_slot *)kit_slot_at(n, 1))->taken);
  assert_int_equal(kit_report(f, done, DONE), 1);
  assert_int_equal(done[0].peer, 1);
  kit_world_close(&w);
}

static void wrong_headers_are_refused(void **state) {
  static const struct {
    kit_head head;
    bool of_all, of_few, unmade; /* whom: process 4, which is rank 1 of `few` */
  } cases[] = {
      {{.rank = 4}, true, false, true},
      {{.rank = 1}, false, true, true},
      {{.rank = 2}, false, false, true},
      {{.rank = RANKS}, false, false, false},
      {{.rank = UINT32_MAX}, false, false, false},
      {{.rank = 4, .kind = KIT_RECEIPT, .tag = TUTTI_NET_TAGS - 1, .bytes = TUTTI_NET_MOST},
       true,
       false,
       true},
      {{.rank = 4, .kind = KIT_RECEIPT + 1}, false, false, false},
      {{.rank = 4, .tag = TUTTI_NET_TAGS}, false, false, false},
      {{.rank = 4, .bytes = TUTTI_NET_MOST + 1u}, false, false, false},
  };
  const int some[] = {ME, 4};
  kit_world w;
  tutti_net all, few;
  (void)state;
  open_kit(&w, &all);
  const kit_net *f = pick(&all, some, 2, &few);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const kit_head *h = &cases[i].head;
    if (kit_may_send(&w, all.self, h, 4) != cases[i].of_all ||
        kit_may_send(&w, f, h, 4) != cases[i].of_few ||
        kit_may_send(&w, NULL, h, 4) != cases[i].unmade)
      fail_msg("case %zu", i);
  }
  /* where the network does not say which process it was */
  assert_true(kit_may_send(&w, f, &(kit_head){.rank = 0}, -1));
  assert_false(kit_may_send(&w, f, &(kit_head){.rank = 2}, -1));
  kit_world_close(&w);
}

static void senseless_addresses_are_refused(void **state) {
  kit_world w;
  tutti_net all;
  size_t bytes;
  (void)state;
  open_kit(&w, &all);
  for (int r = 0; r < RANKS; r++) {
    snprintf(homes[r].home.host, sizeof homes[r].home.host, "n%d", r);
    bytes_of[r] = sizeof homes[r] - (r == 1);
  }
  memset(homes[3].home.host, 'x', sizeof homes[3].home.host); /* it never ends */
  for (int r = 0; r < RANKS; r++) {
    const home_of_rank *its = kit_address_of(&w, r, sizeof *its, &bytes);
    assert_ptr_equal(its, r % 2 ? NULL : &homes[r]);
  }
  kit_world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_used_once),
      cmocka_unit_test(slots_stay),
      cmocka_unit_test(receipts_are_for_the_oldest),
      cmocka_unit_test(ends_and_losses_are_reported),
      cmocka_unit_test(wrong_headers_are_refused),
      cmocka_unit_test(senseless_addresses_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
