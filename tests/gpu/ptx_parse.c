/* ptx_parse.c - reads a PTX module: its head, and its kernels with their parameters, registers and
 * labels.
 *
 * Idea       A word is a name including its dots, a number, or a single character. The reader stops
 *            at the first error and frees everything.
 * Strict     A module must begin with .version, .target and .address_size, in this order. The
 *            target must be one that sm_70 can run. Everything unsupported is an error.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_text.h"

enum { TARGET = 70, MOST_PARAMS = 4096 };

void ptx_fail(ptx_reader *r, const char *format, ...) {
  if (r->failed) return;
  va_list list;
  va_start(list, format);
  const int n = snprintf(r->why, r->size, "line %d: ", r->line);
  vsnprintf(r->why + n, r->size - (size_t)n, format, list);
  va_end(list);
  r->failed = true;
  r->word[0] = 0;
}

static bool is_inside(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

static void skip_space(ptx_reader *r) {
  for (;;) {
    if (*r->at == '\n') r->line++;
    if (isspace((unsigned char)*r->at)) {
      r->at++;
    } else if (r->at[0] == '/' && r->at[1] == '/') {
      while (*r->at && *r->at != '\n') r->at++;
    } else if (r->at[0] == '/' && r->at[1] == '*') {
      const char *end = strstr(r->at + 2, "*/");
      for (; end && r->at < end; r->at++) r->line += *r->at == '\n';
      r->at = end ? end + 2 : r->at + strlen(r->at);
    } else {
      return;
    }
  }
}

void ptx_next(ptx_reader *r) {
  if (r->failed) return;
  skip_space(r);
  size_t n = 0;
  if (is_inside(*r->at)) {
    while (is_inside(r->at[n])) n++;
  } else {
    n = *r->at != 0;
  }
  if (n >= PTX_WORD) {
    ptx_fail(r, "a word of %zu characters", n);
    return;
  }
  memcpy(r->word, r->at, n);
  r->word[n] = 0;
  r->at += n;
}

bool ptx_is(const ptx_reader *r, const char *word) {
  return strcmp(r->word, word) == 0;
}

void ptx_expect(ptx_reader *r, const char *word) {
  if (!ptx_is(r, word)) ptx_fail(r, "expected %s, found '%s'", word, r->word);
  ptx_next(r);
}

int64_t ptx_number(ptx_reader *r) {
  const bool negative = ptx_is(r, "-");
  if (negative) ptx_next(r);
  char *end;
  const uint64_t value = strtoull(r->word, &end, 0);
  if (*end == 'U') end++;
  if (!isdigit((unsigned char)r->word[0]) || *end)
    ptx_fail(r, "expected a number, found '%s'", r->word);
  ptx_next(r);
  return (int64_t)(negative ? 0 - value : value);
}

ptx_type ptx_type_of(const char *word) {
  static const char *const names[] = {
      [PTX_B8] = "b8",   [PTX_B16] = "b16", [PTX_B32] = "b32", [PTX_B64] = "b64",
      [PTX_U8] = "u8",   [PTX_U16] = "u16", [PTX_U32] = "u32", [PTX_U64] = "u64",
      [PTX_S8] = "s8",   [PTX_S16] = "s16", [PTX_S32] = "s32", [PTX_S64] = "s64",
      [PTX_F16] = "f16", [PTX_F32] = "f32", [PTX_F64] = "f64", [PTX_PRED] = "pred"};
  for (int t = PTX_B8; t <= PTX_PRED; t++)
    if (strcmp(names[t], word) == 0) return (ptx_type)t;
  return PTX_NONE;
}

void *ptx_grow(ptx_reader *r, void *list, int n, int *room, size_t size) {
  if (n < *room) return list;
  const int more = *room ? 2 * *room : 64;
  void *longer = realloc(list, (size_t)more * size);
  if (!longer) {
    ptx_fail(r, "out of memory");
    return NULL;
  }
  *room = more;
  return longer;
}

/* ---- registers and labels ---- */

int ptx_slot_of(const ptx_reader *r, const char *name, ptx_type *type) {
  size_t stem = strlen(name);
  while (stem && isdigit((unsigned char)name[stem - 1])) stem--;
  const bool leads = name[stem] == '0' && name[stem + 1]; /* %r01 and %r1 are different registers */
  const long number = name[stem] && !leads ? strtol(name + stem, NULL, 10) : -1;
  for (int i = 0; i < r->nnames; i++) {
    const ptx_names *n = &r->names[i];
    const bool one = n->n < 0 && strcmp(n->name, name) == 0;
    const bool of_many = number >= 0 && number < n->n && strlen(n->name) == stem &&
                         strncmp(n->name, name, stem) == 0;
    if (!one && !of_many) continue;
    if (type) *type = n->type;
    return n->first + (one ? 0 : (int)number);
  }
  return -1;
}

