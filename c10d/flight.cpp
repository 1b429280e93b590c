// flight.cpp - the last operations of all process groups of this process (flight.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "flight.hpp"

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>

namespace tutti_c10d {

namespace {

struct Ring {
  std::mutex mutex;
  std::vector<Entry> entries;
  uint64_t last = 0;  // the number of the newest entry
};

// PyTorch's own name for the number of entries, and its older one.
size_t capacity() {
  const char *said = std::getenv("TORCH_FR_BUFFER_SIZE");
  if (!said) said = std::getenv("TORCH_NCCL_TRACE_BUFFER_SIZE");
  const long n = said ? std::strtol(said, nullptr, 10) : 2000;
  return static_cast<size_t>(std::clamp(n, 0L, 1L << 20));
}

Ring &ring() {
  static auto *r = [] {  // never destroyed: a group may outlive everything
    auto *made = new Ring;
    made->entries.resize(capacity());
    return made;
  }();
  return *r;
}

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

std::atomic<bool> asked_for{false};

void set_time(uint64_t id, int64_t Entry::*time) {
  Ring &r = ring();
  if (!id) return;
  const int64_t t = now();
  std::lock_guard<std::mutex> lock(r.mutex);
  Entry &e = r.entries[id % r.entries.size()];
  if (e.id == id) e.*time = t;
}

}  // namespace

uint64_t flight_created(Entry entry) {
  Ring &r = ring();
  if (r.entries.empty()) return 0;
  entry.created = now();
  std::lock_guard<std::mutex> lock(r.mutex);
  entry.id = ++r.last;
  r.entries[entry.id % r.entries.size()] = std::move(entry);
  return r.last;
}

void flight_started(uint64_t id) {
  set_time(id, &Entry::started);
}

void flight_completed(uint64_t id) {
  set_time(id, &Entry::completed);
}

std::vector<Entry> flight_entries() {
  Ring &r = ring();
  std::lock_guard<std::mutex> lock(r.mutex);
  std::vector<Entry> out;
  const uint64_t n = r.entries.size();
  for (uint64_t id = r.last > n ? r.last - n + 1 : 1; id <= r.last; id++) out.push_back(r.entries[id % n]);
  return out;
}

void flight_note(Shapes &shapes, const std::vector<at::Tensor> &tensors) {
  for (const auto &t : tensors) {
    shapes.sizes.append(t.sizes().begin(), t.sizes().end());
    shapes.dims.push_back(static_cast<int8_t>(t.dim()));
    shapes.types.push_back(t.scalar_type());
  }
}

void flight_ask(bool asked) {
  asked_for = asked;
}

void flight_failed() {
  if (!asked_for || !Py_IsInitialized()) return;
  const pybind11::gil_scoped_acquire held;
  try {
    pybind11::module_::import("tutti.torch._flight").attr("failed")();
  } catch (pybind11::error_already_set &) {  // the operation's own error counts
  }
}

}  // namespace tutti_c10d
