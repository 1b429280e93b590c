/* measure.h - measures the plans of a call (measure.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEASURE_H
#define TT_MEASURE_H

#include "comm_view.h"

/* Measures the plans of a checked call on scratch memory. If `measured` is not NULL, *measured receives the result. */
tutti_status tt_measure_plans(tutti_comm *comm, const tt_call *call, tutti_measured *measured);
/* Measures whether a checked call is faster with compression (measure_codes.c). */
tutti_status tt_measure_codes(tutti_comm *comm, const tt_call *call);
/* Call this before planning a checked call. If the communicator measures calls that its wisdom does not cover, measures the
 * plans of such a call, and then whether to compress its messages. The caller must have entered the communicator. */
tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call);

#endif
