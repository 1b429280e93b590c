// module.cpp - `import tutti.torch` adds this to PyTorch: the backend "tutti".
//
// The end    Python may end before the threads of a group that was never destroyed: at its exit all
//            groups are drained.
// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "group.hpp"
#include "live.hpp"

namespace py = pybind11;
using tutti_c10d::Group;

namespace {

c10::intrusive_ptr<c10d::ProcessGroup> create(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                                              const std::chrono::milliseconds &timeout) {
  auto group = c10::make_intrusive<Group>(store, rank, size, timeout);
  tutti_c10d::born(group);
  return group;
}

std::string explain(const c10::intrusive_ptr<c10d::ProcessGroup> &group, int64_t bytes) {
  auto *ours = dynamic_cast<Group *>(group.get());
  if (!ours) throw std::invalid_argument("tutti: explain: this is a process group of another backend");
  return ours->explain(bytes);
}

// For a group of another backend it changes nothing.
void place(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  auto *ours = dynamic_cast<Group *>(group.get());
  tutti_c10d::place_tensors(ours ? ours->comm() : nullptr);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::module::import("torch.distributed");
  m.doc() = "PyTorch's process groups over tutti.";
  m.def("create", &create, py::call_guard<py::gil_scoped_release>(), py::arg("store"), py::arg("rank"),
        py::arg("size"), py::arg("timeout"));
  m.def("drain", &tutti_c10d::drain_all, py::call_guard<py::gil_scoped_release>(), py::arg("seconds"),
        "Wait until no group has an operation in flight; after that, groups refuse new operations.");
  m.def("abort", &tutti_c10d::abort_all, py::call_guard<py::gil_scoped_release>(), py::arg("reason"),
        "Make all operations of all groups fail, here and on the other ranks, which get the reason.");
  m.def("place", &place, py::arg("group"),
        "From now on this thread's new tensors lie in the group's heap; None, or another backend's: as usual.");
  m.def("explain", &explain, py::call_guard<py::gil_scoped_release>(), py::arg("group"), py::arg("bytes"),
        "Say which plan an all_reduce of this many bytes of float runs in this group, and why.");
}
