// flight.hpp - the last operations of all process groups of this process, for the time after a failure.
//
// Idea       a ring of entries, one per operation: what it is, its tensors' sizes and types, and when it was created, started
//            and completed. After a failure the entries of all ranks show where they part (python/tutti/torch/_flight.py
//            writes them for PyTorch's analyzer, whose names the fields have).
// Cost       three short locks per operation, and no allocation for tensors of up to eight dimensions in all.
// Invariant  an entry that a newer one has replaced is not touched: entries have numbers, from 1.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_FLIGHT_HPP
#define TUTTI_C10D_FLIGHT_HPP

#include <ATen/ATen.h>
#include <c10/util/SmallVector.h>

#include <string>
#include <vector>

namespace tutti_c10d {

struct Shapes {
  c10::SmallVector<int64_t, 8> sizes;  // of all tensors
  c10::SmallVector<int8_t, 4> dims;    // the number of each tensor's
  c10::SmallVector<at::ScalarType, 4> types;
};

struct Entry {
  uint64_t id = 0;   // 0: none
  int group = 0;     // Group::number
  uint64_t seq = 0;  // of the group's collectives, or of its messages
  const char *name = "";
  int rank = 0, peer = -1;  // of a message: this one's, and the other one's (-1: any)
  bool message = false;
  Shapes in, out;
  int64_t created = 0, started = 0, completed = 0;  // ns since 1970; 0: not yet
  int64_t timeout = 0;                              // ms
};

// The number of the entry, for the two calls below; 0: nothing is recorded (TORCH_FR_BUFFER_SIZE=0). Fills in id and created.
uint64_t flight_created(Entry entry);
void flight_started(uint64_t id);
void flight_completed(uint64_t id);
// Those that are still there, the oldest first.
std::vector<Entry> flight_entries();
void flight_note(Shapes &shapes, const std::vector<at::Tensor> &tensors);

// An operation has failed: Python is told, if it has asked for that. Takes Python's lock.
void flight_failed();
void flight_ask(bool asked);

}  // namespace tutti_c10d
#endif
