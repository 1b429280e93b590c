/* The prover refuses a wrong schedule, and its witness names rank, step and error. A corrected version of the
 * same schedule is proven. More wrong schedules, as files: models/refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "algo.h"
#include "prove.h"
#include "tutti_plan.h"

static const struct {
  const char *text, *witness; /* NULL: it is valid */
} cases[] = {
    {"tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv_reduce <-0 dst[0] = in op src[0] last\n",
     NULL},
    {/* the sum overwrites data that the rank's own send still reads */
     "tutti-schedule 1 allreduce x P=2 blocks=1\n"
     "rank 0 inplace\n 0 send ->1 dst[0]\n 1 recv_reduce <-1 dst[0] = dst[0] op in last\n"
     "rank 1 inplace\n 0 send ->0 dst[0]\n 1 recv_reduce <-0 dst[0] = in op dst[0] last\n",
     "rank 0 step 1 (recv_reduce <-1 dst[0] = dst[0] op in  last): it must wait for step 0"},
    {/* with the derived order it deadlocks */
     "tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0 inplace\n 0 send ->1 dst[0]\n 1 recv_reduce <-1 dst[0] = dst[0] op in last\n"
     "rank 1 inplace\n 0 send ->0 dst[0]\n 1 recv_reduce <-0 dst[0] = in op dst[0] last\n",
     "deadlock: it waits for rank 1 step 1, which waits for rank 1 step 0"},
    {"tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\nrank 1\n",
     "rank 1 has no receive for this message"},
    {"tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\nrank 1\n 0 recv <-0 dst[0]\n",
     "rank 0 has no send for this message"},
    {"tutti-schedule 1 allreduce x P=2 blocks=2 derive\n"
     "rank 0\n 0 send ->1 src[0]\nrank 1\n 0 recv <-0 dst[1]\n",
     "rank 1 step 0 receives other blocks than these"},
    {"tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 recv <-1 src[0]\nrank 1\n 0 send ->0 src[0]\n",
     "it writes blocks that this rank must not write"},
    {/* each helper answers immediately, before it has received from the other */
     "tutti-schedule 1 barrier x P=3 blocks=1 data=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 send ->2 src[0]\n 2 recv <-1 dst[0]\n 3 recv <-2 dst[0]\n"
     "rank 1\n 0 recv <-0 tmp[0]\n 1 send ->0 tmp[0]\n"
     "rank 2\n 0 recv <-0 tmp[0]\n 1 send ->0 tmp[0]\n",
     "rank 2 step 1 (send        ->0 tmp[0]  after 0): its rank may leave the barrier before it "
     "hears of rank 1"},
    {"tutti-schedule 1 barrier x P=2 blocks=1 data=1 derive\n"
     "rank 0\n 0 copy dst[0] = src[0]\nrank 1\n",
     "rank 1 does nothing in this barrier"},
    {/* the second block of one byte is empty */
     "tutti-schedule 1 barrier x P=2 blocks=2 data=1 derive\n"
     "rank 0\n 0 copy dst[0] = src[0]\n 1 send ->1 src[1]\n 2 recv <-1 dst[1]\n"
     "rank 1\n 0 recv <-0 tmp[1]\n 1 send ->0 tmp[1]\n",
     "rank 1 step 1 (send        ->0 tmp[1]  after 0): its rank may leave the barrier before it "
     "hears of rank 0"},
    {"tutti-schedule 1 broadcast x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 tmp[0]\nrank 1\n 0 recv <-0 dst[0]\n",
     "it sends a block that nothing was written to"},
    {"tutti-schedule 1 broadcast x P=2 blocks=1 root=1 derive\n"
     "rank 0\n 0 recv <-1 dst[0]\nrank 1\n 0 send ->0 src[0]\n",
     "rank 1, at the end, dst[0]: nothing was written there"},
    {"tutti-schedule 1 allgather x P=2 derive\n"
     "rank 0\n 0 send ->1 src[1]\nrank 1\n 0 recv <-0 dst[1]\n",
     "it reads blocks that this rank does not have"},
    {"tutti-schedule 1 reduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 recv_reduce <-1 dst[0] = src[0] op in\nrank 1\n 0 send ->0 src[0]\n",
     "not marked last"},
    {"tutti-schedule 1 reduce x P=3 blocks=1 derive\n"
     "rank 0\n 0 recv_reduce <-1 dst[0] = src[0] op in last\nrank 1\n 0 send ->0 src[0]\nrank 2\n",
     "it lacks rank 2's input for block 0"},
    {"tutti-schedule 1 reduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 recv_reduce <-1 tmp[0] = src[0] op in\n 1 reduce dst[0] = tmp[0] op src[0] last\n"
     "rank 1\n 0 send ->0 src[0]\n",
     "it holds rank 0's input for block 0 twice"},
    {"tutti-schedule 1 broadcast x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 copy dst[0] = src[0]\nrank 1\n 0 recv_reduce <-0 dst[0] = "
     "dst[0] op in\n",
     "broadcast has no op"},
    {"tutti-schedule 1 scan x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 copy dst[0] = src[0]\n"
     "rank 1\n 0 recv_reduce <-0 dst[0] = in op src[0]\n",
     NULL},
    {"tutti-schedule 1 scan x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 copy dst[0] = src[0]\n"
     "rank 1\n 0 recv_reduce <-0 dst[0] = in op src[0] last\n",
     "it completes a sum, but no sum of scan covers all ranks"},
    {/* not an allreduce */
     "tutti-schedule 1 scan x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv_reduce <-0 dst[0] = in op src[0]\n",
     "rank 0, at the end, dst[0]: it holds rank 1's block 0, which belongs elsewhere"},
    {"tutti-schedule 1 scan x P=3 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 copy dst[0] = src[0]\n"
     "rank 1\n 0 recv_reduce <-0 dst[0] = in op src[0]\n 1 send ->2 src[0]\n"
     "rank 2\n 0 recv_reduce <-1 dst[0] = in op src[0]\n",
     "rank 2, at the end, dst[0]: it lacks rank 0's input"},
    {"tutti-schedule 1 exscan x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\nrank 1\n 0 recv <-0 dst[0]\n",
     NULL},
    {"tutti-schedule 1 exscan x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 copy dst[0] = src[0]\nrank 1\n 0 recv <-0 dst[0]\n",
     "it writes blocks that this rank must not write"},
    {"tutti-schedule 1 exscan x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\nrank 1\n 0 recv_reduce <-0 dst[0] = in op src[0]\n",
     "it holds rank 1's block 0, which belongs elsewhere"},
    {"tutti-schedule 1 alltoall x P=2 derive\n"
     "rank 0\n 0 send ->1 src[1]\n 1 copy dst[0] = src[0]\n 2 recv <-1 dst[1]\n"
     "rank 1\n 0 send ->0 src[0]\n 1 copy dst[1] = src[1]\n 2 recv <-0 dst[0]\n",
     NULL},
    {"tutti-schedule 1 alltoall x P=2 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 copy dst[0] = src[0]\n 2 recv <-1 dst[1]\n"
     "rank 1\n 0 send ->0 src[0]\n 1 copy dst[1] = src[1]\n 2 recv <-0 dst[0]\n",
     "rank 1, at the end, dst[0]: it holds rank 0's block 0, which belongs elsewhere"},
    {"tutti-schedule 1 gather x P=2 derive\n"
     "rank 0\n 0 copy dst[0] = src[0]\n 1 recv <-1 dst[0]\nrank 1\n 0 send ->0 src[1]\n",
     "rank 0 step 1 receives other blocks than these"},
    {"tutti-schedule 1 gather x P=2 root=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\nrank 1\n 0 recv <-0 dst[0]\n",
     "rank 1, at the end, dst[1]: nothing was written there"},
    {"tutti-schedule 1 scatter x P=2 derive\n"
     "rank 0\n 0 send ->1 src[1]\n 1 copy dst[0] = src[0]\nrank 1\n 0 recv <-0 dst[1]\n",
     NULL},
    {"tutti-schedule 1 scatter x P=2 derive\n"
     "rank 0\n 0 send ->1 src[0..1]\n 1 copy dst[0] = src[0]\nrank 1\n 0 recv <-0 dst[0..1]\n",
     "it writes blocks that this rank must not write"},
    {/* an average would divide twice */
     "tutti-schedule 1 reduce x P=3 blocks=1\n"
     "rank 0\n 0 recv_reduce <-1 tmp[0] = src[0] op in last\n"
     " 1 recv_reduce <-2 dst[0] = tmp[0] op in last after 0\n"
     "rank 1\n 0 send ->0 src[0]\nrank 2\n 0 send ->0 src[0]\n",
     "rank 0, at the end, dst[0]: it holds a sum that was already complete"},
    {/* the parts of a split receive arrive one by one: rank 2's may arrive before the copy has ended */
     "tutti-schedule 1 reduce x P=3 blocks=1\n"
     "rank 0\n 0 copy tmp[1] = src[0]\n 1 send ->1 tmp[1] after 0\n"
     " 2 recv_split <-1..2 tmp[0..1]\n 3 reduce dst[0] = tmp[0] op tmp[1] last after 2\n"
     "rank 1\n 0 recv_reduce <-0 tmp[0] = src[0] op in\n 1 send ->0 tmp[0] after 0\n"
     "rank 2\n 0 send ->0 src[0]\n",
     "rank 0 step 2 (recv_split  <-1..2 tmp[0..1]): it must wait for step 0, whose blocks may "
     "still be in use: tmp[1]"},
    {/* one message has arrived, and the other part of its split receive has not */
     "tutti-schedule 1 reduce x P=4 blocks=1\n"
     "rank 0\n 0 recv_split <-1..2 tmp[0..1]\n 1 recv_reduce <-3 tmp[2] = tmp[1] op in\n"
     " 2 reduce dst[0] = src[0] op tmp[0] op tmp[2] last after 0 1\n"
     "rank 1\n 0 send ->0 src[0]\n 1 send ->3 src[0] after 0\n"
     "rank 2\n 0 send ->0 src[0]\n"
     "rank 3\n 0 recv <-1 tmp[0]\n 1 send ->0 tmp[0] after 0\n",
     "rank 0 step 1 (recv_reduce <-3 tmp[2] = tmp[1] op in): it must wait for step 0"},
    {/* a buffered send ends before its readers have read */
     "tutti-schedule 1 allreduce x P=3 blocks=1\n"
     "rank 0\n 0 send ->1..2 src[0]\n 1 recv_reduce <-0..2 tmp[0] = in op src[0] op in last\n"
     " 2 copy dst[0] = tmp[0] after 0\n"
     "rank 1\n 0 send ->0..2:2 src[0]\n 1 recv_reduce <-0..2 dst[0] = in op src[0] op in last "
     "after "
     "0\n"
     "rank 2\n 0 send ->0..1 src[0]\n 1 recv_reduce <-0..2 dst[0] = in op src[0] op in last\n",
     "rank 0 step 2 (copy        dst[0] = tmp[0]  after 0): it must wait for step 1"},
    {/* the engine copies in pieces, in its own order */
     "tutti-schedule 1 reduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 copy tmp[1] = src[0]\n 1 recv <-1 tmp[0]\n 2 copy tmp[1..2] = tmp[0..1]\n"
     " 3 reduce dst[0] = tmp[2] op tmp[1] last\nrank 1\n 0 send ->0 src[0]\n",
     "it reads tmp[1] at position 1 and writes it at position 0"},
    {"tutti-schedule 1 reduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 copy tmp[0] = src[0]\n 1 recv_reduce <-1 tmp[1..2] = tmp[0..1] op in\n"
     " 2 copy dst[0] = tmp[1]\nrank 1\n 0 copy tmp[0] = src[0]\n 1 copy tmp[1] = src[0]\n"
     " 2 send ->0 tmp[0..1]\n",
     "it reads tmp[1] at position 1 and writes it at position 0"},
    {/* block 1 signals that block 0 was read: a vector of one element has no block 1 */
     "tutti-schedule 1 allreduce x P=2 blocks=2\n"
     "rank 0 inplace\n 0 send ->1 dst[0]\n 1 recv <-1 tmp[1]\n"
     " 2 recv_reduce <-1 dst[0] = dst[0] op in last after 1\n 3 send ->1 dst[1]\n"
     " 4 reduce dst[1] = dst[1] op tmp[1] last after 1 3\n"
     "rank 1\n 0 recv_reduce <-0 dst[0] = in op src[0] last\n 1 send ->0 src[1] after 0\n"
     " 2 send ->0 src[0]\n 3 recv_reduce <-0 dst[1] = in op src[1] last\n",
     "it must wait for step 0, whose blocks may still be in use: dst[0]"},
    {/* block 0 is never smaller than block 1 */
     "tutti-schedule 1 allreduce x P=2 blocks=2\n"
     "rank 0 inplace\n 0 send ->1 dst[1]\n 1 recv <-1 tmp[0]\n"
     " 2 recv_reduce <-1 dst[1] = dst[1] op in last after 1\n 3 send ->1 dst[0]\n"
     " 4 reduce dst[0] = dst[0] op tmp[0] last after 1 3\n"
     "rank 1\n 0 recv_reduce <-0 dst[1] = in op src[1] last\n 1 send ->0 src[0] after 0\n"
     " 2 send ->0 src[1]\n 3 recv_reduce <-0 dst[0] = in op src[0] last\n",
     NULL},
    {/* ordered through the other rank alone: valid */
     "tutti-schedule 1 broadcast x P=2 blocks=1\n"
     "rank 0 inplace\n 0 send ->1 dst[0]\n 1 recv <-1 dst[0]\n"
     "rank 1\n 0 recv <-0 dst[0]\n 1 send ->0 dst[0] after 0\n",
     NULL},
    {/* rank 1's part arrives in tmp[0] at any time: rank 2's second message does not wait for it */
     "tutti-schedule 1 reduce x P=3 blocks=1\n"
     "rank 0\n 0 recv_split <-1..2 tmp[0..1]\n 1 recv <-2 tmp[0]\n"
     " 2 reduce dst[0] = src[0] op tmp[0] last after 0 1\n"
     "rank 1\n 0 send ->0 src[0]\n 1 send ->2 src[0]\n"
     "rank 2\n 0 send ->0 src[0]\n 1 recv_reduce <-1 tmp[0] = in op src[0]\n"
     " 2 send ->0 tmp[0] after 1\n",
     "rank 0 step 1 (recv        <-2 tmp[0]): it must wait for step 0"},
    {/* the inputs of a receive that reduces arrive together, then rank 2's next message */
     "tutti-schedule 1 allreduce x P=3 blocks=1\n"
     "rank 0 inplace\n 0 send ->1..2 dst[0]\n 1 recv_reduce <-1..2 tmp[0] = dst[0] op in\n"
     " 2 recv <-2 dst[0]\n"
     "rank 1\n 0 recv <-0 tmp[0]\n 1 send ->2 src[0]\n 2 send ->0 src[0] after 0\n"
     " 3 recv <-2 dst[0]\n"
     "rank 2\n 0 recv <-0 tmp[0]\n 1 recv <-1 tmp[1]\n 2 send ->0 src[0]\n"
     " 3 reduce dst[0] = src[0] op tmp[0] op tmp[1] last after 0 1\n 4 send ->0..1 dst[0] after "
     "3\n",
     NULL},
    {/* a caller may give block 0 no bytes; then it signals nothing about block 1 */
     "tutti-schedule 1 allgather x P=2\n"
     "rank 0\n 0 recv <-1 tmp[1]\n 1 send ->1 tmp[1] after 0\n 2 copy dst[0] = src[0]\n"
     " 3 send ->1 src[0]\n 4 recv <-1 tmp[0]\n 5 recv <-1 tmp[1] after 4\n"
     " 6 copy dst[1] = tmp[1] after 5\n"
     "rank 1\n 0 send ->0 src[1]\n 1 recv <-0 tmp[1]\n 2 recv <-0 dst[0]\n"
     " 3 send ->0 dst[0] after 1 2\n 4 send ->0 src[1]\n 5 copy dst[1] = src[1]\n",
     "rank 0 step 5 (recv        <-1 tmp[1]  after 4): it must wait for step 1"},
    {/* the writer waits for one of two readers */
     "tutti-schedule 1 reduce x P=2 blocks=1\n"
     "rank 0\n 0 copy tmp[0] = src[0]\n 1 send ->1 tmp[0] after 0\n 2 copy tmp[1] = tmp[0] after "
     "0\n"
     " 3 recv <-1 tmp[0] after 2\n 4 reduce dst[0] = tmp[1] op tmp[0] last after 2 3\n"
     "rank 1\n 0 recv <-0 tmp[0]\n 1 send ->0 src[0]\n",
     "rank 0 step 3 (recv        <-1 tmp[0]  after 2): it must wait for step 1"},
    {/* the rank's own part is not written */
     "tutti-schedule 1 allgather x P=2\n"
     "rank 0\n 0 copy dst[0] = src[0]\n 1 recv_split <-0..1 dst[0..1]\n 2 send ->1 src[0]\n"
     "rank 1\n 0 copy dst[1] = src[1]\n 1 recv_split <-0..1 dst[0..1]\n 2 send ->0 src[1]\n",
     NULL},
    {/* the sum waits for two of three operands */
     "tutti-schedule 1 reduce x P=3 blocks=1\n"
     "rank 0\n 0 recv <-1 tmp[0]\n 1 recv <-2 tmp[1]\n"
     " 2 reduce dst[0] = src[0] op tmp[0] op tmp[1] last after 1\n"
     "rank 1\n 0 send ->0 src[0]\nrank 2\n 0 send ->0 src[0]\n",
     "it must wait for step 0, whose blocks may still be in use: tmp[0]"},
    {/* in place there is one buffer, under both names */
     "tutti-schedule 1 broadcast x P=2 blocks=1\n"
     "rank 0 inplace\n 0 send ->1 src[0]\nrank 1\n 0 recv <-0 dst[0]\n",
     NULL},
    {"tutti-schedule 1 broadcast x P=2 blocks=2\n"
     "rank 0\n 0 copy dst[0] = src[0..1]\n 1 send ->1 src[0..1]\nrank 1\n 0 recv <-0 dst[0..1]\n",
     "its operands are of different blocks"},
    {/* a message of one block matches a receive of two */
     "tutti-schedule 1 broadcast x P=2 blocks=2\n"
     "rank 0 inplace\n 0 send ->1 dst[0]\n 1 send ->1 dst[1]\n"
     "rank 1\n 0 recv <-0 dst[0..1]\n 1 recv <-0 dst[1] after 0\n",
     "rank 1 step 0 receives other blocks than these"},
    {"tutti-schedule 1 reduce x P=2 blocks=1\n"
     "rank 0\n 0 send ->0 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\n",
     "it sends to no other rank, and receives from none"},
    {"tutti-schedule 1 reduce x P=3 blocks=1\n"
     "rank 0\n 0 recv_reduce <-1..2 dst[0] = in op src[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\nrank 2\n 0 send ->0 src[0]\n",
     "it adds its own operand among its peers', but this rank is not one of its peers"},
    {"tutti-schedule 1 reduce x P=3 blocks=1\n"
     "rank 0\n 0 recv <-1..2 tmp[0]\n 1 reduce dst[0] = src[0] op tmp[0] last after 0\n"
     "rank 1\n 0 send ->0 src[0]\nrank 2\n 0 send ->0 src[0]\n",
     "several peers would write the same blocks"},
    {/* the same sum as rank 0's, which is marked */
     "tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv_reduce <-0 dst[0] = in op src[0]\n",
     "rank 1, at the end, dst[0]: the step that completes this sum is not marked last"},
};

