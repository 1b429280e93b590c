/* exact_words.c - the cost of exact sums, which add numbers as multi-word integers (superacc.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"
#include "superacc.h"

tutti_status tt_exact_ranks(const char *who, int ranks) {
  if (ranks < TT_EXACT_RANKS) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: the contract 'exact' is for less than %d ranks", who,
                 TT_EXACT_RANKS);
}

/* Returns the number of bytes in the words that represent one element. */
static uint64_t bytes_of_words(tutti_type type, int ranks) {
  size_t each;
  const tutti_type real = tt_real_of(type, &each);
  return each * tt_exact_usual(real, tt_exact_width(ranks)) * sizeof(int64_t);
}

void tt_exact_problem(tutti_type type, int ranks, tt_problem *p) {
  p->needs = 0;
  p->weight = 0; /* the weight of integers */
  p->bytes = p->bytes / tutti_type_size(type) * bytes_of_words(type, ranks);
}

void tt_exact_words_say(tt_text *t, tutti_type type, int ranks) {
  const size_t size = tutti_type_size(type), words = bytes_of_words(type, ranks);
  tt_text_add(t,
              "Exact: a %s of %zu bytes becomes integers of %zu, if exponents within %d numbers "
              "span 32; a maximum of %zu bytes for each %d numbers is sent first\n",
              tutti_type_name(type), size, words, TT_BLOCK, sizeof(tt_breadth), TT_BLOCK);
}
