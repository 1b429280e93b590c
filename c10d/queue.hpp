// queue.hpp - the collectives of a process group, one after another in the order of the calls.
//
// Idea       a waiting thread does the work: it carries out the operations before its own and then its
//            own, unless another thread is doing so. A worker, started when first needed, carries out
//            operations for which no thread waits. The caller tries a small operation for a moment.
// Invariant  operations start on the communicator in the order of the calls, and one thread at a time
//            uses it. No lock is held while futures are completed, because their callbacks may start
//            and wait for other operations.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_QUEUE_HPP
#define TUTTI_C10D_QUEUE_HPP

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "heap.hpp"
#include "task.hpp"

namespace tutti_c10d {

class Queue {
 public:
  explicit Queue(tutti_comm *comm);  // the object takes ownership
  Queue(const Queue &) = delete;
  ~Queue();  // drains

  tutti_comm *comm() const { return comm_.get(); }
  const Comm &shared() const { return comm_; }  // for tensors in its memory
  // brief: the caller tries for a moment to complete it.
  void add(c10::intrusive_ptr<Task> task, bool brief);
  // Wait until it is complete, or for this many ms (0: without a limit). False: it is not complete.
  bool wait(Task &task, std::chrono::milliseconds limit);
  // All operations fail, here and on the other ranks, which get the reason.
  void abort(const std::string &reason);
  // Wait until all are complete; after this many seconds abort the rest. The worker ends.
  void drain(double seconds);
  bool works_here() const { return worker_ && worker_->get_id() == std::this_thread::get_id(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;
  void drive(Lock &lock);  // carries out the first operation
  bool tried(Lock &lock);  // tries the first operation for a moment; is it complete?
  void done(Lock &lock, Outcome outcome);
  void listen(Lock &lock, Clock::time_point until);
  void work();

  const pid_t process_;
  const Comm comm_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;  // for waiting threads: an operation is complete
  std::condition_variable left_;     // for the worker: there is work
  int waiting_ = 0;
  std::deque<c10::intrusive_ptr<Task>> tasks_;
  bool driven_ = false, over_ = false;
  std::unique_ptr<std::thread> worker_;
};

}  // namespace tutti_c10d
#endif