static void wrong_schedules_are_refused_in_words(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tutti_report report = {.size = sizeof report};
    if (tutti_schedule_check(cases[i].text, &report)) fail_msg("%s", tutti_error());
    if (!cases[i].witness && !report.proven) fail_msg("case %zu: %s", i, report.witness);
    if (cases[i].witness && (report.proven || !strstr(report.witness, cases[i].witness)))
      fail_msg("case %zu: wanted '%s', got '%s'", i, cases[i].witness, report.witness);
  }
}

/* The properties that a call relies on follow from the values. */
static const struct {
  const char *text;
  bool rank_order, same_grouping, transitive;
} properties[] = {
    {"tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv_reduce <-0 dst[0] = in op src[0] last\n",
     true, true, false},
    {/* each rank begins with its own input */
     "tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv_reduce <-0 dst[0] = src[0] op in last\n",
     false, false, true},
    {/* (0 + 1) + 2 and 0 + (1 + 2) */
     "tutti-schedule 1 allreduce x P=3 blocks=1 derive\n"
     "rank 0\n 0 send ->2 src[0]\n 1 recv_reduce <-1 tmp[0] = src[0] op in\n"
     " 2 recv_reduce <-2 dst[0] = tmp[0] op in last\n"
     "rank 1\n 0 send ->0 src[0]\n 1 send ->2 src[0]\n 2 recv <-2 dst[0]\n"
     "rank 2\n 0 send ->0 src[0]\n 1 recv_reduce <-1 tmp[0] = in op src[0]\n"
     " 2 recv_reduce <-0 dst[0] = in op tmp[0] last\n 3 send ->1 dst[0]\n",
     true, false, false},
    {/* rank 2 does the same as rank 1, not the same shifted by one */
     "tutti-schedule 1 allgather x P=3 derive\n"
     "rank 0\n 0 copy dst[0] = src[0]\n 1 send ->1 src[0]\n 2 recv <-2 dst[2]\n"
     " 3 send ->1 dst[2]\n 4 recv <-2 dst[1]\n"
     "rank 1\n 0 copy dst[1] = src[1]\n 1 send ->2 src[1]\n 2 recv <-0 dst[0]\n"
     " 3 send ->2 dst[0]\n 4 recv <-0 dst[2]\n"
     "rank 2\n 0 copy dst[2] = src[2]\n 1 send ->0 src[2]\n 2 recv <-1 dst[1]\n"
     " 3 send ->0 dst[1]\n 4 recv <-1 dst[0]\n",
     true, true, true},
    {/* the ranks add different inputs */
     "tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv <-1 tmp[0]\n 2 copy tmp[1] = tmp[0]\n"
     " 3 reduce dst[0] = src[0] op tmp[0] last\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv <-0 tmp[0]\n 2 copy tmp[1] = tmp[0]\n"
     " 3 reduce dst[0] = src[0] op tmp[1] last\n",
     false, false, false},
    {/* one rank completes a sum that no result uses */
     "tutti-schedule 1 allreduce x P=2 blocks=1 derive\n"
     "rank 0\n 0 send ->1 src[0]\n 1 recv_reduce <-1 dst[0] = src[0] op in last\n"
     " 2 reduce tmp[0] = src[0] op dst[0]\n"
     "rank 1\n 0 send ->0 src[0]\n 1 recv_reduce <-0 dst[0] = src[0] op in last\n"
     " 2 reduce tmp[0] = src[0] op dst[0] last\n",
     false, false, false},
    {/* one rank sends later than it could */
     "tutti-schedule 1 allreduce x P=2 blocks=1\n"
     "rank 0\n 0 copy tmp[0] = src[0]\n 1 send ->1 src[0]\n"
     " 2 recv_reduce <-1 dst[0] = src[0] op in last\n"
     "rank 1\n 0 copy tmp[0] = src[0]\n 1 send ->0 src[0] after 0\n"
     " 2 recv_reduce <-0 dst[0] = src[0] op in last\n",
     false, false, false},
    {/* the parts of two peers are swapped, and the copies swap them back */
     "tutti-schedule 1 alltoall x P=3 derive\n"
     "rank 0\n 0 send_split ->0..2 src[0..2]\n 1 recv_split <-0..2 tmp[0..2]\n"
     " 2 copy dst[0] = src[0]\n 3 copy dst[1..2] = tmp[1..2]\n"
     "rank 1\n 0 send_split ->1..0 src[1..0%3]\n 1 recv_split <-1..0 tmp[1..0%3]\n"
     " 2 copy dst[1] = src[1]\n 3 copy dst[2..0%3] = tmp[2..0%3]\n"
     "rank 2\n 0 send_split ->2..1 src[2..1%3]\n 1 recv_split <-2..1 tmp[2..1%3]\n"
     " 2 copy dst[2] = src[2]\n 3 copy dst[0..1] = tmp[0..1]\n",
     true, true, true},
};

