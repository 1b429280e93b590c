// tensors.cpp - conversion of PyTorch's tensors and ops for tutti (tensors.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "tensors.hpp"

#include <stdexcept>

#include "device.hpp"
#include "layout.hpp"

namespace tutti_c10d {

void refuse(const char *call, const std::string &why) {
  throw std::invalid_argument(std::string("tutti: ") + call + ": " + why);
}

void check(const char *call, const at::Tensor &t) {
  if (t.layout() != c10::kStrided)
    refuse(call, "the tensor is sparse; make it dense (to_dense) first");
  if (!usable(t.device()))
    refuse(call, "the tensor is on " + t.device().str() +
                     (t.device().is_cuda() ? ", and tutti has found no device here (TUTTI_DEVICE=cuda says why)"
                                           : ", and tutti sums on the CPU and on CUDA devices") +
                     "; move it (.cpu()) first");
  if (t.is_conj() || t.is_neg())
    refuse(call, "the tensor is a view with another sign; call .resolve_conj() or .resolve_neg() first");
}

at::Tensor &only(const char *call, Tensors &list) {
  if (list.size() != 1)
    refuse(call, "one tensor per process is wanted, not " + std::to_string(list.size()));
  check(call, list[0]);
  return list[0];
}

void check_parts(const char *call, const Tensors &list, size_t n, const at::Tensor &like, int me) {
  if (list.size() != n)
    refuse(call, std::to_string(n) + " tensors are wanted, one per rank, not " + std::to_string(list.size()));
  for (const auto &t : list) {
    check(call, t);
    if (t.scalar_type() != like.scalar_type()) refuse(call, "tensors of a list must have one type");
  }
  if (list[static_cast<size_t>(me)].numel() != like.numel())
    refuse(call, "a rank's part must have one size in its input and its output");
}

void check_list(const char *call, const Tensors &list, size_t n, const at::Tensor &like) {
  check_parts(call, list, n, like, 0);
  for (const auto &t : list)
    if (t.numel() != like.numel())
      refuse(call, "tensors of a list must have one size; all_to_all takes parts of several sizes");
}

tutti_type type_of(const char *call, const at::Tensor &t) {
  switch (t.scalar_type()) {
    case at::kChar: return TUTTI_INT8;
    case at::kByte:
    case at::kBool: return TUTTI_UINT8;
    case at::kShort: return TUTTI_INT16;
    case at::kInt: return TUTTI_INT32;
    case at::kLong: return TUTTI_INT64;
    case at::kHalf: return TUTTI_FLOAT16;
    case at::kBFloat16: return TUTTI_BFLOAT16;
#if TUTTI_TORCH(2, 1)
    case at::kFloat8_e4m3fn: return TUTTI_FP8_E4M3;
    case at::kFloat8_e5m2: return TUTTI_FP8_E5M2;
#endif
#if TUTTI_TORCH(2, 3)
    case at::kUInt16: return TUTTI_UINT16;
    case at::kUInt32: return TUTTI_UINT32;
    case at::kUInt64: return TUTTI_UINT64;
#endif
    case at::kFloat: return TUTTI_FLOAT;
    case at::kDouble: return TUTTI_DOUBLE;
    case at::kComplexFloat: return TUTTI_COMPLEX_FLOAT;
    case at::kComplexDouble: return TUTTI_COMPLEX_DOUBLE;
    default: refuse(call, std::string("no tensors of type ") + c10::toString(t.scalar_type()));
  }
}

tutti_op op_of(const char *call, const c10d::ReduceOp &op, const at::Tensor &t) {
  const bool logical = t.scalar_type() == at::kBool;
  switch (static_cast<int>(op.op_)) {
    case static_cast<int>(c10d::ReduceOp::SUM): return logical ? TUTTI_LOR : TUTTI_SUM;
    case static_cast<int>(c10d::ReduceOp::AVG):
      if (logical) refuse(call, "bool has no average");
      return TUTTI_AVG;
    case static_cast<int>(c10d::ReduceOp::PRODUCT): return logical ? TUTTI_LAND : TUTTI_PROD;
    case static_cast<int>(c10d::ReduceOp::MIN): return logical ? TUTTI_LAND : TUTTI_MIN;
    case static_cast<int>(c10d::ReduceOp::MAX): return logical ? TUTTI_LOR : TUTTI_MAX;
    case static_cast<int>(c10d::ReduceOp::BAND): return logical ? TUTTI_LAND : TUTTI_BAND;
    case static_cast<int>(c10d::ReduceOp::BOR): return logical ? TUTTI_LOR : TUTTI_BOR;
    case static_cast<int>(c10d::ReduceOp::BXOR): return logical ? TUTTI_LXOR : TUTTI_BXOR;
#if TUTTI_TORCH(2, 0)
    case static_cast<int>(c10d::ReduceOp::PREMUL_SUM):
      refuse(call, "no PREMUL_SUM; multiply the tensor by the factor, and use SUM");
#endif
    default: refuse(call, "no such op; there are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and BXOR");
  }
}

Flat flat(Tensors &list) {
  const at::Tensor &first = list[0];
  const auto *at = static_cast<const char *>(first.data_ptr());
  bool apart = !first.has_storage(), even = true;
  int64_t all = 0;
  for (const auto &t : list) {
    apart |= static_cast<const char *>(t.data_ptr()) != at + all * first.element_size();
    apart |= !t.is_alias_of(first) || !t.is_contiguous();
    even &= t.numel() == first.numel();
    all += t.numel();
  }
  std::vector<size_t> counts;
  for (size_t i = 0; i < list.size() && !even; i++) counts.push_back(static_cast<size_t>(list[i].numel()));
  if (apart) return {at::empty({all}, first.options()), true, counts};
  return {first.as_strided({all}, {1}), false, counts};
}

void join(Tensors &list, const at::Tensor &all) {
  const at::NoGradGuard unseen;
  int64_t at = 0;
  for (const auto &t : list) {
    all.narrow(0, at, t.numel()).view(t.sizes()).copy_(t);
    at += t.numel();
  }
}

void spread(const char *call, const at::Tensor &all, const Tensors &list) {
  int64_t at = 0;
  for (const auto &t : list) {
    put_back(call, t, all.narrow(0, at, t.numel()));
    at += t.numel();
  }
}

}  // namespace tutti_c10d
