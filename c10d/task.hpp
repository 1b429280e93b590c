// task.hpp - an operation of a process group, as PyTorch waits for it.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_TASK_HPP
#define TUTTI_C10D_TASK_HPP

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <sys/types.h>

#include <functional>
#include <vector>

#include "tutti.h"

namespace tutti_c10d {

using Outcome = std::exception_ptr;  // null: it went well
using Tensors = std::vector<at::Tensor>;
using Requests = std::vector<tutti_request *>;

// The exception for a status of this thread's last call; null for TUTTI_OK.
Outcome outcome_of(tutti_status status);

// Throws, unless this is the process that the group was made in.
void check_process(pid_t made_in);

class Task : public c10d::Work {
 public:
  // What waits for a task: a queue, or the mail.
  using Waiter = std::function<bool(Task &, std::chrono::milliseconds)>;

  // inputs: for the profiler. result: what the future holds. All of them live until the task is done.
  Task(c10d::OpType type, const char *title, Tensors inputs, Tensors result, Waiter waiter);

  std::function<tutti_status(tutti_request **)> start;    // null: nothing is to be started
  std::function<tutti_status(Requests &)> start_several;  // or these; what was started before a failure is waited for
  std::function<void()> after;                            // null: nothing is to be done with what came
  Tensors holds;                                          // further memory that it uses

  // By the one who drives it: starts it unless that was done, and waits. Throws nothing. If a handler of a signal
  // raises meanwhile, the communicator is aborted.
  Outcome carry_out(tutti_comm *comm);
  // The same, but for a moment only. False: it is under way.
  bool try_for(double seconds, Outcome *outcome);
  // What came of it, once its requests are done: does what is to be done after.
  Outcome ended();
  // At last: `settle` while others are kept out, then, without any lock, `announce`.
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
  Outcome failed_;  // the first failure
  std::atomic<bool> settled_{false};
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace tutti_c10d
#endif
