/* card.h - device memory in tests, through the functions of a simulated driver (tests/gpu/) or of a GPU's.
 *
 * Idea       TUTTI_CUDA_LIBRARY names the driver, for the test and for tutti. Without a driver the tests have no device.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CARD_H
#define CARD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts the driver, and takes device `rank` mod the number of devices. False: no device, with the reason in
 * `why`. */
bool card_open(int rank, char *why, size_t size);
void *card_alloc(size_t bytes); /* NULL: out of memory */
void card_free(void *memory);
/* Copies in stream order (NULL: the default stream), and waits for the copy. False: the device failed. */
bool card_put(void *card, const void *host, size_t bytes, void *stream);
bool card_get(void *host, const void *card, size_t bytes, void *stream);
void *card_stream(void); /* a new stream, which does not wait for the default one */
bool card_settle(void *stream);
/* Later work on this stream waits until card_release, which releases all streams and may be called once. */
bool card_hold(void *stream);
void card_release(void);
/* Sets bytes of device memory, in stream order. */
bool card_fill(void *card, unsigned char value, size_t bytes, void *stream);

#endif