int ptx_slot_new(ptx_reader *r, uint64_t value) {
  ptx_function *f = r->f;
  uint64_t *first = ptx_grow(r, f->first, f->nslots, &r->slot_room, sizeof *first);
  if (!first) return 0;
  f->first = first;
  first[f->nslots] = value;
  return f->nslots++;
}

/* Declares a register, or n numbered ones. */
static void declare(ptx_reader *r, const char *name, int64_t n, ptx_type type, uint64_t value) {
  ptx_names *names =
      r->failed ? NULL : ptx_grow(r, r->names, r->nnames, &r->name_room, sizeof *names);
  if (!names) return;
  r->names = names;
  if (strlen(name) >= sizeof names->name || n > 1 << 15)
    ptx_fail(r, "a name too long, or too many registers");
  for (int i = 0; i < r->nnames; i++)
    if (strcmp(names[i].name, name) == 0) ptx_fail(r, "the register %s is declared twice", name);
  if (n < 0 && ptx_slot_of(r, name, NULL) >= 0)
    ptx_fail(r, "the register %s is declared twice", name);
  if (r->failed) return;
  names[r->nnames] = (ptx_names){.n = (int)n, .first = r->f->nslots, .type = type};
  strcpy(names[r->nnames++].name, name);
  for (int64_t i = 0; i < (n < 0 ? 1 : n); i++) ptx_slot_new(r, value);
}

int ptx_label_of(ptx_reader *r, const char *name) {
  for (int i = 0; i < r->nlabels; i++)
    if (strcmp(r->labels[i].name, name) == 0) return i;
  ptx_label *labels = ptx_grow(r, r->labels, r->nlabels, &r->label_room, sizeof *labels);
  if (!labels) return 0;
  r->labels = labels;
  strcpy(labels[r->nlabels].name, name);
  labels[r->nlabels].at = -1;
  labels[r->nlabels].line = r->line;
  return r->nlabels++;
}

/* Reads a declaration such as .reg .b32 %r<10>, %x. Registers start with arbitrary values, so that programs that rely
 * on them fail. */
static void read_registers(ptx_reader *r) {
  ptx_next(r);
  const ptx_type type = r->word[0] == '.' ? ptx_type_of(r->word + 1) : PTX_NONE;
  if (type == PTX_NONE || ptx_bytes(type) < 2 - (type == PTX_PRED))
    ptx_fail(r, "no register is of type %s", r->word);
  const uint64_t garbage = type == PTX_PRED ? 1 : 0xdeadbeefdeadbeef >> (64 - 8 * ptx_bytes(type));
  do {
    ptx_next(r);
    char name[PTX_WORD];
    strcpy(name, r->word);
    if (name[0] != '%' || strchr(name, '.')) ptx_fail(r, "'%s' is not the name of a register", name);
    ptx_next(r);
    int64_t n = -1;
    if (ptx_is(r, "<")) {
      ptx_next(r);
      n = ptx_number(r);
      ptx_expect(r, ">");
    }
    declare(r, name, n, type, garbage);
  } while (ptx_is(r, ","));
  ptx_expect(r, ";");
}

/* Reads a declaration .align 8 .b8 name[bytes]. */
static unsigned read_array(ptx_reader *r, char *name, size_t size, unsigned *align) {
  ptx_expect(r, ".align");
  *align = (unsigned)ptx_number(r);
  if (*align < 1 || *align > 16 || *align & (*align - 1)) ptx_fail(r, "an alignment of %u", *align);
  ptx_expect(r, ".b8");
  snprintf(name, size, "%s", r->word);
  ptx_next(r);
  ptx_expect(r, "[");
  const int64_t bytes = ptx_number(r);
  ptx_expect(r, "]");
  if (bytes < 1 || bytes > 1 << 16) ptx_fail(r, "an array of %lld bytes", (long long)bytes);
  return (unsigned)bytes;
}

static void read_local(ptx_reader *r) {
  unsigned align;
  ptx_next(r);
  if (r->local[0]) ptx_fail(r, "a second local array");
  r->f->local_bytes = read_array(r, r->local, sizeof r->local, &align);
  ptx_expect(r, ";");
}

/* ---- a kernel ---- */

