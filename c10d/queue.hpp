// queue.hpp - the collectives of a process group, one after another in the order of the calls.
//
// Idea       who waits does the work: a thread that waits for an operation carries out those before
//            it and then its own, unless another one is at it. A worker, which comes when it is first
//            needed, does what nobody waits for. What is small is tried for a moment by its caller.
// Invariant  operations start on the communicator in the order of the calls, and one thread at a time
//            uses it; nobody holds a lock while futures are completed, whose callbacks may call and
//            wait for further operations.
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

#include "task.hpp"

namespace tutti_c10d {

class Queue {
 public:
  explicit Queue(tutti_comm *comm);  // becomes the queue's
  Queue(const Queue &) = delete;
  ~Queue();  // drains

  tutti_comm *comm() const { return comm_; }
  // brief: the caller tries for a moment to complete it.
  void add(c10::intrusive_ptr<Task> task, bool brief);
  // Until it is done, or for so many ms (0: without a limit). False: it is not done.
  bool wait(Task &task, std::chrono::milliseconds limit);
  // All operations fail, here and on the other ranks, which hear the reason.
  void abort(const std::string &reason);
  // Until all are done; after so many seconds the rest is aborted. The worker ends.
  void drain(double seconds);
  bool works_here() const { return worker_ && worker_->get_id() == std::this_thread::get_id(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;
  void drive(Lock &lock);  // the first, whole
  bool tried(Lock &lock);  // the first, for a moment; whether it is done
  void done(Lock &lock, Outcome outcome);
  void listen(Lock &lock, Clock::time_point until);
  void work();

  tutti_comm *comm_;
  const pid_t process_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;  // for who waits: what was driven is settled
  std::condition_variable left_;     // for the worker: there is something to do
  int waiting_ = 0;
  std::deque<c10::intrusive_ptr<Task>> tasks_;
  bool driven_ = false, over_ = false;
  std::unique_ptr<std::thread> worker_;
};

}  // namespace tutti_c10d
#endif
