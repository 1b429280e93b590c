// tensors.hpp - conversion of PyTorch's tensors and ops for tutti. All functions throw an error message.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_TENSORS_HPP
#define TUTTI_C10D_TENSORS_HPP

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "task.hpp"

namespace tutti_c10d {

// Checks: dense (any strides), in this machine's memory or on a usable device.
void check(const char *call, const at::Tensor &t);
// The one tensor of a list.
at::Tensor &only(const char *call, Tensors &list);
// `list` has n tensors of the type and size of `like`.
void check_list(const char *call, const Tensors &list, size_t n, const at::Tensor &like);
// The same for parts of several sizes: rank `me`'s has the size of `like`.
void check_parts(const char *call, const Tensors &list, size_t n, const at::Tensor &like, int me);
tutti_type type_of(const char *call, const at::Tensor &t);
// A sum of bools is `or`, a product `and`.
tutti_op op_of(const char *call, const c10d::ReduceOp &op, const at::Tensor &t);

// All tensors of a list in one piece: where they are, if they are in order and contiguous, or new memory.
struct Flat {
  at::Tensor all;
  bool copied;
  std::vector<size_t> counts;  // their numbers of elements; empty: they have one size
};
Flat flat(Tensors &list);
// Copy from a list into such a piece, and back. Invisible to autograd.
void join(Tensors &list, const at::Tensor &all);
void spread(const char *call, const at::Tensor &all, const Tensors &list);

[[noreturn]] void refuse(const char *call, const std::string &why);

}  // namespace tutti_c10d
#endif
