// mail.cpp - messages from rank to rank of a process group (mail.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "mail.hpp"

#include <unistd.h>

#include <algorithm>

#include "interrupt.hpp"
#include "meeting.hpp"
#include "worker.hpp"

namespace tutti_c10d {

Mail::Mail(tutti_comm *comm)
    : comm_(comm), process_(getpid()), peers_(static_cast<size_t>(tutti_comm_size(comm))) {}

Mail::~Mail() {
  drain(10);
  if (process_ != getpid()) return;
  if (std::any_of(peers_.begin(), peers_.end(), [](const Peer &p) { return p.listens; }))
    new std::vector<Peer>(std::move(peers_));  // posted receives may still complete: they, and the communicator, stay
  else
    tutti_comm_free(comm_);
}

// ---- the ends of messages ----

void Mail::over(Letter &letter, Outcome outcome, int source) {
  letter.task->source = source;
  letter.task->settle(outcome ? outcome : letter.task->ended());
  settled_.push_back(std::move(letter.task));
}

// Is it complete? *outcome: the error, if it failed.
bool Mail::test(tutti_request **request, Outcome *outcome) {
  int done = 0;
  const tutti_status status = tutti_request_test(request, &done);
  *outcome = outcome_of(status);
  return status || done;
}

// The communicator is of no use any more.
void Mail::fail(Outcome outcome) {
  for (auto *letters : {&out_, &wanted_}) {
    for (auto &letter : *letters) {
      tutti_request_wait(&letter->first);
      tutti_request_wait(&letter->rest);
      over(*letter, outcome, -1);
    }
    letters->clear();
  }
  for (auto &p : peers_) {
    tutti_request_wait(&p.listens);
    tutti_request_wait(&p.comes);
    if (p.into) over(*p.into, outcome, -1);
    p.into.reset();
    p.headed = false;
  }
}

bool Mail::advance_sends() {
  bool any = false;
  for (auto at = out_.begin(); at != out_.end();) {
    Letter &l = **at;
    Outcome failed;
    if (l.first) test(&l.first, &failed);
    if (!failed && !l.first && l.rest) test(&l.rest, &failed);
    if (failed) return fail(failed), true;
    if (l.first || l.rest) {
      ++at;
      continue;
    }
    over(l, nullptr, -1);
    at = out_.erase(at);
    any = true;
  }
  return any;
}

// ---- incoming messages ----

Mail::Letters::iterator Mail::wanted(int peer, int64_t tag) {
  return std::find_if(wanted_.begin(), wanted_.end(), [&](const std::unique_ptr<Letter> &l) {
    return (l->peer < 0 || l->peer == peer) && l->tag == tag;
  });
}

bool Mail::anybody_wants(int peer) {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const std::unique_ptr<Letter> &l) {
    return l->peer < 0 || l->peer == peer;
  });
}

static Outcome other_size(int peer, int64_t sent, size_t wanted) {
  return std::make_exception_ptr(std::runtime_error(
      "tutti: recv: rank " + std::to_string(peer) + " of the group sent " + std::to_string(sent) +
      " bytes, where " + std::to_string(wanted) + " are wanted; the tensors must have one type and size"));
}

// Its header is here: find memory for the bytes.
bool Mail::take(int peer) {
  Peer &p = peers_[static_cast<size_t>(peer)];
  const auto n = static_cast<size_t>(p.head.bytes);
  const auto at = wanted(peer, p.head.tag);
  void *bytes;
  p.headed = false;
  if (at != wanted_.end() && (*at)->n == n) {
    p.into = std::move(*at);
    wanted_.erase(at);
    bytes = p.into->bytes;
  } else {
    if (at != wanted_.end()) {
      over(**at, other_size(peer, p.head.bytes, (*at)->n), peer);
      wanted_.erase(at);
    }
    p.kept.push_back({p.head, std::vector<char>(n)});
    bytes = p.kept.back().bytes.data();
  }
  const Outcome failed =
      n ? outcome_of(tutti_recv_start(comm_, bytes, n, TUTTI_UINT8, peer, &p.comes)) : nullptr;
  if (failed) fail(failed);
  return true;
}

