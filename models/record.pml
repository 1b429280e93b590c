/* record.pml - the record of a rank's call, read by others while it may be overwritten.
 *
 * Mirrors    src/wire/shm/shm_memory.c: tt_shm_record and tt_shm_read_record, where operation 2 has
 *            the place that operation 1 had.
 * Holds      a record that is accepted for operation 1 is whole.
 * Mutants    1 fields are stored without release   2 fields are loaded without acquire
 *            3 the record is not marked as being written   4 the number is stored without release
 *            5 it is loaded without acquire
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 4
#define PROCS 2
#include "weak.h"

#define SEQ 0
#define HASH 1
#define COUNT 2
#define NEWEST 3
#define WRITING 99

proctype writer() {
  byte n = 1;
  do
  :: n <= 2 ->
    if
    :: m == 3 -> skip
    /* tag writing: src/wire/shm/shm_memory.c store relaxed */
    :: else -> store(0, ST, SEQ, WRITING)
    fi;
    /* tag field: src/wire/shm/shm_memory.c store release */
    store(0, unless(1, STR, ST), HASH, n);
    /* tag field: src/wire/shm/shm_memory.c store release */
    store(0, unless(1, STR, ST), COUNT, n);
    /* tag number: src/wire/shm/shm_memory.c store release */
    store(0, unless(4, STR, ST), SEQ, n);
    /* tag newest: src/wire/shm/shm_memory.c store release */
    store(0, STR, NEWEST, n + 1);
    n++
  :: else -> break
  od
}

proctype reader() {
  byte hash;
  /* tag newest-look: src/wire/shm/shm_memory.c load acquire */
  load(1, LDA, NEWEST, 0);
  known(1, 0);
  /* tag look: src/wire/shm/shm_memory.c load acquire */
  load(1, unless(5, LDA, LD), SEQ, 0);
  /* tag fields: src/wire/shm/shm_memory.c load acquire */
  load(1, unless(2, LDA, LD), HASH, 1);
  /* tag fields: src/wire/shm/shm_memory.c load acquire */
  load(1, unless(2, LDA, LD), COUNT, 2);
  known(1, 0);
  if
  :: R(1, 0) == 1 ->
    /* tag again: src/wire/shm/shm_memory.c load acquire */
    load(1, LDA, SEQ, 0); /* the second look */
    known(1, 0);
    known(1, 1);
    known(1, 2);
    assert(R(1, 0) != 1 || (R(1, 1) == 1 && R(1, 2) == 1))
  :: else -> skip
  fi
}

init {
  atomic { begin(); run machine(0); run machine(1); run writer(); run reader() }
}
