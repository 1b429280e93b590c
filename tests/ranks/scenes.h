/* scenes.h - scenes that all ranks play together, as threads or as processes: many requests, persistent
 * requests, and errors between ranks.
 *
 * Idea       a scene takes the base communicator, which it leaves usable, and
 *            makes its own. It returns true if everything is right on this rank;
 *            otherwise it has printed the failure.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCENES_H
#define SCENES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tutti.h"

typedef bool scene_fn(tutti_comm *base, uint64_t seed);
typedef struct scene {
  const char *name;
  scene_fn *play;
} scene;

extern const scene scenes[]; /* ends with a NULL name */

/* Returns `ok`; if false, prints the expectation and its source line. */
bool scene_check(bool ok, const char *file, int line, const char *text);
#define CHECK(x) scene_check((x), __FILE__, __LINE__, #x)
/* Checks a status and words that must be in tutti_error(), separated by '|'. */
bool scene_error(tutti_status got, tutti_status want, const char *words, const char *file,
                 int line);
#define ERROR(got, want, words) scene_error((got), (want), (words), __FILE__, __LINE__)

/* scenes_bucket.c */
scene_fn scene_buckets, scene_bucket_bf16, scene_bucket_helper, scene_bucket_wrong;
/* scenes_many.c */
scene_fn scene_storm, scene_persistent, scene_polling, scene_threads, scene_runaway;
/* scenes_helpers.c */
scene_fn scene_late_helpers, scene_shared_helpers, scene_wrong_helpers;
/* scenes_list.c */
scene_fn scene_lists, scene_list_types, scene_list_mismatch;
/* scenes_message.c */
scene_fn scene_ring, scene_tags, scene_any, scene_many_messages, scene_messages_of_one,
    scene_oneself, scene_wrong_messages;
/* scenes_several.c */
scene_fn scene_groups, scene_wrong_groups, scene_several, scene_several_fail, scene_own_algorithm;
/* scenes_shrink.c */
scene_fn scene_shrink, scene_shrink_late;
/* scenes_wisdom.c */
scene_fn scene_measure, scene_measure_ops, scene_wisdom;
/* scenes_wrong.c */
scene_fn scene_refusals, scene_abort, scene_mismatch, scene_timeout, scene_tests_again, scene_busy,
    scene_ops, scene_freed;

#endif
