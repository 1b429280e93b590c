// heap.cpp - tensors in the memory that the ranks of a machine share (heap.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "heap.hpp"

#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <utility>

namespace tutti_c10d {

namespace {

constexpr size_t LEAST = 4097;  // bytes of a tensor in the heap

thread_local Comm here;  // whose heap; nullptr: no heap

struct Block {
  Comm comm;
  void *at;
};

void give_back(void *block) {
  const std::unique_ptr<Block> b(static_cast<Block *>(block));
  tutti_mem_free(b->comm.get(), b->at);
}

class Heap : public at::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) const override {
    void *at = nullptr;
    if (!here || bytes < LEAST || tutti_mem_alloc(here.get(), bytes, &at)) return usual_->allocate(bytes);
    return {at, new Block{here, at}, &give_back, at::Device(at::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return usual_->raw_deleter(); }

 private:
  at::Allocator *const usual_ = c10::GetCPUAllocator();
};

}  // namespace

void place_tensors(Comm comm) {
  static std::once_flag once;  // programs without buckets keep PyTorch's allocator
  if (comm) std::call_once(once, [] { c10::SetCPUAllocator(new Heap); });
  here = std::move(comm);
}

}  // namespace tutti_c10d
