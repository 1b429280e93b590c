// mail.hpp - point-to-point messages of a process group.
//
// Idea       tutti's messages between two ranks come in order and have no tags. So each message is two: a
//            header with tag and size, then the bytes. While a thread wants a message from a peer, one
//            receive for a header of that peer is posted; a header with another tag is kept.
// The end    operations of the program are waited for, and aborted if they do not complete. A receive
//            for a header that was posted for a message from any peer cannot be cancelled: it stays,
//            with the communicator, until the process ends.
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
  struct Header {
    int64_t tag, bytes;
  };
  struct Letter {  // to be sent, or wanted
    c10::intrusive_ptr<Task> task;
    int peer, tag;
    void *bytes;
    size_t n;
    Header head;
    tutti_request *first = nullptr, *rest = nullptr;  // of a message that is sent
  };
  struct Kept {  // came before it was wanted
    Header head;
    std::vector<char> bytes;
  };
  struct Peer {
    tutti_request *listens = nullptr, *comes = nullptr;
    Header head;
    bool headed = false;  // head belongs to the next message
    std::unique_ptr<Letter> into;
    std::list<Kept> kept;
  };
  using Letters = std::list<std::unique_ptr<Letter>>;
  using Lock = std::unique_lock<std::mutex>;

  void add(Lock &lock, Letters &letters, std::unique_ptr<Letter> letter);
  bool advance();  // drives all messages; did anything happen?
  bool advance_sends();
  bool advance_peer(int peer);
  bool take(int peer);
  Letters::iterator wanted(int peer, int64_t tag);
  bool anybody_wants(int peer);
  bool test(tutti_request **request, Outcome *outcome);
  void over(Letter &letter, Outcome outcome, int source);
  void announce(Lock &lock);
  bool idle() const;
  void fail(Outcome outcome);
  void work();

  tutti_comm *comm_;
  const pid_t process_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  Letters out_, wanted_;
  std::vector<c10::intrusive_ptr<Task>> settled_;  // to be announced
  bool over_ = false;
  std::unique_ptr<std::thread> worker_;
};

}  // namespace tutti_c10d
#endif
