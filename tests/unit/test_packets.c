/* Headers and data of the message wire (net_recv.c, net_send.c), over a simulated network. Input that a peer of
 * another version might send is refused with an error message. Messages of a closed network are dropped.
 * Exported data completes in send order, whatever the order of the network's completions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "net_parts.h"
#include "posted_net.h"
#include "stub_net.h"
#include "wires.h"

enum { PEER = 1, LANE = 2, ID = 77, LARGE = SMALL + 100 };

static tt_wire *wire;

/* ---- the network ---- */

static int net_send(void *self, int slot, int peer, int tag, const void *bytes, size_t n,
                    int sure) {
  (void)self, (void)peer, (void)sure;
  return post(slot, true, tag, (void *)(uintptr_t)bytes, n);
}

/* ---- helpers of the tests ---- */

static int open_rails(int rails) {
  const tutti_net net = {.size = sizeof net,
                         .name = "made up",
                         .id = ID,
                         .ranks = 2,
                         .send = net_send,
                         .recv = posted_net_recv,
                         .poll = posted_net_poll,
                         .cancel = posted_net_cancel,
                         .close = stub_net_close,
                         .error = stub_net_error,
                         .rails = rails};
  posted_net_begin();
  return tt_net_wire(&net, &wire) != TUTTI_OK;
}

static int open_wire(void **state) {
  (void)state;
  return open_rails(0);
}

static int slot_of(bool sends, int tag) {
  for (int i = 0; i < SLOTS; i++)
    if (asked[i].begun && asked[i].sends == sends && asked[i].tag == tag) return i;
  return -1;
}

static void end(int slot, size_t bytes) {
  assert_true(slot >= 0);
  complete(slot, PEER, bytes, 0);
}

static tutti_status poll(void) {
  bool moved = false;
  return wire->net->poll(wire, &moved);
}

/* Messages in flight complete first, because the network owns their memory until then. */
static int close_wire(void **state) {
  (void)state;
  for (int i = 0; i < SLOTS; i++)
    if (asked[i].begun && asked[i].sends) end(i, asked[i].n);
  while (ndone && !poll()) continue;
  wire->peer->close(wire);
  return 0;
}

/* Delivers a message of n bytes to the receive with this tag, which must be posted. */
static void come(int tag, const void *bytes, size_t n) {
  const int slot = slot_of(false, tag);
  assert_true(slot >= 0 && n <= asked[slot].n);
  memcpy(asked[slot].bytes, bytes, n);
  end(slot, n);
}

static size_t here(tt_stamp *stamp) {
  return wire->channel->head(wire, PEER, LANE, stamp);
}

static struct {
  tt_heading head;
  char bytes[SMALL];
} packet;
static char body[2 * PIECE];

static void come_packet(uint32_t net, size_t inside, size_t behind, size_t cut) {
  packet.head =
      (tt_heading){.net = net, .seq = 5, .hash = 6, .behind = (uint32_t)behind, .coll = NO_RECORD};
  come(LANE, &packet.head, sizeof packet.head + inside - cut);
}

/* ---- receiving ---- */

static const struct {
  const char *what;
  size_t inside, behind, cut, body;
  bool strange;
} packets[] = {
    {"bytes on the paper", 100, 0, 0, 0, false},
    {"as many as it holds", SMALL, 0, 0, 0, false},
    {"bytes behind it", 0, LARGE, 0, LARGE, false},
    {"as many as a message holds", 0, PIECE, 0, PIECE, false},
    {"a paper that ends within its heading", 0, 0, 1, 0, true},
    {"a paper without bytes", 0, 0, 0, 0, true},
    {"bytes on the paper and behind it", 100, LARGE, 0, 0, true},
    {"more behind it than a message holds", 0, PIECE + 1, 0, 0, true},
    {"fewer bytes behind it than it says", 0, LARGE, 0, LARGE - 1, true},
    {"one of them behind it", 0, LARGE, 0, 1, true},
};

