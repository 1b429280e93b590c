// mail.hpp - point-to-point messages of a process group.
//
// Idea       each message is a request of tutti, which matches sender and tag.
// Invariant  a waiting thread drives all messages. A worker does so while no thread waits and there are
//            messages. It polls, and sleeps a little longer after each poll without success.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_MAIL_HPP
#define TUTTI_C10D_MAIL_HPP

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "task.hpp"

namespace tutti_c10d {

class Mail {
 public:
  explicit Mail(tutti_comm *comm);  // the object takes ownership
  Mail(const Mail &) = delete;
  ~Mail();

  // The bytes must live until the task completes; the task has nothing to start.
  void send(c10::intrusive_ptr<Task> task, int peer, int tag, const void *bytes, size_t n);
  // peer < 0: from any peer.
  void receive(c10::intrusive_ptr<Task> task, int peer, int tag, void *bytes, size_t n);
  bool wait(Task &task, std::chrono::milliseconds limit);
  // A receive whose message has not begun to come fails.
  void withdraw(Task &task);
  void set_timeout(double seconds);
  // As in Queue.
  void abort(const std::string &reason);
  void drain(double seconds);
  bool works_here() const { return worker_ && worker_->get_id() == std::this_thread::get_id(); }

 private:
  struct Letter {
    c10::intrusive_ptr<Task> task;
    tutti_request *request;
    bool receives;
    size_t n;  // bytes
    tutti_received got;
  };
  using Letters = std::list<Letter>;  // tutti writes to their members
  using Lock = std::unique_lock<std::mutex>;

  // start: makes the request of the letter.
  template <class Start>
  void add(const char *what, c10::intrusive_ptr<Task> task, bool receives, size_t n, Start start);
  bool advance();  // drives all messages; did anything happen?
  void over(Letters::iterator letter, Outcome outcome);
  void announce(Lock &lock);
  void fail(Outcome outcome);
  void work();

  tutti_comm *comm_;
  const pid_t process_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  Letters letters_;
  std::vector<c10::intrusive_ptr<Task>> settled_;  // to be announced
  bool over_ = false;
  std::unique_ptr<std::thread> worker_;
};

}  // namespace tutti_c10d
#endif
