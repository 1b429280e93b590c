/* card.h - device memory for tests, through a simulated driver (tests/gpu/) or the driver of a GPU.
 *
 * Idea       TUTTI_CUDA_LIBRARY names the driver, for the test and for tutti. Without a driver the tests have no device.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CARD_H
#define CARD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts the driver, and selects device `rank` modulo the number of devices. Returns false if there is no device,
 * with the reason in `why`. */
bool card_open(int rank, char *why, size_t size);
void *card_alloc(size_t bytes); /* returns NULL if out of memory */
void card_free(void *memory);
/* Copy in stream order (NULL is the default stream), and wait for the copy. Return false if the device failed. */
bool card_put(void *card, const void *host, size_t bytes, void *stream);
bool card_get(void *host, const void *card, size_t bytes, void *stream);
void *card_stream(void); /* creates a stream that does not wait for the default one */
bool card_settle(void *stream);
/* Lets later work on this stream wait until card_release, which releases all streams and may be called once. */
bool card_hold(void *stream);
void card_release(void);
/* Sets bytes of device memory, in stream order. */
bool card_fill(void *card, unsigned char value, size_t bytes, void *stream);

#endif