static void what_comes_is_taken_or_refused(void **state) {
  for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
    tt_stamp stamp = {0, 0};
    tutti_status status;
    assert_int_equal(open_wire(state), 0);
    assert_int_equal(here(&stamp), 0); /* a receive is posted */
    come_packet(ID, packets[i].inside, packets[i].behind, packets[i].cut);
    status = poll();
    if (!status && packets[i].strange && !packets[i].body)
      fail_msg("%s: is taken", packets[i].what);
    if (!status && packets[i].behind) {
      assert_int_equal(here(&stamp), 0);
      come(TAG_BYTES + LANE, body, packets[i].body);
      status = poll();
    }
    if (packets[i].strange != (status != TUTTI_OK))
      fail_msg("%s: status %d", packets[i].what, status);
    if (status && !strstr(tutti_error(), "from rank 1 what tutti has not sent"))
      fail_msg("%s: %s", packets[i].what, tutti_error());
    if (!status) {
      assert_int_equal(here(&stamp), packets[i].inside + packets[i].behind);
      assert_true(stamp.seq == 5 && stamp.hash == 6);
    }
    close_wire(state);
  }
}

static void pieces_come_in_order_and_in_part(void **state) {
  tt_stamp stamp;
  char to[300];
  tutti_status status = TUTTI_OK;
  (void)state;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(here(&stamp), 0);
    memset(packet.bytes, 'a' + i, sizeof packet.bytes);
    come_packet(ID, 100 + (size_t)i, 0, 0);
    assert_int_equal(poll(), TUTTI_OK);
    for (size_t left = 100 + (size_t)i, n; left; left -= n) {
      assert_int_equal(here(&stamp), left);
      n = left < 60 ? left : 60;
      assert_true(wire->channel->pull(wire, PEER, LANE, to, n, &status) && !status);
      for (size_t k = 0; k < n; k++) assert_int_equal(to[k], 'a' + i);
    }
  }
}

/* The header carries the number of another network; the data after it is received and discarded. */
static void what_another_network_sent_is_dropped(void **state) {
  tt_stamp stamp;
  (void)state;
  for (int behind = 0; behind < 2; behind++) {
    assert_int_equal(here(&stamp), 0);
    come_packet(ID + 1, behind ? 0 : 100, behind ? LARGE : 0, 0);
    assert_int_equal(poll(), TUTTI_OK);
    assert_int_equal(slot_of(false, TAG_BYTES + LANE) >= 0, behind);
    if (behind) come(TAG_BYTES + LANE, body, LARGE);
    assert_int_equal(poll(), TUTTI_OK);
    assert_int_equal(here(&stamp), 0);
  }
  come_packet(ID, 100, 0, 0);
  assert_int_equal(poll(), TUTTI_OK);
  assert_int_equal(here(&stamp), 100);
}

static void a_word_of_another_size_is_refused(void **state) {
  (void)state;
  come(TAG_CONTROL, body, sizeof(tt_net_control) - 1);
  assert_int_equal(poll(), TUTTI_ERR_SYSTEM);
}

/* ---- sending ---- */

static uint64_t push(size_t n, size_t taken) {
  const tt_stamp stamp = {1, 2};
  uint64_t ticket;
  tutti_status status = TUTTI_OK;
  assert_int_equal(wire->channel->push(wire, PEER, LANE, stamp, body, n, n, &ticket, &status),
                   taken);
  assert_int_equal(status, TUTTI_OK);
  return ticket;
}

static bool over(uint64_t ticket) {
  return wire->channel->consumed(wire, PEER, LANE, ticket);
}

/* Exported data completes in order, also when tickets wrap around. */
static void exported_bytes_are_over_in_their_order(void **state) {
  tt_out_end *e = tt_net_out(tt_net_of(wire), PEER, LANE);
  uint64_t ticket[4];
  int slot[4];
  (void)state;
  e->sent = e->over = UINT32_MAX - 1;
  e->rail[0].window = OUT;
  assert_int_equal(wire->channel->owed(wire), -1);
  for (int i = 0; i < 4; i++) {
    ticket[i] = push(LARGE, LARGE);
    slot[i] = slot_of(true, TAG_BYTES + LANE);
    asked[slot[i]].tag = -1; /* found */
  }
  const int order[] = {2, 1, 0, 3}, then[] = {0, 0, 3, 4};
  for (int i = 0; i < 4; i++) {
    end(slot[order[i]], LARGE);
    assert_int_equal(poll(), TUTTI_OK);
    for (int k = 0; k < 4; k++)
      if (over(ticket[k]) != (k < then[i])) fail_msg("message %d after %d ends", k, i + 1);
    assert_int_equal(wire->channel->owed(wire), PEER); /* packets are still in flight */
  }
}