static void properties_follow_from_the_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    tutti_report report = {.size = sizeof report};
    assert_int_equal(tutti_schedule_check(properties[i].text, &report), TUTTI_OK);
    if (!report.proven) fail_msg("schedule %zu: %s", i, report.witness);
    if (report.rank_order != properties[i].rank_order ||
        report.same_grouping != properties[i].same_grouping ||
        report.transitive != properties[i].transitive)
      fail_msg("schedule %zu: rank order %d, same grouping %d, transitive %d", i, report.rank_order,
               report.same_grouping, report.transitive);
  }
}

/* Each block is summed on one rank only; in doubling every rank sums every block. */
static void a_sum_is_made_once_or_on_every_rank(void **state) {
  static const struct {
    const char *name;
    bool once;
  } sums[] = {{"fold(ring)", true}, {"two-shot", true}, {"doubling", false}, {"one-shot", false}};
  (void)state;
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 4};
    tt_sched **all;
    assert_int_equal(tt_algo_build_all_named(sums[i].name, &ask, &all), TUTTI_OK);
    if (tt_summed_once(all, 4) != sums[i].once) fail_msg("%s", sums[i].name);
    tt_sched_free_all(all, 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_schedules_are_refused_in_words),
                                     cmocka_unit_test(properties_follow_from_the_values),
                                     cmocka_unit_test(a_sum_is_made_once_or_on_every_rank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
