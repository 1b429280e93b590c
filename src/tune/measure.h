/* measure.h - measures the plans of a call; see measure.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEASURE_H
#define TT_MEASURE_H

#include "comm_view.h"

/* Measures the plans of a checked call on scratch memory; measured (may be NULL): the result. */
tutti_status tt_measure_plans(tutti_comm *comm, const tt_call *call, tutti_measured *measured);
/* Measures whether a checked call is faster with codes (measure_codes.c). */
tutti_status tt_measure_codes(tutti_comm *comm, const tt_call *call);
/* Before a checked call is planned: measures its plans, if the communicator is to measure what its
 * wisdom does not cover, and then whether it is coded. The comm is entered. */
tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call);

#endif