static void read_param(ptx_reader *r) {
  ptx_function *f = r->f;
  char name[PTX_WORD];
  unsigned align, bytes;
  ptx_expect(r, ".param");
  if (ptx_is(r, ".align")) {
    bytes = read_array(r, name, sizeof name, &align);
  } else {
    const ptx_type type = r->word[0] == '.' ? ptx_type_of(r->word + 1) : PTX_NONE;
    if (type == PTX_NONE || type == PTX_PRED) ptx_fail(r, "no parameter is of type %s", r->word);
    align = bytes = ptx_bytes(type);
    ptx_next(r);
    strcpy(name, r->word);
    ptx_next(r);
  }
  ptx_param *params =
      r->failed ? NULL : realloc(f->params, (size_t)(f->nparams + 1) * sizeof *params);
  char *copy = params ? strdup(name) : NULL;
  if (params) f->params = params;
  if (!copy) {
    ptx_fail(r, "out of memory");
    return;
  }
  const unsigned offset = (f->param_bytes + align - 1) / align * align;
  params[f->nparams++] = (ptx_param){copy, offset, bytes};
  f->param_bytes = offset + bytes;
  if (f->param_bytes > MOST_PARAMS)
    ptx_fail(r, "the parameters have more than %d bytes", MOST_PARAMS);
}

static void read_body(ptx_reader *r) {
  ptx_expect(r, "{");
  while (!r->failed && !ptx_is(r, "}")) {
    if (ptx_is(r, ".reg")) {
      read_registers(r);
    } else if (ptx_is(r, ".local")) {
      read_local(r);
    } else if (*r->at == ':' &&
               (isalpha((unsigned char)r->word[0]) || r->word[0] == '$' || r->word[0] == '_')) {
      const int label = ptx_label_of(r, r->word);
      if (r->failed) return;
      if (r->labels[label].at >= 0) ptx_fail(r, "the label %s is there twice", r->word);
      r->labels[label].at = r->f->ncode;
      ptx_next(r);
      ptx_next(r);
    } else if (!r->word[0]) {
      ptx_fail(r, "the text ends inside a kernel");
    } else {
      ptx_read_insn(r);
    }
  }
  ptx_next(r);
  for (int i = 0; i < r->nlabels && !r->failed; i++)
    if (r->labels[i].at < 0) {
      r->line = r->labels[i].line;
      ptx_fail(r, "the label %s is not defined", r->labels[i].name);
    }
  for (int i = 0; i < r->f->ncode && !r->failed; i++)
    if (r->f->code[i].op == PTX_BRA) r->f->code[i].target = r->labels[r->f->code[i].target].at;
}

static void read_entry(ptx_reader *r) {
  static const char *const special[PTX_SPECIALS] = {
      "%tid.x",   "%tid.y",   "%tid.z",   "%ntid.x",   "%ntid.y",   "%ntid.z",
      "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z"};
  ptx_next(r);
  ptx_expect(r, ".entry");
  r->f->name = r->failed ? NULL : strdup(r->word);
  r->nlabels = r->nnames = r->slot_room = r->code_room = 0;
  r->local[0] = 0;
  for (int i = 0; i < PTX_SPECIALS; i++) declare(r, special[i], -1, PTX_U32, 0);
  ptx_next(r);
  ptx_expect(r, "(");
  if (!ptx_is(r, ")")) read_param(r);
  while (ptx_is(r, ",")) {
    ptx_next(r);
    read_param(r);
  }
  ptx_expect(r, ")");
  read_body(r);
}

static void read_head(ptx_reader *r) {
  ptx_next(r);
  ptx_expect(r, ".version");
  if (atof(r->word) < 6) ptx_fail(r, "version '%s'", r->word);
  ptx_next(r);
  ptx_expect(r, ".target");
  if (strncmp(r->word, "sm_", 3) != 0 || atoi(r->word + 3) > TARGET || atoi(r->word + 3) < 30)
    ptx_fail(r, "the target is '%s', the device is sm_%d", r->word, TARGET);
  ptx_next(r);
  ptx_expect(r, ".address_size");
  ptx_expect(r, "64");
}

ptx_module *ptx_parse(const char *text, char *why, size_t size) {
  ptx_reader r = {.at = text, .line = 1, .why = why, .size = size};
  ptx_module *m = calloc(1, sizeof *m);
  if (!m) ptx_fail(&r, "out of memory");
  read_head(&r);
  while (!r.failed && r.word[0]) {
    if (!ptx_is(&r, ".visible")) ptx_fail(&r, "expected .visible .entry, found '%s'", r.word);
    ptx_function *more = r.failed ? NULL : realloc(m->functions, (size_t)(m->n + 1) * sizeof *more);
    if (!more) break;
    m->functions = more;
    r.f = &more[m->n];
    memset(r.f, 0, sizeof *r.f);
    m->n++;
    read_entry(&r);
  }
  free(r.labels);
  free(r.names);
  if (!r.failed) return m;
  ptx_free(m);
  return NULL;
}

void ptx_free(ptx_module *m) {
  for (int i = 0; m && i < m->n; i++) {
    ptx_function *f = &m->functions[i];
    for (int p = 0; p < f->nparams; p++) free(f->params[p].name);
    free(f->params);
    free(f->name);
    free(f->code);
    free(f->first);
  }
  if (m) free(m->functions);
  free(m);
}
