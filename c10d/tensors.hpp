// tensors.hpp - what tutti makes of PyTorch's tensors and ops. All throw what is wrong, as a sentence.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_TENSORS_HPP
#define TUTTI_C10D_TENSORS_HPP

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "task.hpp"

namespace tutti_c10d {

// Dense (of any strides), in this machine's memory.
void check(const char *call, const at::Tensor &t);
// The one tensor of a list.
at::Tensor &only(const char *call, Tensors &list);
// `list` has n tensors of the type and size of `like`.
void check_list(const char *call, const Tensors &list, size_t n, const at::Tensor &like);
tutti_type type_of(const char *call, const at::Tensor &t);
// Bool is summed as or, and multiplied as and.
tutti_op op_of(const char *call, const c10d::ReduceOp &op, const at::Tensor &t);

// All of a list in one piece: where they lie, if that is in order and one behind another, or new memory.
struct Flat {
  at::Tensor all;  // n * size of one
  bool copied;
};
Flat flat(Tensors &list);
// From a list into such a piece, and back. Autograd sees none of it.
void join(Tensors &list, const at::Tensor &all);
void spread(const char *call, const at::Tensor &all, const Tensors &list);

[[noreturn]] void refuse(const char *call, const std::string &why);

}  // namespace tutti_c10d
#endif
