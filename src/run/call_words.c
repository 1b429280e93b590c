/* call_words.c - formats a call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "comm_view.h"

int tt_record_words(const tt_record *r, char *text, size_t size) {
  const char *op = tt_op_kind_name(r->op);
  if (r->coll == TUTTI_BARRIER) return snprintf(text, size, "barrier");
  const bool rooted = tt_coll_rooted((tutti_coll)r->coll);
  const bool part = r->coll == TUTTI_ALLREDUCE && r->root, varied = !rooted && !part && r->root;
  int n = snprintf(text, size, "%s%s of %llu %s%s", tutti_coll_name((tutti_coll)r->coll),
                   varied ? "_v" : "", (unsigned long long)r->count,
                   tutti_type_name((tutti_type)r->type), varied ? " in all" : "");
  if (part) n += snprintf(text + n, size - (size_t)n, " in a list of %u", r->root - 1);
  if (tt_coll_reduces((tutti_coll)r->coll)) n += snprintf(text + n, size - (size_t)n, ", %s", op);
  if (rooted) n += snprintf(text + n, size - (size_t)n, ", root %u", r->root);
  return n;
}
