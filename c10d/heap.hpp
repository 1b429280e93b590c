// heap.hpp - tensors in the memory that the ranks of a machine share.
//
// Idea       DistributedDataParallel takes its buckets from PyTorch's CPU allocator, on the thread that makes or
//            rebuilds its Reducer. Meanwhile this thread's allocations come from tutti's heap. So a gradient that is
//            a view of its bucket is summed where it was computed, and no rank copies its summand.
// Invariant  Other threads' tensors and those of less than a page are never affected: up to a page is copied into a
//            flag slot anyway. A tensor keeps the communicator whose memory it has.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_HEAP_HPP
#define TUTTI_C10D_HEAP_HPP

#include <memory>

#include "tutti.h"

namespace tutti_c10d {

using Comm = std::shared_ptr<tutti_comm>;

// From now on this thread's new CPU tensors lie in the communicator's heap; nullptr: where they always do. A tensor for
// which the heap has no memory lies there, too.
void place_tensors(Comm comm);

}  // namespace tutti_c10d
#endif
