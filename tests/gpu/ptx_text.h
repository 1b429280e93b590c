/* ptx_text.h - internals of the PTX reader: reading words of a text, and the state of the function
 * that is being read.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include "ptx_machine.h"

enum { PTX_WORD = 96 };

typedef struct
    ptx_names { /* registers NAME0, NAME1, ... in slots from `first` up; or a single register */
  char name[40];
  int n; /* -1 for a single register without a number */
  int first;
  ptx_type type;
} ptx_names;

typedef struct ptx_label {
  char name[PTX_WORD];
  int at; /* index of the next instruction, or -1 if the label is used, but not defined yet */
  int line;
} ptx_label;

typedef struct ptx_reader {
  const char *at;
  int line;
  char word[PTX_WORD]; /* the current word; "" at the end of the text */
  char *why;           /* the first error */
  size_t size;
  bool failed;
  ptx_function *f; /* the function that is being read */
  ptx_names *names;
  int nnames, name_room, slot_room, code_room;
  ptx_label *labels;
  int nlabels, label_room;
  char local[40]; /* the name of the function's local array */
} ptx_reader;

void ptx_next(ptx_reader *r); /* reads the next word */
bool ptx_is(const ptx_reader *r, const char *word);
/* Skips the next word, which must be this one. */
void ptx_expect(ptx_reader *r, const char *word);
void ptx_fail(ptx_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads an integer, which may be negative. */
int64_t ptx_number(ptx_reader *r);
/* Returns the type of a word such as "u32", or PTX_NONE. */
ptx_type ptx_type_of(const char *word);
/* Creates a slot and returns its number. */
int ptx_slot_new(ptx_reader *r, uint64_t value);
/* Returns the slot of a register, or -1 if the register is unknown. */
int ptx_slot_of(const ptx_reader *r, const char *name, ptx_type *type);
int ptx_label_of(ptx_reader *r, const char *name);
/* Grows a list of `n` items of `size` bytes by one. *room is its capacity. Returns NULL after an error. */
void *ptx_grow(ptx_reader *r, void *list, int n, int *room, size_t size);
/* Reads an instruction, from its guard to its semicolon (ptx_insns.c). */
void ptx_read_insn(ptx_reader *r);

#endif
