// layout.hpp - tensors whose elements do not lie in order: transposed, channels_last, sliced, expanded ones.
//
// Idea       tutti sums element by element, in the order of the indices, so that ranks may differ in how theirs lie. A
//            tensor in that order is used where it is; of any other one a copy is, which is brought back at the end.
// Expanded   Several elements share memory, so they can take only one value. They take the first one's result, if the
//            others' is the same but for rounding; else the operation fails on this rank.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_LAYOUT_HPP
#define TUTTI_C10D_LAYOUT_HPP

#include "task.hpp"

namespace tutti_c10d {

// The tensor, or its elements in order.
at::Tensor in_order(const at::Tensor &t);
Tensors in_order(const Tensors &list);
// The tensor, or room for as many elements in order.
at::Tensor room(const at::Tensor &t);
Tensors room(const Tensors &list);
// Elements into a tensor of as many, where they do not lie there already. Autograd sees none of it.
void put_back(const char *call, const at::Tensor &to, const at::Tensor &from);
// The task does so once all of it has come.
void bring_back(Task &task, const char *call, const at::Tensor &to, const at::Tensor &from);
void bring_back(Task &task, const char *call, const Tensors &to, const Tensors &from);

}  // namespace tutti_c10d
#endif
