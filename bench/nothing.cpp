// nothing.cpp - a PyTorch backend that does nothing, to measure the time of a call in PyTorch itself.
// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/chrono.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/api/include/torch/version.h>
#include <torch/csrc/utils/pybind.h>

namespace {

struct Done : c10d::Work {
  explicit Done(const std::vector<at::Tensor> &tensors)
      : Work(-1, c10d::OpType::ALLREDUCE),
        future(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
    future->markCompleted(c10::IValue(tensors));
    finish();
  }
  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds) override { return true; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future; }
  c10::intrusive_ptr<c10::ivalue::Future> future;
};

#if TORCH_VERSION_MAJOR >= 2
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif

struct Nothing : Base {
  Nothing(int rank, int size) : Base(rank, size) { init(); }
  const std::string getBackendName() const override { return "nothing"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor> &tensors, const c10d::AllreduceOptions &) override {
    return c10::make_intrusive<Done>(tensors);
  }
};

c10::intrusive_ptr<Base> create(const c10::intrusive_ptr<c10d::Store> &, int rank, int size,
                                              const std::chrono::milliseconds &) {
  return c10::make_intrusive<Nothing>(rank, size);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::module::import("torch.distributed");
  m.def("create", &create, pybind11::call_guard<pybind11::gil_scoped_release>());
}
