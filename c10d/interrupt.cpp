// interrupt.cpp - handlers of signals while a thread waits (interrupt.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "interrupt.hpp"

#include <torch/csrc/utils/pybind.h>

#include <atomic>

namespace tutti_c10d {

static std::atomic<bool> some{false};

void give_up(tutti_comm *comm) {
  some = true;
  tutti_comm_abort(comm, "it was interrupted while it waited");
}

bool kept() {
  return some.load(std::memory_order_relaxed);
}

void raise_kept() {
  if (!Py_IsInitialized()) return;
  const pybind11::gil_scoped_acquire held;
  const auto tutti = pybind11::module_::import("tutti._lib");
  if (!tutti.attr("on_main_thread")().cast<bool>()) return;
  some = false;
  tutti.attr("raise_kept")();
}

}  // namespace tutti_c10d
