// group.hpp - a process group of PyTorch over a communicator of tutti.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_GROUP_HPP
#define TUTTI_C10D_GROUP_HPP

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <memory>
#include <string>

#include "mail.hpp"
#include "queue.hpp"

namespace tutti_c10d {

class Group : public Base {
 public:
  using Done = c10::intrusive_ptr<c10d::Work>;

  // The object takes ownership of the communicator; its copy for messages is collective. Throws tutti's error message.
  Group(tutti_comm *comm, std::chrono::milliseconds timeout);
  ~Group() override;
  // Where its ranks meet again, without some of them.
  void meets_over(c10::intrusive_ptr<c10d::Store> store) { store_ = std::move(store); }
  // Of intrusive_ptr: called when the last reference is gone; live.cpp still knows the group.
  void release_resources() override { end(); }

  const std::string getBackendName() const override { return "tutti"; }
  // Which plan would run, and why, in words.
  std::string explain(int64_t bytes) const;
  int number() const { return number_; }  // of this process's groups, from 0
  const Comm &comm() const { return queue_->shared(); }
  void abort(const std::string &reason);
  void abort() { abort("its process group was aborted"); }
  void drain(double seconds);

  Done allreduce(Tensors &tensors, const c10d::AllreduceOptions &o) override;
  Done allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &o) override;
  Done reduce(Tensors &tensors, const c10d::ReduceOptions &o) override;
  Done broadcast(Tensors &tensors, const c10d::BroadcastOptions &o) override;
  Done allgather(std::vector<Tensors> &to, Tensors &from, const c10d::AllgatherOptions &o) override;
  Done _allgather_base(at::Tensor &to, at::Tensor &from, const c10d::AllgatherOptions &o) override;
  Done allgather_coalesced(std::vector<Tensors> &to, Tensors &from, const c10d::AllgatherOptions &o) override;
  Done gather(std::vector<Tensors> &to, Tensors &from, const c10d::GatherOptions &o) override;
  Done scatter(Tensors &to, std::vector<Tensors> &from, const c10d::ScatterOptions &o) override;
  Done reduce_scatter(Tensors &to, std::vector<Tensors> &from, const c10d::ReduceScatterOptions &o) override;
  Done _reduce_scatter_base(at::Tensor &to, at::Tensor &from, const c10d::ReduceScatterOptions &o) override;
  Done allgather_into_tensor_coalesced(Tensors &to, Tensors &from, const c10d::AllgatherOptions &o);
  Done reduce_scatter_tensor_coalesced(Tensors &to, Tensors &from, const c10d::ReduceScatterOptions &o);
  Done allreduce_sparse(Tensors &tensors, const c10d::AllreduceOptions &o) { return allreduce(tensors, o); }
  Done alltoall_base(at::Tensor &to, at::Tensor &from, std::vector<int64_t> &to_sizes,
                     std::vector<int64_t> &from_sizes, const c10d::AllToAllOptions &o) override;
  Done alltoall(Tensors &to, Tensors &from, const c10d::AllToAllOptions &o) override;
  Done send(Tensors &tensors, int to, int tag) override;
  Done recv(Tensors &tensors, int from, int tag) override;
  Done recvAnysource(Tensors &tensors, int tag) override;
  Done barrier(const c10d::BarrierOptions &o) override;
  // Throws a message that names the ranks that have not come; not `all`: the first one. On all ranks that have come.
  void monitoredBarrier(const c10d::BarrierOptions &o, bool all) override;

  // For the operations that are called from now on.
  void setTimeout(std::chrono::milliseconds timeout);
  uint64_t getSequenceNumberForGroup() override { return collectives_; }
#if TUTTI_TORCH(2, 15)
  c10::intrusive_ptr<Options> getBackendOptions() override;
  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store> &store, const std::vector<int> &ranks,
                                          const c10::intrusive_ptr<Options> &o) override;
  bool supportsShrinking() const override { return true; }
  c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<int64_t> &without, int flags,
                                           const c10::intrusive_ptr<Options> &o) override;
#endif

 private:
  // Starts one of several operations.
  using Each = std::function<tutti_status(const at::Tensor &to, const at::Tensor &from, tutti_request **request)>;
  void end();
  c10::intrusive_ptr<Task> task(c10d::OpType type, const char *title, Tensors inputs, Tensors result);
  Done add(c10::intrusive_ptr<Task> task, size_t bytes);
  Done coalesced(c10d::OpType type, const char *title, Tensors &to, Tensors &from, Each each);
  Done exchange(Tensors to, Tensors from);
  Done sum_parts(const at::Tensor &mine, const at::Tensor &from, std::vector<size_t> counts, const c10d::ReduceOp &kind);
  Done receive(Tensors &tensors, int from, int tag, c10d::OpType type);
  uint64_t note(const char *title, const Tensors &in, const Tensors &out, bool message, int peer);
  void check_root(const char *call, int64_t root) const;
  size_t ranks() const { return static_cast<size_t>(getSize()); }

  c10::intrusive_ptr<c10d::Store> store_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Mail> mail_;
  const int number_;
  std::atomic<int64_t> timeout_;  // ms
  std::atomic<uint64_t> collectives_{0}, messages_{0};
  std::atomic<int> monitored_{0};
  const size_t brief_;  // bytes up to which the caller tries to complete an operation
};

}  // namespace tutti_c10d
#endif
