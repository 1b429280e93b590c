// module.cpp - `import tutti.torch` adds this to PyTorch: the backend "tutti".
//
// The class  PyTorch 2 takes an object of class ProcessGroup itself for one of its own, whose backends it asks; a group of
//            tutti's has a class that is derived from it. PyTorch hands groups over as an intrusive_ptr, so the holder has
//            the layout of one; the last reference is given up without Python's lock, for which the group's threads may wait.
// The end    Python may end before the threads of a group that was never destroyed: at its exit all
//            groups are drained.
// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "group.hpp"
#include "live.hpp"

namespace py = pybind11;
using tutti_c10d::Group;

template <typename T>
class Unlocked {
 public:
  Unlocked() = default;
  explicit Unlocked(T *object) : held_(c10::intrusive_ptr<T>::unsafe_steal_from_new(object)) {}
  Unlocked(const Unlocked &) = default;
  Unlocked &operator=(const Unlocked &) = default;
  ~Unlocked() {
    if (!held_ || !PyGILState_Check()) return;
    const py::gil_scoped_release released;
    held_.reset();
  }
  T *get() const { return held_.get(); }

 private:
  c10::intrusive_ptr<T> held_;
};
PYBIND11_DECLARE_HOLDER_TYPE(T, Unlocked<T>, true)
static_assert(sizeof(Unlocked<Group>) == sizeof(c10::intrusive_ptr<Group>),
              "PyTorch reads it as an intrusive_ptr");

namespace {

c10::intrusive_ptr<Group> create(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                                 const std::chrono::milliseconds &timeout) {
  auto group = c10::make_intrusive<Group>(store, rank, size, timeout);
  tutti_c10d::born(group);
  return group;
}

std::string explain(const c10::intrusive_ptr<c10d::ProcessGroup> &group, int64_t bytes) {
  auto *ours = dynamic_cast<Group *>(group.get());
  if (!ours)
    throw std::invalid_argument("tutti: explain: this is a process group of another backend");
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
  py::class_<Group, Unlocked<Group>, c10d::ProcessGroup>(
      m, "Group", "A process group of PyTorch over a communicator of tutti.");
  m.def("create", &create, py::call_guard<py::gil_scoped_release>(), py::arg("store"),
        py::arg("rank"), py::arg("size"), py::arg("timeout"));
  m.def(
      "drain", &tutti_c10d::drain_all, py::call_guard<py::gil_scoped_release>(), py::arg("seconds"),
      "Wait until no group has an operation in flight; after that, groups refuse new operations.");
  m.def(
      "abort", &tutti_c10d::abort_all, py::call_guard<py::gil_scoped_release>(), py::arg("reason"),
      "Make all operations of all groups fail, here and on the other ranks, which get the reason.");
  m.def("place", &place, py::arg("group"),
        "From now on this thread's new tensors lie in the group's heap; None, or another "
        "backend's: as usual.");
  m.def("explain", &explain, py::call_guard<py::gil_scoped_release>(), py::arg("group"),
        py::arg("bytes"),
        "Say which plan an all_reduce of this many bytes of float runs in this group, and why.");
}
