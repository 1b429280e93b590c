// layout.cpp - tensors whose elements do not lie in order (layout.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensors.hpp"

namespace tutti_c10d {

namespace {

template <at::Tensor one(const at::Tensor &)>
Tensors each(const Tensors &list) {
  Tensors out;
  out.reserve(list.size());
  for (const auto &t : list) out.push_back(one(t));
  return out;
}

// May two elements share memory? No, if each dimension's stride exceeds the extent of all smaller ones.
bool shares(const at::Tensor &t) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, extent
  for (int64_t d = 0; d < t.dim(); d++)
    if (t.size(d) > 1) dims.emplace_back(t.stride(d), t.size(d));
  std::sort(dims.begin(), dims.end());
  int64_t last = 0;
  for (const auto &[step, extent] : dims) {
    if (step <= last) return true;
    last += step * (extent - 1);
  }
  return false;
}

double rounding(at::ScalarType type) {
  switch (c10::toRealValueType(type)) {
    case at::kHalf: return std::ldexp(1, -10);
    case at::kBFloat16: return std::ldexp(1, -7);
    case at::kFloat: return std::numeric_limits<float>::epsilon();
    default: return std::numeric_limits<double>::epsilon();
  }
}

// Equal, or as near as sums that were rounded in different orders.
bool alike(const at::Tensor &a, const at::Tensor &b) {
  if (!a.is_floating_point() && !a.is_complex()) return at::equal(a, b);
  const auto wide = a.is_complex() ? at::kComplexDouble : at::kDouble;
  return at::allclose(a.to(wide), b.to(wide), std::sqrt(rounding(a.scalar_type())), 0, true);
}

}  // namespace

at::Tensor in_order(const at::Tensor &t) {
  const at::NoGradGuard unseen;
  return t.contiguous();
}

Tensors in_order(const Tensors &list) {
  return each<in_order>(list);
}

at::Tensor room(const at::Tensor &t) {
  return t.is_contiguous() ? t : at::empty(t.sizes(), t.options().requires_grad(false));
}

Tensors room(const Tensors &list) {
  return each<room>(list);
}

void put_back(const char *call, const at::Tensor &to, const at::Tensor &from) {
  if (to.data_ptr() == from.data_ptr()) return;
  const at::NoGradGuard unseen;
  const at::Tensor all = from.view(to.sizes());
  at::Tensor first = all, place = to;
  for (int64_t d = 0; d < to.dim(); d++) {
    if (to.stride(d) || to.size(d) < 2) continue;
    first = first.narrow(d, 0, 1);
    place = place.narrow(d, 0, 1);
  }
  place.copy_(first);
  if (shares(to) && !alike(to, all.to(to.device())))
    refuse(call, "elements of the tensor share memory (it is expanded, or its parts overlap), and their results differ; "
                 "call .clone() first, and pass that");
}

void bring_back(Task &task, const char *call, const at::Tensor &to, const at::Tensor &from) {
  if (!to.is_same(from)) task.after = [call, to, from] { put_back(call, to, from); };
}

void bring_back(Task &task, const char *call, const Tensors &to, const Tensors &from) {
  bool there = true;
  for (size_t i = 0; i < to.size(); i++) there &= to[i].is_same(from[i]);
  if (there) return;
  task.after = [call, to, from] {
    for (size_t i = 0; i < to.size(); i++) put_back(call, to[i], from[i]);
  };
}

}  // namespace tutti_c10d
