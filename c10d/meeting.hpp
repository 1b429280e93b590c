// meeting.hpp - the communicator of a process group: of ranks that find each other through PyTorch's store, or a copy.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_MEETING_HPP
#define TUTTI_C10D_MEETING_HPP

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>

#include "tutti.h"

namespace tutti_c10d {

// Collective. Throws tutti's error message: the missing ranks, ...
tutti_comm *meet(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                 std::chrono::milliseconds timeout);

// A copy, with resources of its own. Collective. Throws tutti's error message.
tutti_comm *twin(tutti_comm *comm);

// From now on calls wait so many seconds for other ranks.
tutti_status set_timeout(tutti_comm *comm, double seconds);

}  // namespace tutti_c10d
#endif
