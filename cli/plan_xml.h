/* plan_xml.h - an algorithm of MSCCL, as its XML files have it: per GPU thread blocks, each a list of steps.
 * Source    microsoft/msccl-tools, the intermediate representation that MSCCL's runtimes read.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLAN_XML_H
#define PLAN_XML_H

#include <stdbool.h>
#include <stddef.h>

/* s: send; r: receive; c: copy to dst; r (second): reduce; so rrcs receives, reduces with src, stores, and sends. */
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

typedef struct xml_place { /* chunk of a buffer: i, o or s */
  char buffer;
  int at;
} xml_place;

typedef struct xml_step {
  xml_kind kind;
  xml_place src, dst;
  int count, block,
      step; /* block, step: waits for the end of this step of that thread block; block < 0: none */
} xml_step;

typedef struct xml_block {
  int gpu, id, send, recv, channel;
  xml_step *step;
  int steps, room;
} xml_block;

typedef struct xml_algo {
  char name[80], coll[24];
  int ranks, chunks; /* chunks: of the whole vector */
  bool in_place;
  int part,
      scratch; /* part: chunks of a rank's own part, where it has one; scratch: the most of a rank */
  xml_block *block;
  int blocks, room;
} xml_algo;

/* 0, or an exit status after a complaint with the line. Free with xml_free. */
int xml_read(const char *path, const char *text, xml_algo *a);
void xml_free(xml_algo *a);

#endif
