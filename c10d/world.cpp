// world.cpp - operations of a process group as a whole: barriers that name missing ranks, time limits, subgroups.
//
// Monitored  Each rank sends rank 0 an empty message, and rank 0 answers with a byte for each rank: 1 if it is missing. Each
//            barrier uses a new tag of the highest ones, so a late rank does not disturb later barriers.
// SPDX-License-Identifier: BSD-3-Clause
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <limits>

#include "group.hpp"
#include "live.hpp"
#include "meeting.hpp"
#include "tensors.hpp"

namespace tutti_c10d {

using Clock = std::chrono::steady_clock;
using Limit = std::chrono::milliseconds;

void Group::setTimeout(Limit timeout) {
  timeout_ = timeout.count();
  const double seconds = static_cast<double>(timeout.count()) / 1e3;
  tutti_comm *comm = queue_->comm();
  auto w = task(c10d::OpType::UNKNOWN, "tutti:set_timeout", {}, {});
  w->start_several = [=](Requests &) { return set_timeout(comm, seconds); };
  add(w, 0)->wait();  // between two operations
  mail_->set_timeout(seconds);
}

namespace {
constexpr int RESERVED_TAGS = 1 << 16;

// On the other ranks than 0 in gloo's words, too, which programs may look for.
[[noreturn]] void missing_ranks(int rank, const at::Tensor &missing, Limit limit) {
  const std::string come = rank ? "Rank " + std::to_string(rank) + " successfully reached monitoredBarrier, but received errors while "
                                  "waiting for send/recv from rank 0: " : "";
  std::string list;
  int n = 0;
  for (int64_t r = 0; r < missing.numel(); r++) {
    if (!missing.data_ptr<uint8_t>()[r]) continue;
    list += (n++ ? ", " : "") + std::to_string(r);
  }
  throw std::runtime_error("tutti: monitored_barrier: " + come + (n > 1 ? "Ranks " : "Rank ") + list +
                           " failed to pass monitoredBarrier in " + std::to_string(limit.count()) + " ms");
}
}  // namespace

void Group::monitoredBarrier(const c10d::BarrierOptions &o, bool all) {
  const Limit limit = o.timeout.count() >= 0 ? o.timeout : Limit(timeout_.load());
  const auto until = Clock::now() + limit;
  const int tag = std::numeric_limits<int>::max() - monitored_++ % RESERVED_TAGS;
  at::Tensor missing = at::zeros({getSize()}, at::kByte);
  Tensors nothing = {at::empty({0}, at::kByte)}, news = {missing};
  // Has it come within the limit and some ms?
  const auto comes = [&](const Done &done, Limit more) {
    auto &task = static_cast<Task &>(*done);
    if (!mail_->wait(task, std::max(Limit(1), std::chrono::duration_cast<Limit>(until - Clock::now())) + more))
      mail_->withdraw(task);
    return !task.exception();
  };
  if (getRank()) {
    send(nothing, 0, tag)->wait();
    if (!comes(receive(news, 0, tag, c10d::OpType::RECV), limit + Limit(5000))) {
      missing[0] = 1;
      missing_ranks(getRank(), missing, limit);
    }
  } else {
    std::vector<Done> arrivals;
    for (int r = 1; r < getSize(); r++) arrivals.push_back(receive(nothing, r, tag, c10d::OpType::RECV));
    bool none = true;
    for (int r = 1; r < getSize(); r++) {
      if (comes(arrivals[static_cast<size_t>(r - 1)], Limit(0)) || !(none || all)) continue;
      missing[r] = 1;
      none = false;
    }
    for (int r = 1; r < getSize(); r++)
      if (!arrivals[static_cast<size_t>(r - 1)]->exception()) send(news, r, tag);
  }
  if (missing.any().item<bool>()) missing_ranks(getRank(), missing, limit);
}

#if TUTTI_TORCH(2, 15)
c10::intrusive_ptr<Group::Options> Group::getBackendOptions() {
  return c10::make_intrusive<Options>(getBackendName(), Limit(timeout_.load()));
}

c10::intrusive_ptr<c10d::Backend> Group::split(const c10::intrusive_ptr<c10d::Store> &store, const std::vector<int> &ranks,
                                               const c10::intrusive_ptr<Options> &o) {
  const auto me = std::find(ranks.begin(), ranks.end(), getRank());
  if (me == ranks.end()) return nullptr;
  const Limit limit = o ? o->timeout : Limit(timeout_.load());
  auto part = c10::make_intrusive<Group>(
      meet(store, static_cast<int>(me - ranks.begin()), static_cast<int>(ranks.size()), limit), limit);
  part->meets_over(store);
  born(part);
  return part;
}

// The remaining ranks connect over the group's store, so the excluded ranks may be dead.
c10::intrusive_ptr<c10d::Backend> Group::shrink(const std::vector<int64_t> &without, int flags,
                                                const c10::intrusive_ptr<Options> &o) {
  std::string name = "without";
  std::vector<int> left;
  for (int r = 0; r < getSize(); r++) {
    if (std::find(without.begin(), without.end(), r) == without.end())
      left.push_back(r);
    else
      name += "_" + std::to_string(r);
  }
  if (flags) abort("the ranks that are left call shrink_group");
  return split(c10::make_intrusive<c10d::PrefixStore>(name, store_), left, o);
}
#endif

}  // namespace tutti_c10d
