// heap.cpp - tensors in the memory that the ranks of a machine share (heap.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "heap.hpp"

#include <c10/core/CPUAllocator.h>
#include <mutex>
#include <utility>

#include "since.hpp"

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
#if TUTTI_TORCH(2, 3)  // allocators copy, and may change themselves
  at::DataPtr allocate(size_t bytes) override {
#else
  at::DataPtr allocate(size_t bytes) const override {
#endif
    void *at = nullptr;
    if (!here || bytes < LEAST || tutti_mem_alloc(here.get(), bytes, &at)) return usual_->allocate(bytes);
    return {at, new Block{here, at}, &give_back, at::Device(at::kCPU)};
  }
#if TUTTI_TORCH(2, 3)
  void copy_data(void *to, const void *from, size_t bytes) const override { default_copy_data(to, from, bytes); }
#endif
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
