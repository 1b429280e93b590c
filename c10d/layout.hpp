// layout.hpp - tensors whose elements are not in order: transposed, channels_last, sliced, expanded ones.
//
// Idea       tutti sums element by element, in the order of the indices, so ranks may have different memory layouts.
//            A tensor in that order is used where it is; any other is copied, and the result is copied back.
// Expanded   Several elements share memory, so they can hold only one value. They get the first one's result if the
//            others' results equal it but for rounding; else the operation fails on this rank.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_LAYOUT_HPP
#define TUTTI_C10D_LAYOUT_HPP

#include "task.hpp"

namespace tutti_c10d {

// The tensor itself if its elements are in order, else a copy in order.
at::Tensor in_order(const at::Tensor &t);
Tensors in_order(const Tensors &list);
// The tensor itself if its elements are in order, else new memory for as many.
at::Tensor room(const at::Tensor &t);
Tensors room(const Tensors &list);
// Copies elements back into the tensor, unless they are there already. Invisible to autograd.
void put_back(const char *call, const at::Tensor &to, const at::Tensor &from);
// The same, as a task's last action, after all its data has come.
void bring_back(Task &task, const char *call, const at::Tensor &to, const at::Tensor &from);
void bring_back(Task &task, const char *call, const Tensors &to, const Tensors &from);

}  // namespace tutti_c10d
#endif
