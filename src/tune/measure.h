/* measure.h - measures the plans of a call (measure.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEASURE_H
#define TT_MEASURE_H

#include "comm_view.h"

/* Measures the plans of a checked call on scratch memory. *measured (may be NULL) receives the result. */
tutti_status tt_measure_plans(tutti_comm *comm, const tt_call *call, tutti_measured *measured);
/* Measures whether compression makes a checked call faster (measure_codes.c). */
tutti_status tt_measure_codes(tutti_comm *comm, const tt_call *call);
/* To be called before a checked call is planned. Measures its plans if the communicator should measure calls that its
 * wisdom does not cover, and then whether to compress its messages. The caller must have entered the communicator. */
tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call);

#endif
