/* params.c - the parameters in an algorithm's name: words, key=value and levels.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo.h"

static size_t item_length(const char *item) {
  return tt_text_until(item, ",");
}

static const char *next_item(const char *item) {
  item += item_length(item);
  return *item ? item + 1 : NULL;
}

bool tt_param_word(const tt_ask *ask, const char *word) {
  for (const char *item = ask->params; item; item = next_item(item))
    if (item_length(item) == strlen(word) && strncmp(item, word, strlen(word)) == 0) return true;
  return false;
}

bool tt_param_value(const tt_ask *ask, const char *key, char *value, size_t size) {
  size_t n = strlen(key);
  for (const char *item = ask->params; item; item = next_item(item))
    if (strncmp(item, key, n) == 0 && item[n] == '=') {
      snprintf(value, size, "%.*s", (int)(item_length(item) - n - 1), item + n + 1);
      return true;
    }
  return false;
}

bool tt_param_levels(const tt_ask *ask, char *value, size_t size) {
  for (const char *item = ask->params; item; item = next_item(item))
    if (memchr(item, ':', item_length(item))) {
      snprintf(value, size, "%.*s", (int)item_length(item), item);
      return true;
    }
  return false;
}

bool tt_param_int(const tt_ask *ask, const char *key, int lo, int hi, int otherwise, int *value) {
  char text[16], *end;
  *value = otherwise;
  if (!tt_param_value(ask, key, text, sizeof text)) return true;
  long number = strtol(text, &end, 10);
  *value = (int)number;
  return end != text && !*end && number >= lo && number <= hi;
}

int tt_param_number(const tt_ask *ask, const tt_number *x) {
  int value;
  return tt_param_int(ask, x->key, x->lo, x->hi, x->otherwise, &value) ? value : x->otherwise;
}

const char *tt_number_refuse(const tt_ask *ask, const tt_number *x) {
  int value;
  return tt_param_int(ask, x->key, x->lo, x->hi, x->otherwise, &value) ? NULL : x->wrong;
}

const char *tt_param_tree(const tt_ask *ask, const char *levels, tt_tree *tree) {
  size_t size;
  char *text = tt_thread_text(&size);
  if (tt_tree_parse(levels, tree))
    snprintf(text, size, "%s", tutti_error());
  else if (tree->ranks != ask->ranks)
    snprintf(text, size, "its levels hold %d ranks, not %d", tree->ranks, ask->ranks);
  else
    return NULL;
  return text;
}

static bool listed(const char *item, size_t n, const char *words) {
  for (const char *w = words; *w; w += strspn(w, " ")) {
    size_t m = strcspn(w, " ");
    if (memchr(w, ':', m) && memchr(item, ':', n)) return true;
    if (w[m - 1] == '=' ? n > m && strncmp(item, w, m) == 0 : n == m && strncmp(item, w, m) == 0)
      return true;
    w += m;
  }
  return false;
}

const char *tt_param_refuse(const tt_ask *ask, const char *words) {
  for (const char *item = ask->params; item && *item; item = next_item(item)) {
    if (listed(item, item_length(item), words)) continue;
    size_t size;
    char *text = tt_thread_text(&size);
    snprintf(text, size, "parameter '%.*s' is none of: %s", (int)item_length(item), item,
             *words ? words : "(it takes none)");
    return text;
  }
  return NULL;
}
