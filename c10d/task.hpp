// task.hpp - an operation of a process group, as PyTorch waits for it.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_TASK_HPP
#define TUTTI_C10D_TASK_HPP

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "since.hpp"

#include <sys/types.h>

#include <functional>
#include <vector>

#include "device.hpp"
#include "tutti.h"

namespace tutti_c10d {

using Outcome = std::exception_ptr;  // null: no error
using Tensors = std::vector<at::Tensor>;
using Requests = std::vector<tutti_request *>;

// The exception for a status of this thread's last call; null for TUTTI_OK.
Outcome outcome_of(tutti_status status);

// Throws if this is not the process that made the group.
void check_process(pid_t made_in);

class Task : public c10d::Work {
 public:
  // The owner that waits for a task: a queue, or the mail.
  using Waiter = std::function<bool(Task &, std::chrono::milliseconds)>;

  // inputs: for the profiler. result: the value of the future. All of them live until the task completes.
  Task(c10d::OpType type, const char *title, Tensors inputs, Tensors result, Waiter waiter);

  std::function<tutti_status(const Way &)> start;         // null: nothing to start
  std::function<tutti_status(Requests &)> start_several;  // or several; after a failure the started ones are waited for
  std::function<void()> after;                            // null: nothing to do with the result
  Tensors holds;                                          // other memory that it uses
  std::unique_ptr<Order> order;                           // of tensors on a device; null: they are the CPU's
  uint64_t flight = 0;                                    // its entry in flight.hpp
  bool by_request = false;                                // `start` knows no stream

  // For the thread that drives it: starts it unless that was done, and waits. Throws nothing. If a signal handler
  // raises meanwhile, the communicator is aborted.
  Outcome carry_out(tutti_comm *comm);
  // The same, but for a moment only; not on a device. False: it is still in flight.
  bool try_for(double seconds, Outcome *outcome);
  // The outcome, once its requests are complete: runs `after`.
  Outcome ended();
  // The last steps: `settle` under the owner's lock, then, without any lock, `announce`.
  void settle(Outcome outcome);
  void announce();
  bool settled() const;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  Tensors result() override;
  int sourceRank() const override;
  int source = -1;

 private:
  void begin();
  void note(tutti_status status);

  Waiter waiter_;
  Tensors inputs_, result_;
  Requests requests_;
  bool streams_ = false;  // a stream waits for it
  Outcome failed_;  // the first failure
  std::atomic<bool> settled_{false};
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace tutti_c10d
#endif
