// since.hpp - which PyTorch this is compiled for.
//
// Base       PyTorch 2 asks a ProcessGroup for the Backend of a tensor's device; up to 1.13 the ProcessGroup does the work itself.
//            The group of tutti is the one that does the work, and has the same functions in both.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_SINCE_HPP
#define TUTTI_C10D_SINCE_HPP

#include <torch/csrc/api/include/torch/version.h>

// Is it this version or a newer one?
#define TUTTI_TORCH(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace c10d {
class Backend;
class ProcessGroup;
}  // namespace c10d

namespace tutti_c10d {
#if TUTTI_TORCH(2, 0)
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif
}  // namespace tutti_c10d
#endif
