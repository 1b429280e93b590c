// queue.cpp - the collectives of a process group, one after another (queue.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "queue.hpp"

#include <unistd.h>

#include <algorithm>

#include "interrupt.hpp"
#include "worker.hpp"

namespace tutti_c10d {

namespace {
constexpr double MOMENT = 200e-6;  // s; longer than ranks that share a core need for a small operation
}

Queue::Queue(tutti_comm *comm)
    : process_(getpid()), comm_(comm, [process = process_](tutti_comm *c) {
        if (process == getpid()) tutti_comm_free(c);
      }) {}

Queue::~Queue() {
  drain(10);
}

// The first operation is complete.
void Queue::done(Lock &lock, Outcome outcome) {
  const auto task = tasks_.front();
  tasks_.pop_front();
  driven_ = false;
  task->settle(outcome);
  if (waiting_) changed_.notify_all();
  if (!tasks_.empty() && worker_) left_.notify_one();
  lock.unlock();
  task->announce();
  lock.lock();
}

void Queue::drive(Lock &lock) {
  const auto task = tasks_.front();
  driven_ = true;
  lock.unlock();
  const Outcome outcome = task->carry_out(comm());
  lock.lock();
  done(lock, outcome);
}

bool Queue::tried(Lock &lock) {
  const auto task = tasks_.front();
  Outcome outcome;
  driven_ = true;
  lock.unlock();
  const bool over = task->try_for(MOMENT, &outcome);
  lock.lock();
  if (over)
    done(lock, outcome);
  else
    driven_ = false;
  return over;
}

void Queue::add(c10::intrusive_ptr<Task> task, bool brief) {
  check_process(process_);
  Lock lock(mutex_);
  if (over_) throw std::runtime_error("tutti: this process group has been destroyed");
  tasks_.push_back(task);
  if (brief && tasks_.size() == 1 && !driven_ && tried(lock)) return;
  if (!worker_) worker_ = quiet_thread([this] { work(); });
  if (works_here()) {  // a callback, which may wait for it: no other thread would drive it
    lock.unlock();
    wait(*task, std::chrono::milliseconds(0));
  } else {
    left_.notify_one();
  }
}

bool Queue::wait(Task &task, std::chrono::milliseconds limit) {
  const bool limited = limit.count() > 0;
  const auto until = limited ? Clock::now() + limit : Clock::time_point::max();
  Lock lock(mutex_);
  waiting_++;
  while (!task.settled() && (!limited || Clock::now() < until)) {
    if (limited || driven_ || tasks_.empty())  // the worker drives it: a thread that drives an operation cannot leave it
      listen(lock, until);
    else
      drive(lock);
  }
  waiting_--;
  return task.settled();
}

// Until something changes, or it is time to ask for signal handlers, which take Python's lock.
void Queue::listen(Lock &lock, Clock::time_point until) {
  if (changed_.wait_until(lock, std::min(until, Clock::now() + LOOK)) == std::cv_status::no_timeout) return;
  lock.unlock();
  if (tutti_interrupted()) give_up(comm());
  lock.lock();
}

void Queue::work() {
  Lock lock(mutex_);
  for (;;) {
    left_.wait(lock, [this] { return (over_ && tasks_.empty()) || (!driven_ && !tasks_.empty()); });
    if (tasks_.empty()) return;
    drive(lock);
  }
}

void Queue::abort(const std::string &reason) {
  if (process_ == getpid()) tutti_comm_abort(comm(), reason.c_str());
}

void Queue::drain(double seconds) {
  if (process_ != getpid()) {  // the worker is not in this process, and its locks are unknown
    worker_.release();
    return;
  }
  {
    Lock lock(mutex_);
    over_ = true;
    waiting_++;
    left_.notify_all();
    const auto limit = std::chrono::duration<double>(seconds);
    if (!changed_.wait_for(lock, limit, [this] { return tasks_.empty(); }))
      tutti_comm_abort(comm(), "its process group ends while operations are under way");
    waiting_--;
  }
  if (worker_ && worker_->joinable()) worker_->join();
}

}  // namespace tutti_c10d
