/* call_words.h - a call as text.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CALL_WORDS_H
#define TT_CALL_WORDS_H

#include "wire.h"

/* Formats a call: "allreduce of 10 int64, sum". */
int tt_record_words(const tt_record *r, char *text, size_t size);

#endif
