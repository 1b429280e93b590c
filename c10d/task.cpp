// task.cpp - an operation of a process group, as PyTorch waits for it.
// SPDX-License-Identifier: BSD-3-Clause
#include "task.hpp"

#include <ATen/record_function.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "flight.hpp"
#include "interrupt.hpp"

namespace tutti_c10d {

// If an aggregator is lost, the library's sentence names tutti_comm_shrink. A program that uses PyTorch calls another function.
static std::string advise(std::string sentence) {
  static const std::string in_c = "tutti_comm_shrink gives";
  const size_t at = sentence.find(in_c);
  return at == std::string::npos ? sentence
                                 : sentence.replace(at, in_c.size(), "tutti.torch.shrink() gives");
}

Outcome outcome_of(tutti_status status) {
  if (!status) return nullptr;
  const std::string sentence = std::string("tutti: ") + advise(tutti_error());
  return std::make_exception_ptr(std::runtime_error(sentence));
}

void check_process(pid_t made_in) {
  if (made_in != getpid())
    throw std::runtime_error(
        "tutti: this process was forked from a rank, and cannot use its process groups; "
        "a DataLoader's worker must not call torch.distributed");
}

static const c10::TypePtr &list_of_tensors() {
  static const c10::TypePtr type = c10::ListType::create(c10::TensorType::get());
  return type;
}

Task::Task(c10d::OpType type, const char *title, Tensors inputs, Tensors result, Waiter waiter)
    : Work(-1, type, at::hasCallbacks() ? title : nullptr, inputs),  // for the profiler
      waiter_(std::move(waiter)),
      inputs_(std::move(inputs)),
      result_(std::move(result)),
      future_(c10::make_intrusive<c10::ivalue::Future>(list_of_tensors())) {}

// ---- for the thread that drives it ----

void Task::note(tutti_status status) {
  if (status && !failed_) failed_ = outcome_of(status);
}

void Task::begin() {
  if (start || start_several) flight_started(flight);
  const auto one = std::exchange(start, nullptr);
  const auto several = std::exchange(start_several, nullptr);
  try {
    if (one && order && !by_request) {
      void *stream = order->stream();
      streams_ = true;
      note(one({nullptr, stream}));
    } else if (one) {
      if (order) order->block_default();
      requests_.push_back(nullptr);
      note(one({&requests_[0], nullptr}));
    } else if (several) {
      if (order) order->block_default();
      note(several(requests_));
    }
  } catch (...) {
    failed_ = std::current_exception();
  }
}

Outcome Task::ended() {
  try {
    if (!failed_ && after && order)
      order->run(after);
    else if (!failed_ && after)
      after();
  } catch (...) {
    failed_ = std::current_exception();
  }
  if (failed_) flight_failed();  // before the program learns of it, and may end
  return failed_;
}

Outcome Task::carry_out(tutti_comm *comm) {
  begin();
  for (auto &request : requests_) {
    tutti_status status;
    while ((status = tutti_request_wait(&request)) == TUTTI_ERR_INTERRUPTED) give_up(comm);
    note(status);
  }
  while (streams_) {
    const tutti_status status = tutti_stream_wait(comm);
    streams_ = status == TUTTI_ERR_INTERRUPTED;
    if (streams_)
      give_up(comm);
    else
      note(status);
  }
  return ended();
}

bool Task::try_for(double seconds, Outcome *outcome) {
  using Clock = std::chrono::steady_clock;
  begin();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  size_t over = 0;  // the number of requests that are complete
  for (int turn = 0;; turn++) {
    int done = 1;
    for (; over < requests_.size(); over++) {
      const tutti_status status = tutti_request_test(&requests_[over], &done);
      if (!status && !done) break;
      note(status);
    }
    if (over == requests_.size()) {
      *outcome = ended();
      return true;
    }
    if (turn % 16 == 15) {
      if (Clock::now() > until) return false;
      std::this_thread::yield();
    }
  }
}

// The profiler's record ends first: a thread that waits may then end the profiler, and this thread must not hold
// the last reference to it.
void Task::settle(Outcome outcome) {
  if (!outcome) flight_completed(flight);
  finish(outcome);
  settled_.store(true, std::memory_order_release);
}

bool Task::settled() const {
  return settled_.load(std::memory_order_acquire);
}

void Task::announce() {
  if (exception_) flight_failed();  // of a message
  if (exception_)
    future_->setError(exception_);
  else
    future_->markCompleted(c10::IValue(result_));
  inputs_.clear();
  holds.clear();
  after = nullptr;
  order.reset();
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
  if (!settled() && !waiter_(*this, timeout)) {
    flight_failed();
    throw std::runtime_error("tutti: the operation did not finish within " +
                             std::to_string(timeout.count()) + " ms; it continues in the background");
  }
  if (exception_ || kept()) raise_kept();
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
