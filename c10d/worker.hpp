// worker.hpp - threads of the backend, which take no signal: a program's handlers run on its own threads.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_WORKER_HPP
#define TUTTI_C10D_WORKER_HPP

#include <csignal>
#include <memory>
#include <thread>
#include <utility>

namespace tutti_c10d {

// Blocks all signals in this thread, and so in those that it starts, until the end of the scope.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals &) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

template <class Work>
std::unique_ptr<std::thread> quiet_thread(Work work) {
  const NoSignals blocked;
  return std::unique_ptr<std::thread>(new std::thread(std::move(work)));
}

}  // namespace tutti_c10d
#endif
