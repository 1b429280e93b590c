// device.hpp - operations whose tensors lie on a GPU, in the order of PyTorch's streams.
//
// Idea       An operation comes after what the caller's current stream had got when the caller called: an event of that moment
//            says so. A stream of the backend waits for the event, and the operation is one of tutti_call.h on that stream,
//            so it does not wait for what the caller computes later. tutti_stream_wait then waits for its end, as
//            a thread waits for an operation on the CPU: after Work.wait() any stream may use the result.
// Generic    It uses the parts of PyTorch that no device has for itself, so it compiles without CUDA's headers. The handle of a
//            stream, which they lack, is Python's torch.cuda.Stream.cuda_stream; PyTorch has it since 2.0.
// Invariant  Tensors are alive until the operation is complete, so the allocator of PyTorch does not hand their memory out.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_DEVICE_HPP
#define TUTTI_C10D_DEVICE_HPP

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <vector>

#include "tutti.h"

namespace tutti_c10d {

// May tensors lie there? The CPU, and CUDA where libtutti has found its driver.
bool usable(const at::Device &device);

// How a call is made: started, with a request; or in the order of a stream.
struct Way {
  tutti_request **request;  // nullptr: by a stream
  void *stream;             // the driver's handle
};
inline tutti_call call_of(tutti_coll coll, const void *src, void *dst, size_t count,
                          tutti_type type, tutti_op op = TUTTI_SUM, int root = 0,
                          const size_t *counts = nullptr) {
  tutti_call call = {};
  call.size = sizeof call;
  call.coll = coll;
  call.src = src;
  call.dst = dst;
  call.count = count;
  call.counts = counts;
  call.type = type;
  call.op = op;
  call.root = root;
  return call;
}
inline tutti_status make(const Way &way, tutti_comm *comm, tutti_call call) {
  call.stream = way.stream;
  return way.request ? tutti_call_start(comm, &call, way.request)
                     : tutti_call_on_stream(comm, &call);
}

// What an operation on a device comes after, and its stream.
class Order {
 public:
  // After all that the current stream of the device has got so far. Throws.
  explicit Order(const at::Device &device);
  // The backend's stream of this device, which waits for that moment. Throws.
  void *stream() const;
  // What the legacy default stream gets from now on waits for that moment, and so does an operation without a stream. Throws.
  void block_default() const;
  // Runs it after that moment, with the backend's stream as the current one, and waits until that stream is empty. Throws.
  void run(const std::function<void()> &what) const;

 private:
  struct Lane {
    c10::Stream stream;
    void *handle;
  };
  static const Lane &lane(const at::Device &device);
  const at::Device device_;
  c10::Event event_;
};

// The one device of these tensors; nullptr: the CPU. Throws if there are two.
std::unique_ptr<Order> order_of(const char *call, const std::vector<at::Tensor> &inputs,
                                const std::vector<at::Tensor> &result = {});

// The elements in order in the memory of the CPU, and memory there for as many: the tensor itself if it is so.
at::Tensor on_host(const at::Tensor &t);
std::vector<at::Tensor> on_host(const std::vector<at::Tensor> &list);
at::Tensor host_room(const at::Tensor &t);
std::vector<at::Tensor> host_room(const std::vector<at::Tensor> &list);

}  // namespace tutti_c10d
#endif