bool Mail::advance_peer(int peer) {
  Peer &p = peers_[static_cast<size_t>(peer)];
  Outcome failed;
  bool any = false;
  if (p.listens && test(&p.listens, &failed)) any = p.headed = true;
  if (!failed && p.headed) return take(peer);
  if (!failed && p.comes && !test(&p.comes, &failed)) return any;
  if (failed) return fail(failed), true;
  if (p.into) {
    over(*p.into, nullptr, peer);
    p.into.reset();
    any = true;
  }
  for (auto kept = p.kept.begin(); !p.comes && kept != p.kept.end();) {
    const auto at = wanted(peer, kept->head.tag);
    if (at == wanted_.end()) {
      ++kept;
      continue;
    }
    const bool fits = (*at)->n == kept->bytes.size();
    if (fits) std::copy(kept->bytes.begin(), kept->bytes.end(), static_cast<char *>((*at)->bytes));
    over(**at, fits ? nullptr : other_size(peer, kept->head.bytes, (*at)->n), peer);
    wanted_.erase(at);
    kept = p.kept.erase(kept);
    any = true;
  }
  if (p.listens || !anybody_wants(peer) || peer == tutti_comm_rank(comm_)) return any;
  failed = outcome_of(tutti_recv_start(comm_, &p.head, sizeof p.head, TUTTI_UINT8, peer, &p.listens));
  if (failed) fail(failed);
  return true;
}

bool Mail::advance() {
  bool any = advance_sends();
  for (size_t p = 0; p < peers_.size(); p++) any |= advance_peer(static_cast<int>(p));
  return any;
}

// ---- progress ----

bool Mail::idle() const {
  if (!out_.empty() || !wanted_.empty()) return false;
  return std::none_of(peers_.begin(), peers_.end(), [](const Peer &p) { return p.comes || p.into; });
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

void Mail::add(Lock &lock, Letters &letters, std::unique_ptr<Letter> letter) {
  const auto task = letter->task;
  letters.push_back(std::move(letter));
  advance();
  announce(lock);
  if (!worker_) worker_ = quiet_thread([this] { work(); });
  changed_.notify_all();
  if (!works_here() || task->settled()) return;
  lock.unlock();  // a callback, which may wait for it: no other thread would drive it
  wait(*task, std::chrono::milliseconds(0));
}

void Mail::send(c10::intrusive_ptr<Task> task, int peer, int tag, const void *bytes, size_t n) {
  check_process(process_);
  Lock lock(mutex_);
  if (over_) throw std::runtime_error("tutti: send: this process group has been destroyed");
  std::unique_ptr<Letter> l(new Letter{std::move(task), peer, tag, const_cast<void *>(bytes), n,
                                       {tag, static_cast<int64_t>(n)}});
  Outcome failed =
      outcome_of(tutti_send_start(comm_, &l->head, sizeof l->head, TUTTI_UINT8, peer, &l->first));
  if (!failed && n) failed = outcome_of(tutti_send_start(comm_, bytes, n, TUTTI_UINT8, peer, &l->rest));
  if (!failed) return add(lock, out_, std::move(l));
  const auto kept = l->task;
  fail(failed);
  tutti_request_wait(&l->first);
  over(*l, failed, -1);
  announce(lock);
}

void Mail::receive(c10::intrusive_ptr<Task> task, int peer, int tag, void *bytes, size_t n) {
  check_process(process_);
  Lock lock(mutex_);
  if (over_) throw std::runtime_error("tutti: recv: this process group has been destroyed");
  add(lock, wanted_, std::unique_ptr<Letter>(new Letter{std::move(task), peer, tag, bytes, n, {}}));
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
    changed_.wait(lock, [this] { return over_ || !idle(); });
    if (over_ && idle()) return;
    vain = advance() ? 0 : vain + 1;
    announce(lock);
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(20 + 10 * vain, 1000)));
    lock.lock();
  }
}

void Mail::withdraw(Task &task) {
  Lock lock(mutex_);
  const auto at = std::find_if(wanted_.begin(), wanted_.end(), [&](const auto &l) { return l->task.get() == &task; });
  if (at == wanted_.end()) return;
  over(**at, std::make_exception_ptr(std::runtime_error("tutti: recv: it was withdrawn")), -1);
  wanted_.erase(at);
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
    quiet = idle();
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
