// mail.cpp - messages from rank to rank of a process group (mail.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "mail.hpp"

#include <unistd.h>

#include <algorithm>

#include "interrupt.hpp"
#include "meeting.hpp"
#include "worker.hpp"

namespace tutti_c10d {

Mail::Mail(tutti_comm *comm) : comm_(comm), process_(getpid()) {}

Mail::~Mail() {
  drain(10);
  if (process_ == getpid()) tutti_comm_free(comm_);
}

// ---- the ends of messages ----

void Mail::over(Letters::iterator l, Outcome outcome) {
  l->task->source = l->receives ? l->got.source : -1;
  if (!outcome && l->receives && l->got.count != l->n)
    outcome = std::make_exception_ptr(std::runtime_error(
        "tutti: recv: rank " + std::to_string(l->got.source) + " of the group sent " + std::to_string(l->got.count) +
        " bytes, where " + std::to_string(l->n) + " are wanted; the tensors must have one type and size"));
  l->task->settle(outcome ? outcome : l->task->ended());
  settled_.push_back(std::move(l->task));
  letters_.erase(l);
}

// The communicator is of no use any more.
void Mail::fail(Outcome outcome) {
  while (!letters_.empty()) {
    tutti_request_wait(&letters_.front().request);
    over(letters_.begin(), outcome);
  }
}

// ---- progress ----

bool Mail::advance() {
  bool any = false;
  for (auto at = letters_.begin(); at != letters_.end();) {
    const auto l = at++;
    int done = 0;
    const Outcome failed = outcome_of(tutti_request_test(&l->request, &done));
    if (failed) return fail(failed), true;
    if (done) over(l, nullptr);
    any |= done != 0;
  }
  return any;
}

// Callbacks of futures may send and receive.
void Mail::announce(Lock &lock) {
  if (settled_.empty()) return;
  std::vector<c10::intrusive_ptr<Task>> tasks;
  tasks.swap(settled_);
  changed_.notify_all();
  lock.unlock();
  for (auto &task : tasks) task->announce();
  lock.lock();
}

template <class Start>
void Mail::add(const char *what, c10::intrusive_ptr<Task> task, bool receives, size_t n, Start start) {
  check_process(process_);
  Lock lock(mutex_);
  if (over_) throw std::runtime_error(std::string("tutti: ") + what + ": this process group has been destroyed");
  letters_.push_back({task, nullptr, receives, n, {}});
  const Outcome failed = outcome_of(start(&letters_.back()));
  if (failed) over(std::prev(letters_.end()), failed);
  advance();
  announce(lock);
  if (!worker_) worker_ = quiet_thread([this] { work(); });
  changed_.notify_all();
  if (!works_here() || task->settled()) return;
  lock.unlock();  // a callback, which may wait for it: no other thread would drive it
  wait(*task, std::chrono::milliseconds(0));
}

void Mail::send(c10::intrusive_ptr<Task> task, int peer, int tag, const void *bytes, size_t n) {
  add("send", std::move(task), false, n, [=](Letter *l) {
    return tutti_send_start(comm_, bytes, n, TUTTI_UINT8, peer, tag, &l->request);
  });
}

void Mail::receive(c10::intrusive_ptr<Task> task, int peer, int tag, void *bytes, size_t n) {
  add("recv", std::move(task), true, n, [=](Letter *l) {
    return tutti_recv_start(comm_, bytes, n, TUTTI_UINT8, peer < 0 ? TUTTI_ANY_SOURCE : peer, tag, &l->got, &l->request);
  });
}

bool Mail::wait(Task &task, std::chrono::milliseconds limit) {
  const auto since = std::chrono::steady_clock::now();
  auto asked = since;
  Lock lock(mutex_);
  for (int vain = 0; !task.settled();) {
    vain = advance() ? 0 : vain + 1;
    announce(lock);
    if (task.settled()) break;
    const auto now = std::chrono::steady_clock::now();
    if (limit.count() > 0 && now - since > limit) return false;
    lock.unlock();
    if (now - asked > LOOK) {
      asked = now;
      if (tutti_interrupted()) give_up(comm_);
    }
    if (vain < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(vain, 500)));
    lock.lock();
  }
  return true;
}

void Mail::work() {
  Lock lock(mutex_);
  for (int vain = 0;;) {
    changed_.wait(lock, [this] { return over_ || !letters_.empty(); });
    if (over_ && letters_.empty()) return;
    vain = advance() ? 0 : vain + 1;
    announce(lock);
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(20 + 10 * vain, 1000)));
    lock.lock();
  }
}

void Mail::withdraw(Task &task) {
  Lock lock(mutex_);
  const auto at = std::find_if(letters_.begin(), letters_.end(), [&](const Letter &l) { return l.task.get() == &task; });
  if (at == letters_.end() || tutti_request_free(&at->request)) return;
  over(at, std::make_exception_ptr(std::runtime_error("tutti: recv: it was withdrawn")));
  announce(lock);
}

void Mail::set_timeout(double seconds) {
  const Lock lock(mutex_);
  tutti_c10d::set_timeout(comm_, seconds);
}

void Mail::abort(const std::string &reason) {
  if (process_ == getpid()) tutti_comm_abort(comm_, reason.c_str());
}

void Mail::drain(double seconds) {
  if (process_ != getpid()) {
    worker_.release();
    return;
  }
  {
    Lock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool quiet = false;
  while (!quiet && std::chrono::steady_clock::now() < until) {
    Lock lock(mutex_);
    advance();
    announce(lock);
    quiet = letters_.empty();
    if (!quiet && worker_) lock.unlock(), std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  {
    Lock lock(mutex_);
    if (!quiet) {
      tutti_comm_abort(comm_, "its process group ends while messages are under way");
      fail(std::make_exception_ptr(std::runtime_error("tutti: the process group ended")));
      announce(lock);
    }
  }
  changed_.notify_all();
  if (worker_ && worker_->joinable()) worker_->join();
}

}  // namespace tutti_c10d
