// mail.hpp - messages from rank to rank of a process group.
//
// Idea       tutti's messages of a pair of ranks come in order and have no tags. So each is two: a
//            header with tag and size, then the bytes. One header per peer is listened for while
//            somebody wants a message from it; one with a tag that nobody wants yet is kept.
// The end    what the program asked for is waited for, and aborted if it does not come. A header that
//            is listened for, because somebody had wanted a message from anyone, cannot be taken
//            back: it stays, with the communicator, till the process ends.
// Invariant  who waits drives all messages; a worker does while nobody waits and there are any. It
//            looks, and sleeps a little longer each time that nothing has come.
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
  explicit Mail(tutti_comm *comm);  // becomes the mail's
  Mail(const Mail &) = delete;
  ~Mail();

  // The bytes live until the task, which has nothing to start, is done.
  void send(c10::intrusive_ptr<Task> task, int peer, int tag, const void *bytes, size_t n);
  // peer < 0: from anyone.
  void receive(c10::intrusive_ptr<Task> task, int peer, int tag, void *bytes, size_t n);
  bool wait(Task &task, std::chrono::milliseconds limit);
  // As of Queue.
  void abort(const std::string &reason);
  void drain(double seconds);
  bool works_here() const { return worker_ && worker_->get_id() == std::this_thread::get_id(); }

 private:
  struct Header {
    int64_t tag, bytes;
  };
  struct Letter {  // out, or wanted
    c10::intrusive_ptr<Task> task;
    int peer, tag;
    void *bytes;
    size_t n;
    Header head;
    tutti_request *first = nullptr, *rest = nullptr;  // of one that goes out
  };
  struct Kept {  // came before it was wanted
    Header head;
    std::vector<char> bytes;
  };
  struct Peer {
    tutti_request *listens = nullptr, *comes = nullptr;
    Header head;
    bool headed = false;  // head is of what comes next
    std::unique_ptr<Letter> into;
    std::list<Kept> kept;
  };
  using Letters = std::list<std::unique_ptr<Letter>>;
  using Lock = std::unique_lock<std::mutex>;

  void add(Lock &lock, Letters &letters, std::unique_ptr<Letter> letter);
  bool advance();  // all of it; whether anything happened
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
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  Letters out_, wanted_;
  std::vector<c10::intrusive_ptr<Task>> settled_;  // to be announced
  bool over_ = false;
  std::unique_ptr<std::thread> worker_;
};

}  // namespace tutti_c10d
#endif
