/* plan_xml.h - an MSCCL algorithm as in its XML files: thread blocks for each GPU, and a list of
 * steps for each block.
 * Source    microsoft/msccl-tools, the intermediate representation that MSCCL's runtimes read.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLAN_XML_H
#define PLAN_XML_H

#include <stdbool.h>
#include <stddef.h>

/* The kinds of steps in MSCCL. In their names, S stands for send, R for receive, C for copy to dst, and a second R
 * for reduce. For example, RRCS receives a chunk, reduces it with src, stores the result, and sends it. */
typedef enum xml_kind {
  XML_SEND,
  XML_RECV,
  XML_RCS,
  XML_RRC,
  XML_RRS,
  XML_RRCS,
  XML_REDUCE,
  XML_COPY,
  XML_NOP,
  XML_KINDS
} xml_kind;

typedef struct xml_place { /* a chunk of buffer i, o or s */
  char buffer;
  int at;
} xml_place;

typedef struct xml_step {
  xml_kind kind;
  xml_place src, dst;
  int count, block,
      step; /* waits for the end of step `step` of thread block `block`, unless that is < 0 */
} xml_step;

typedef struct xml_block {
  int gpu, id, send, recv, channel;
  xml_step *step;
  int steps, room;
} xml_block;

typedef struct xml_algo {
  char name[80], coll[24];
  int ranks, chunks; /* chunks: number in the whole vector */
  bool in_place;
  int part, scratch; /* part: chunks of a rank's own part, if any; scratch: maximum per rank */
  xml_block *block;
  int blocks, room;
} xml_algo;

/* Reads an algorithm. Returns 0, or an exit status after an error message with a line number. Free *a with xml_free. */
int xml_read(const char *path, const char *text, xml_algo *a);
void xml_free(xml_algo *a);

#endif
