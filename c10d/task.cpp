// task.cpp - an operation of a process group, as PyTorch waits for it.
// SPDX-License-Identifier: BSD-3-Clause
#include "task.hpp"

#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>

namespace tutti_c10d {

Outcome outcome_of(tutti_status status) {
  if (!status) return nullptr;
  const std::string sentence = std::string("tutti: ") + tutti_error();
  return std::make_exception_ptr(std::runtime_error(sentence));
}

void check_process(pid_t made_in) {
  if (made_in != getpid())
    throw std::runtime_error(
        "tutti: this process was forked from a rank, and can not use its process groups; "
        "a DataLoader's worker must not call torch.distributed");
}

Task::Task(c10d::OpType type, const char *title, Tensors inputs, Tensors result, Waiter waiter)
    : Work(-1, type, title, inputs),
      waiter_(std::move(waiter)),
      inputs_(std::move(inputs)),
      result_(std::move(result)),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()))) {}

// ---- for who drives it ----

Outcome Task::begin() {
  if (request_ || !start) return nullptr;
  auto how = std::move(start);
  start = nullptr;
  try {
    return outcome_of(how(&request_));
  } catch (...) {
    return std::current_exception();
  }
}

Outcome Task::end(tutti_status status) {
  try {
    if (!status && after) after();
    return outcome_of(status);
  } catch (...) {
    return std::current_exception();
  }
}

Outcome Task::carry_out() {
  if (run) return run_it();
  if (Outcome failed = begin()) return failed;
  return end(tutti_request_wait(&request_));
}

Outcome Task::run_it() {
  try {
    return end(run());
  } catch (...) {
    return std::current_exception();
  }
}

bool Task::try_for(double seconds, Outcome *outcome) {
  using Clock = std::chrono::steady_clock;
  if ((*outcome = begin())) return true;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  for (int turn = 0;; turn++) {
    int done = 0;
    const tutti_status status = tutti_request_test(&request_, &done);
    if (status || done) {
      *outcome = end(status);
      return true;
    }
    if (turn % 16 == 15) {
      if (Clock::now() > until) return false;
      std::this_thread::yield();
    }
  }
}

// What the profiler records ends first: who waits may then end the profiler, and this thread must not be the last to
// hold what is left of it.
void Task::settle(Outcome outcome) {
  finish(outcome);
  settled_.store(true, std::memory_order_release);
}

bool Task::settled() const {
  return settled_.load(std::memory_order_acquire);
}

void Task::announce() {
  if (exception_)
    future_->setError(exception_);
  else
    future_->markCompleted(c10::IValue(result_));
  inputs_.clear();
  holds.clear();
  after = nullptr;
}

// ---- for PyTorch ----

bool Task::isCompleted() {
  return settled();
}

bool Task::isSuccess() const {
  return settled() && !exception_;
}

std::exception_ptr Task::exception() const {
  return settled() ? exception_ : nullptr;
}

bool Task::wait(std::chrono::milliseconds timeout) {
  if (!settled() && !waiter_(*this, timeout))
    throw std::runtime_error("tutti: the operation was not done after " +
                             std::to_string(timeout.count()) + " ms; it goes on");
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> Task::getFuture() {
  return future_;
}

Tensors Task::result() {
  return result_;
}

int Task::sourceRank() const {
  return source;
}

}  // namespace tutti_c10d
