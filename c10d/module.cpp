// module.cpp - `import tutti.torch` adds this to PyTorch: the backend "tutti".
//
// The class  PyTorch hands groups over as an intrusive_ptr, so the holder has the layout of one; the last reference is given up
//            without Python's lock, for which the group's threads may wait.
// The end    Python may end before the threads of a group that was never destroyed: at its exit all
//            groups are drained.
// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "flight.hpp"
#include "group.hpp"
#include "live.hpp"
#include "meeting.hpp"

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

using Limit = std::chrono::milliseconds;

// The group of tutti's behind a process group; nullptr: it is of other backends.
Group *ours_of(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  if (!group) return nullptr;
#if TUTTI_TORCH(2, 0)
  for (const auto &device : group->getDeviceTypes())
    if (auto *ours = dynamic_cast<Group *>(group->getBackend(device.type()).get())) return ours;
  return nullptr;
#else
  return dynamic_cast<Group *>(group.get());
#endif
}

using Store = c10::intrusive_ptr<c10d::Store>;

c10::intrusive_ptr<Group> of(tutti_comm *comm, const Store &store, const Limit &timeout) {
  auto group = c10::make_intrusive<Group>(comm, timeout);
  group->meets_over(store);
  tutti_c10d::born(group);
  return group;
}

c10::intrusive_ptr<Group> create(const Store &store, int rank, int size, const Limit &timeout) {
  return of(tutti_c10d::meet(store, rank, size, timeout), store, timeout);
}

c10::intrusive_ptr<Group> adopt(uintptr_t handle, const Store &store, const Limit &timeout) {
  return of(tutti_c10d::twin(reinterpret_cast<tutti_comm *>(handle)), store, timeout);
}

uintptr_t handle(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  auto *ours = ours_of(group);
  return ours ? reinterpret_cast<uintptr_t>(ours->comm().get()) : 0;
}

std::string explain(const c10::intrusive_ptr<c10d::ProcessGroup> &group, int64_t bytes) {
  auto *ours = ours_of(group);
  if (!ours)
    throw std::invalid_argument("tutti: explain: this is a process group of another backend");
  return ours->explain(bytes);
}

int number(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  auto *ours = ours_of(group);
  return ours ? ours->number() : -1;
}

py::list sizes_of(const tutti_c10d::Shapes &shapes) {
  py::list out;
  size_t at = 0;
  for (const int8_t dims : shapes.dims) {
    py::list one;
    for (int8_t i = 0; i < dims; i++) one.append(shapes.sizes[at++]);
    out.append(one);
  }
  return out;
}

py::list types_of(const tutti_c10d::Shapes &shapes) {
  py::list out;
  for (const auto type : shapes.types) out.append(c10::toString(type));
  return out;
}

py::list records() {
  py::list out;
  for (const auto &e : tutti_c10d::flight_entries()) {
    py::dict d;
    d["id"] = e.id, d["group"] = e.group, d["seq"] = e.seq, d["name"] = e.name, d["message"] = e.message;
    d["rank"] = e.rank, d["peer"] = e.peer, d["timeout"] = e.timeout;
    d["created"] = e.created, d["started"] = e.started, d["completed"] = e.completed;
    d["input_sizes"] = sizes_of(e.in), d["input_dtypes"] = types_of(e.in);
    d["output_sizes"] = sizes_of(e.out), d["output_dtypes"] = types_of(e.out);
    out.append(d);
  }
  return out;
}

// For a group of another backend it changes nothing.
void place(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  auto *ours = ours_of(group);
  tutti_c10d::place_tensors(ours ? ours->comm() : nullptr);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::module::import("torch.distributed");
  m.doc() = "PyTorch's process groups over tutti.";
  py::class_<Group, Unlocked<Group>, tutti_c10d::Base>(
      m, "Group", "A process group of PyTorch over a communicator of tutti.");
  m.def("create", &create, py::call_guard<py::gil_scoped_release>(), py::arg("store"),
        py::arg("rank"), py::arg("size"), py::arg("timeout"),
        "A process group of ranks that meet through the store. Collective.");
  m.def("adopt", &adopt, py::call_guard<py::gil_scoped_release>(), py::arg("handle"), py::arg("store"), py::arg("timeout"),
        "A process group with a copy of this communicator. Collective.");
  m.def("number", &number, py::arg("group"), "Of this process's groups, from 0; -1: it is of another backend.");
  m.def("records", &records, "The last operations of all groups, the oldest first.");
  m.def("ask", &tutti_c10d::flight_ask, py::arg("asked"),
        "Whether tutti.torch._flight.failed is called when an operation fails, before the program learns of it.");
  m.def("handle", &handle, py::arg("group"), "Of its communicator; 0: it is of another backend.");
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