static void a_full_window_takes_nothing(void **state) {
  (void)state;
  push(LARGE, LARGE); /* the window starts at one message */
  push(LARGE, 0);
  push(100, 0); /* small messages wait as well: they would overtake */
  end(slot_of(true, TAG_BYTES + LANE), LARGE);
  assert_int_equal(poll(), TUTTI_OK);
  push(100, 100);
}

/* ---- rails ---- */

enum { RAILS = 3 };

static int open_all_rails(void **state) {
  (void)state;
  return open_rails(RAILS);
}

static int on_rail(int rail) {
  return slot_of(true, tt_bytes_tag(LANE, rail));
}

/* Data takes the rail with the fewest messages in flight. A rail with messages that do not complete gets no
 * more. */
static void data_takes_the_rail_with_the_least_in_flight(void **state) {
  (void)state;
  for (int r = 0; r < RAILS; r++) push(LARGE, LARGE); /* each window starts at one message */
  push(LARGE, 0);
  for (int r = 0; r < RAILS; r++) {
    assert_true(on_rail(r) >= 0);
    end(slot_of(true, LANE), sizeof(tt_heading)); /* packets use the first rail only */
  }
  for (int i = 0; i < 5; i++) {
    end(on_rail(1), LARGE);
    assert_int_equal(poll(), TUTTI_OK);
    push(LARGE, LARGE);
    assert_true(on_rail(1) >= 0);
    push(LARGE, 0);
  }
  end(on_rail(2), LARGE);
  end(on_rail(0), LARGE);
  assert_int_equal(poll(), TUTTI_OK);
  push(100, 100);
  for (int r = 0; r < RAILS; r++) assert_true((on_rail(r) >= 0) == (r == 1));
}

/* The packet names the rail of its data. A rail number that does not exist is refused. */
static void bytes_come_on_the_rail_that_the_packet_names(void **state) {
  tt_stamp stamp;
  (void)state;
  for (int r = RAILS; r-- > 0;) {
    assert_int_equal(here(&stamp), 0);
    packet.head = (tt_heading){
        .net = ID, .seq = 5, .hash = 6, .behind = LARGE, .coll = NO_RECORD, .rail = r & 3};
    come(LANE, &packet.head, sizeof packet.head);
    assert_int_equal(poll(), TUTTI_OK);
    assert_int_equal(here(&stamp), 0);
    come(tt_bytes_tag(LANE, r), body, LARGE);
    assert_int_equal(poll(), TUTTI_OK);
    assert_int_equal(here(&stamp), LARGE);
    wire->channel->release(wire, PEER, LANE, LARGE);
  }
  assert_int_equal(here(&stamp), 0);
  packet.head.rail = RAILS & 3;
  come(LANE, &packet.head, sizeof packet.head);
  assert_int_equal(poll(), TUTTI_ERR_SYSTEM);
}

static void packets_of_many_simulated_ranks_are_small(void **state) {
  const struct {
    int ranks;
    size_t bytes;
  } wanted[] = {{1, SMALL},  {128, SMALL}, {256, SMALL / 2},
                {500, 2097}, {1000, 1048}, {10000, SMALL / 8}};
  (void)state;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_int_equal(tt_simulated_packet(wanted[i].ranks), wanted[i].bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_comes_is_taken_or_refused),
      cmocka_unit_test(packets_of_many_simulated_ranks_are_small),
      cmocka_unit_test_setup_teardown(pieces_come_in_order_and_in_part, open_wire, close_wire),
      cmocka_unit_test_setup_teardown(what_another_network_sent_is_dropped, open_wire, close_wire),
      cmocka_unit_test_setup_teardown(a_word_of_another_size_is_refused, open_wire, close_wire),
      cmocka_unit_test_setup_teardown(exported_bytes_are_over_in_their_order, open_wire,
                                      close_wire),
      cmocka_unit_test_setup_teardown(a_full_window_takes_nothing, open_wire, close_wire),
      cmocka_unit_test_setup_teardown(data_takes_the_rail_with_the_least_in_flight, open_all_rails,
                                      close_wire),
      cmocka_unit_test_setup_teardown(bytes_come_on_the_rail_that_the_packet_names, open_all_rails,
                                      close_wire),
  };
  return cmocka_run_group_tests_name("papers and bytes", tests, NULL, NULL);
}
