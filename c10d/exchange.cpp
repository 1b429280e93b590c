// exchange.cpp - all to all: blocks of equal size by tutti's collective, of different sizes as messages, which tensors on a
// device take through the memory of the CPU.
// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>

#include "group.hpp"
#include "device.hpp"
#include "layout.hpp"
#include "tensors.hpp"

namespace tutti_c10d {

namespace {

// Starts all messages of this rank.
tutti_status swap_all(tutti_comm *comm, const Tensors &to, const Tensors &from, Requests &requests) {
  const int ranks = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < 2 * ranks && !status; i++) {  // receives are started first
    const bool in = i < ranks;
    const int peer = (me + i % ranks) % ranks;
    const at::Tensor &t = (in ? to : from)[static_cast<size_t>(peer)];
    if (peer == me || t.nbytes() == 0) continue;
    tutti_request *r = nullptr;
    status =
        in ? tutti_recv_start(comm, t.data_ptr(), t.nbytes(), TUTTI_UINT8, peer, 0, nullptr, &r)
           : tutti_send_start(comm, t.data_ptr(), t.nbytes(), TUTTI_UINT8, peer, 0, &r);
    if (!status) requests.push_back(r);
  }
  if (status) tutti_comm_abort(comm, tutti_error());  // the others wait for this one
  return status;
}

Tensors parts(const char *call, const at::Tensor &whole, const std::vector<int64_t> &sizes, size_t ranks) {
  const int64_t rows = whole.dim() ? whole.size(0) : 1;
  std::vector<int64_t> each = sizes;
  if (each.empty() && rows % static_cast<int64_t>(ranks) == 0)
    each.assign(ranks, rows / static_cast<int64_t>(ranks));
  if (each.size() != ranks || std::accumulate(each.begin(), each.end(), int64_t(0)) != rows)
    refuse(call, "the sizes of the parts must be one per rank, and make " + std::to_string(rows) + " rows");
  Tensors list;
  int64_t at = 0;
  for (const int64_t n : each) {
    if (n < 0) refuse(call, "a part has less than no rows");
    list.push_back(whole.narrow(0, at, n));
    at += n;
  }
  return list;
}

}  // namespace

Group::Done Group::exchange(Tensors to, Tensors from) {
  const auto me = static_cast<size_t>(getRank());
  if (to[me].numel() != from[me].numel() || to[me].scalar_type() != from[me].scalar_type())
    refuse("all_to_all", "what a rank keeps must have one type and size in its input and its output");
  Tensors dst = host_room(to), src = on_host(from);
  dst[me] = src[me];  // needs no message
  auto w = task(c10d::OpType::ALLTOALL, "tutti:all_to_all", from, to);
  w->holds = src;
  tutti_comm *comm = queue_->comm();
  w->start_several = [=](Requests &requests) { return swap_all(comm, dst, src, requests); };
  bring_back(*w, "all_to_all", to, dst);
  queue_->add(w, false);
  return w;
}

Group::Done Group::alltoall_base(at::Tensor &to, at::Tensor &from, std::vector<int64_t> &to_sizes,
                                 std::vector<int64_t> &from_sizes, const c10d::AllToAllOptions &) {
  const char *call = "all_to_all_single";
  check(call, to);
  check(call, from);
  if (to.scalar_type() != from.scalar_type()) refuse(call, "the output must have the input's type");
  // One rank's sizes may be equal where another's are not: only a rank that gives no sizes can be sure.
  if (!to_sizes.empty() || !from_sizes.empty())
    return exchange(parts(call, to, to_sizes, ranks()), parts(call, from, from_sizes, ranks()));
  if (to.numel() != from.numel() || to.numel() % getSize())
    refuse(call, "input and output must have one size, a multiple of the number of ranks");
  const at::Tensor src = in_order(from), dst = room(to);
  const tutti_type type = type_of(call, src);
  auto w = task(c10d::OpType::ALLTOALL_BASE, "tutti:all_to_all", {src}, {to});
  tutti_comm *comm = queue_->comm();
  const size_t n = static_cast<size_t>(src.numel()) / ranks();
  w->start = [=](const Way &way) {
    return make(way, comm, call_of(TUTTI_ALLTOALL, src.data_ptr(), dst.data_ptr(), n, type));
  };
  bring_back(*w, call, to, dst);
  return add(std::move(w), src.nbytes());
}

Group::Done Group::alltoall(Tensors &to, Tensors &from, const c10d::AllToAllOptions &) {
  const char *call = "all_to_all";
  if (to.size() != ranks() || from.size() != ranks())
    refuse(call, "each list must have one tensor per rank, " + std::to_string(getSize()));
  for (const auto *list : {&to, &from})
    for (const auto &t : *list) check(call, t);
  return exchange(to, from);
}

}  // namespace tutti_c10d
