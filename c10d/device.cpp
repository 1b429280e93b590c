// device.cpp - operations whose tensors lie on a GPU (device.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "layout.hpp"
#include "tensors.hpp"

namespace tutti_c10d {

bool usable(const at::Device &device) {
  return device.is_cpu() || (device.is_cuda() && tutti_device_here());
}

// A stream of PyTorch's pool for each device; Python's object stays, and with it the stream.
const Order::Lane &Order::lane(const at::Device &device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, Lane> lanes;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto known = lanes.find(device.index());
    if (known != lanes.end()) return known->second;
  }
  namespace py = pybind11;
  const py::gil_scoped_acquire python;  // without the lock, for which a thread with Python's lock may wait
  py::object made = py::module::import("torch.cuda").attr("Stream")(static_cast<int>(device.index()), -1);
  const c10::Stream stream(c10::Stream::UNSAFE, device, made.attr("stream_id").cast<c10::StreamId>());
  const auto handle = made.attr("cuda_stream").cast<uintptr_t>();
  made.inc_ref();
  const std::lock_guard<std::mutex> lock(mutex);
  return lanes.emplace(device.index(), Lane{stream, reinterpret_cast<void *>(handle)}).first->second;
}

Order::Order(const at::Device &device) : device_(device), event_(device.type()) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  event_.record(guard.getStream(device));
  lane(device);
}

void *Order::stream() const {
  const Lane &mine = lane(device_);
  event_.block(mine.stream);
  return mine.handle;
}

void Order::block_default() const {
  const c10::impl::VirtualGuardImpl guard(device_.type());
  event_.block(guard.getDefaultStream(device_));
}

void Order::run(const std::function<void()> &what) const {
  const c10::Stream stream = lane(device_).stream;
  const c10::StreamGuard guard(stream);
  event_.block(stream);
  what();
  c10::Event end(device_.type());
  end.record(stream);
  while (!end.query()) std::this_thread::sleep_for(std::chrono::microseconds(10));
}

std::unique_ptr<Order> order_of(const char *call, const Tensors &inputs, const Tensors &result) {
  const at::Tensor *first = nullptr;
  for (const auto *list : {&inputs, &result}) {
    for (const auto &t : *list) {
      if (first && first->device() != t.device())
        refuse(call, "tensors are on " + first->device().str() + " and on " + t.device().str() +
                         "; move them to one device first");
      first = &t;
    }
  }
  if (!first || first->device().is_cpu()) return nullptr;
  return std::make_unique<Order>(first->device());
}

at::Tensor on_host(const at::Tensor &t) {
  const at::NoGradGuard unseen;
  return t.contiguous().cpu();
}

Tensors on_host(const Tensors &list) {
  Tensors out;
  for (const auto &t : list) out.push_back(on_host(t));
  return out;
}

at::Tensor host_room(const at::Tensor &t) {
  return t.device().is_cpu() ? room(t) : at::empty(t.sizes(), t.options().device(at::kCPU).requires_grad(false));
}

Tensors host_room(const Tensors &list) {
  Tensors out;
  for (const auto &t : list) out.push_back(host_room(t));
  return out;
}

}  // namespace tutti_c10d
