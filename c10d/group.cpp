// group.cpp - a process group of PyTorch over a communicator of tutti (group.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "group.hpp"

#include <Python.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "device.hpp"
#include "flight.hpp"
#include "layout.hpp"
#include "meeting.hpp"
#include "tensors.hpp"
#include "tutti_plan.h"

namespace tutti_c10d {

using c10d::OpType;

namespace {

// For operations that their caller carries out (queue.hpp).
size_t brief_bytes() {
  const char *said = std::getenv("TUTTI_TORCH_BRIEF");
  const std::string text = said ? said : "";
  size_t bytes = 64 << 10;
  const char *end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, bytes);
  if (!text.empty() && (read.ec != std::errc() || read.ptr != end))
    refuse("init_process_group", "TUTTI_TORCH_BRIEF is '" + text.substr(0, 40) +
                                     "'; it is a whole number of bytes, 65536 if it is not set");
  return bytes;
}

std::atomic<int> next_number{0};

#if TUTTI_TORCH(2, 0)
constexpr OpType COALESCED = OpType::COALESCED;
#else
constexpr OpType COALESCED = OpType::UNKNOWN;
#endif

size_t count(const at::Tensor &t) {
  return static_cast<size_t>(t.numel());
}

}  // namespace

Group::Group(tutti_comm *comm, std::chrono::milliseconds timeout)
    : Base(tutti_comm_rank(comm), tutti_comm_size(comm)), queue_(new Queue(comm)),
      number_(next_number++), timeout_(timeout.count()), brief_(brief_bytes()) {
  init();
  set_timeout(queue_->comm(), static_cast<double>(timeout.count()) / 1e3);
  mail_.reset(new Mail(twin(queue_->comm())));
}

Group::~Group() {
  end();
}

// Python calls this with its lock held, which the callbacks of operations in flight may want.
void Group::end() {
  if (queue_ && mail_ && (queue_->works_here() || mail_->works_here())) {  // a callback held the last reference:
    queue_.release();                                                     // its thread continues
    mail_.release();
    return;
  }
  if (Py_IsInitialized() && PyGILState_Check()) {
    PyThreadState *state = PyEval_SaveThread();
    drain(10);
    PyEval_RestoreThread(state);
  } else {
    drain(10);
  }
  mail_.reset();
  queue_.reset();
}

std::string Group::explain(int64_t bytes) const {
  char *text = nullptr;
  const auto n = static_cast<size_t>(bytes) / 4;
  if (tutti_comm_explain(queue_->comm(), TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, 0, &text))
    throw std::runtime_error(std::string("tutti: explain: ") + tutti_error());
  const std::string words = text;
  tutti_text_free(text);
  return words;
}

void Group::abort(const std::string &reason) {
  if (queue_) queue_->abort(reason);
  if (mail_) mail_->abort(reason);
}

void Group::drain(double seconds) {
  if (queue_) queue_->drain(seconds);
  if (mail_) mail_->drain(seconds);
}

c10::intrusive_ptr<Task> Group::task(OpType type, const char *title, Tensors inputs, Tensors result) {
  Queue *queue = queue_.get();
  auto order = order_of(title + std::strlen("tutti:"), inputs, result);
  const uint64_t flight = note(title, inputs, result, false, -1);
  auto w = c10::make_intrusive<Task>(
      type, title, std::move(inputs), std::move(result),
      [queue](Task &t, std::chrono::milliseconds limit) { return queue->wait(t, limit); });
  w->order = std::move(order);
  w->flight = flight;
  return w;
}

uint64_t Group::note(const char *title, const Tensors &in, const Tensors &out, bool message, int peer) {
  Entry e;
  e.group = number_;
  e.seq = message ? ++messages_ : ++collectives_;
  e.name = title + std::strlen("tutti:");
  e.rank = getRank();
  e.peer = peer;
  e.message = message;
  e.timeout = timeout_;
  flight_note(e.in, in);
  flight_note(e.out, out);
  return flight_created(std::move(e));
}

Group::Done Group::add(c10::intrusive_ptr<Task> task, size_t bytes) {
  queue_->add(task, bytes <= brief_ && !task->order);
  return task;
}

void Group::check_root(const char *call, int64_t root) const {
  if (root < 0 || root >= getSize())
    refuse(call, "rank " + std::to_string(root) + " is not in the group of " + std::to_string(getSize()));
}

// ---- sums ----

Group::Done Group::allreduce(Tensors &tensors, const c10d::AllreduceOptions &o) {
  const at::Tensor mine = only("all_reduce", tensors), t = in_order(mine);
  const tutti_type type = type_of("all_reduce", t);
  const tutti_op op = op_of("all_reduce", o.reduceOp, t);
  auto w = task(OpType::ALLREDUCE, "tutti:all_reduce", {t}, {mine});
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    return make(way, comm,
                call_of(TUTTI_ALLREDUCE, t.data_ptr(), t.data_ptr(), count(t), type, op));
  };
  bring_back(*w, "all_reduce", mine, t);
  return add(std::move(w), t.nbytes());
}

Group::Done Group::allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &o) {
  const char *call = "all_reduce_coalesced";
  if (tensors.empty()) refuse(call, "a list without tensors");
  size_t bytes = 0;
  for (const auto &t : tensors) {
    check(call, t);
    if (t.scalar_type() != tensors[0].scalar_type()) refuse(call, "tensors must have one type");
    bytes += t.nbytes();
  }
  const Tensors mine = tensors, all = in_order(mine);
  const tutti_type type = type_of(call, all[0]);
  const tutti_op op = op_of(call, o.reduceOp, all[0]);
  auto w = task(OpType::ALLREDUCE_COALESCED, "tutti:all_reduce_coalesced", all, mine);
  tutti_comm *comm = queue_->comm();
  w->by_request = true;
  w->start = [=](const Way &way) {
    std::vector<void *> at;
    std::vector<size_t> counts;
    for (const auto &t : all) at.push_back(t.data_ptr()), counts.push_back(count(t));
    tutti_call call = {};
    call.size = sizeof call;
    call.coll = TUTTI_ALLREDUCE;
    call.type = type;
    call.op = op;
    call.n = all.size();
    call.srcs = at.data();
    call.dsts = at.data();
    call.counts = counts.data();
    return tutti_call_start(comm, &call, way.request);
  };
  bring_back(*w, call, mine, all);
  return add(std::move(w), bytes);
}

Group::Done Group::reduce(Tensors &tensors, const c10d::ReduceOptions &o) {
  const at::Tensor mine = only("reduce", tensors), t = in_order(mine);
  check_root("reduce", o.rootRank);
  const tutti_type type = type_of("reduce", t);
  const tutti_op op = op_of("reduce", o.reduceOp, t);
  const int root = static_cast<int>(o.rootRank);
  auto w = task(OpType::REDUCE, "tutti:reduce", {t}, {mine});
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    return make(way, comm,
                call_of(TUTTI_REDUCE, t.data_ptr(), t.data_ptr(), count(t), type, op, root));
  };
  if (root == getRank()) bring_back(*w, "reduce", mine, t);
  return add(std::move(w), t.nbytes());
}

Group::Done Group::_reduce_scatter_base(at::Tensor &to, at::Tensor &from, const c10d::ReduceScatterOptions &o) {
  const char *call = "reduce_scatter";
  check(call, to);
  check(call, from);
  if (from.numel() != to.numel() * getSize() || from.scalar_type() != to.scalar_type())
    refuse(call, "the input must have the output's type, and the output's number of elements for each rank; the form with a "
                 "list takes parts of several sizes");
  return sum_parts(to, from, {}, o.reduceOp);
}

// counts: the parts' numbers of elements; empty: they have one size.
Group::Done Group::sum_parts(const at::Tensor &mine, const at::Tensor &from, std::vector<size_t> counts,
                             const c10d::ReduceOp &kind) {
  const char *call = "reduce_scatter";
  const at::Tensor src = in_order(from), dst = room(mine);
  const tutti_type type = type_of(call, mine);
  const tutti_op op = op_of(call, kind, mine);
  auto w = task(OpType::_REDUCE_SCATTER_BASE, "tutti:reduce_scatter", {src}, {mine});
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    if (!counts.empty())
      return make(way, comm,
                  call_of(TUTTI_REDUCE_SCATTER, src.data_ptr(), dst.data_ptr(), 0, type, op, 0,
                          counts.data()));
    return make(
        way, comm,
        call_of(TUTTI_REDUCE_SCATTER, src.data_ptr(), dst.data_ptr(), count(dst), type, op));
  };
  bring_back(*w, call, mine, dst);
  return add(std::move(w), src.nbytes());
}

Group::Done Group::reduce_scatter(Tensors &to, std::vector<Tensors> &from, const c10d::ReduceScatterOptions &o) {
  at::Tensor dst = only("reduce_scatter", to);
  if (from.size() != 1) refuse("reduce_scatter", "one list of tensors per process is wanted");
  check_parts("reduce_scatter", from[0], ranks(), dst, getRank());
  Flat all = flat(from[0]);
  if (all.copied) join(from[0], all.all);
  return sum_parts(dst, all.all, all.counts, o.reduceOp);
}

// ---- copies ----

Group::Done Group::broadcast(Tensors &tensors, const c10d::BroadcastOptions &o) {
  const at::Tensor mine = only("broadcast", tensors);
  check_root("broadcast", o.rootRank);
  const bool gets = o.rootRank != getRank();
  const at::Tensor t = gets ? room(mine) : in_order(mine);
  const tutti_type type = type_of("broadcast", t);
  const int root = static_cast<int>(o.rootRank);
  auto w = task(OpType::BROADCAST, "tutti:broadcast", {t}, {mine});
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    return make(
        way, comm,
        call_of(TUTTI_BROADCAST, t.data_ptr(), t.data_ptr(), count(t), type, TUTTI_SUM, root));
  };
  if (gets) bring_back(*w, "broadcast", mine, t);
  return add(std::move(w), t.nbytes());
}

Group::Done Group::_allgather_base(at::Tensor &to, at::Tensor &from, const c10d::AllgatherOptions &) {
  const char *call = "all_gather";
  check(call, to);
  check(call, from);
  if (to.numel() != from.numel() * getSize() || from.scalar_type() != to.scalar_type())
    refuse(call, "the output must have the input's type, and the input's number of elements for each rank; the form with a list "
                 "takes inputs of several sizes");
  const at::Tensor src = in_order(from), mine = to, dst = room(to);
  const tutti_type type = type_of(call, from);
  auto w = task(OpType::_ALLGATHER_BASE, "tutti:all_gather", {src}, {mine});
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    return make(way, comm,
                call_of(TUTTI_ALLGATHER, src.data_ptr(), dst.data_ptr(), count(src), type));
  };
  bring_back(*w, call, mine, dst);
  return add(std::move(w), dst.nbytes());
}

Group::Done Group::allgather(std::vector<Tensors> &to, Tensors &from, const c10d::AllgatherOptions &) {
  const char *call = "all_gather";
  const at::Tensor src = in_order(only(call, from));
  if (to.size() != 1) refuse(call, "one list of tensors per process is wanted");
  check_parts(call, to[0], ranks(), src, getRank());
  Tensors list = to[0];
  const Flat all = flat(list);
  const tutti_type type = type_of(call, src);
  auto w = task(OpType::ALLGATHER, "tutti:all_gather", {src}, list);
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    if (!all.counts.empty())
      return make(way, comm,
                  call_of(TUTTI_ALLGATHER, src.data_ptr(), all.all.data_ptr(), 0, type, TUTTI_SUM,
                          0, all.counts.data()));
    return make(way, comm,
                call_of(TUTTI_ALLGATHER, src.data_ptr(), all.all.data_ptr(), count(src), type));
  };
  if (all.copied) w->after = [=] { spread(call, all.all, list); };
  return add(std::move(w), all.all.nbytes());
}

Group::Done Group::allgather_coalesced(std::vector<Tensors> &to, Tensors &from, const c10d::AllgatherOptions &o) {
  const char *call = "all_gather_coalesced";
  if (to.size() != ranks()) refuse(call, "one list of tensors for each rank is wanted");
  Done last;
  for (size_t i = 0; i < from.size(); i++) {
    std::vector<Tensors> each(1);
    for (auto &list : to) {
      if (list.size() != from.size()) refuse(call, "each list must have as many tensors as the input");
      each[0].push_back(list[i]);
    }
    Tensors one = {from[i]};
    last = allgather(each, one, o);
  }
  return last ? last : barrier(c10d::BarrierOptions());
}

Group::Done Group::gather(std::vector<Tensors> &to, Tensors &from, const c10d::GatherOptions &o) {
  const char *call = "gather";
  const at::Tensor src = in_order(only(call, from));
  check_root(call, o.rootRank);
  const int root = static_cast<int>(o.rootRank);
  const bool here = root == getRank();
  if (here ? to.size() != 1 : !to.empty())
    refuse(call, here ? "the root wants one list of tensors" : "only the root has an output");
  Tensors list;
  Flat all = {at::Tensor(), false, {}};
  if (here) {
    check_list(call, to[0], ranks(), src);
    list = to[0];
    all = flat(list);
  }
  const tutti_type type = type_of(call, src);
  auto w = task(OpType::GATHER, "tutti:gather", {src}, list);
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    return make(way, comm,
                call_of(TUTTI_GATHER, src.data_ptr(), here ? all.all.data_ptr() : nullptr,
                        count(src), type, TUTTI_SUM, root));
  };
  if (all.copied) w->after = [=] { spread(call, all.all, list); };
  return add(std::move(w), src.nbytes() * ranks());
}

Group::Done Group::scatter(Tensors &to, std::vector<Tensors> &from, const c10d::ScatterOptions &o) {
  const char *call = "scatter";
  const at::Tensor mine = only(call, to), dst = room(mine);
  check_root(call, o.rootRank);
  const int root = static_cast<int>(o.rootRank);
  const bool here = root == getRank();
  if (here ? from.size() != 1 : !from.empty())
    refuse(call, here ? "the root wants one list of tensors" : "only the root has an input");
  Flat all = {at::Tensor(), false, {}};
  if (here) {
    check_list(call, from[0], ranks(), dst);
    all = flat(from[0]);
    if (all.copied) join(from[0], all.all);
  }
  const tutti_type type = type_of(call, dst);
  auto w = task(OpType::SCATTER, "tutti:scatter", here ? from[0] : Tensors(), {mine});
  if (here) w->holds = {all.all};
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) {
    return make(way, comm,
                call_of(TUTTI_SCATTER, here ? all.all.data_ptr() : nullptr, dst.data_ptr(),
                        count(dst), type, TUTTI_SUM, root));
  };
  bring_back(*w, call, mine, dst);
  return add(std::move(w), dst.nbytes() * ranks());
}

Group::Done Group::barrier(const c10d::BarrierOptions &) {
  auto w = task(OpType::BARRIER, "tutti:barrier", {}, {});
  tutti_comm *comm = queue_->comm();
  w->start = [=](const Way &way) { return tutti_barrier_start(comm, way.request); };
  return add(std::move(w), 0);
}

// ---- several operations as one ----

Group::Done Group::coalesced(OpType type, const char *title, Tensors &to, Tensors &from, Each each) {
  const char *call = title + std::strlen("tutti:");
  if (to.size() != from.size()) refuse(call, "as many outputs as inputs are wanted");
  const Tensors mine = to, src = in_order(from), dst = room(to);
  size_t bytes = 0;
  for (size_t i = 0; i < src.size(); i++) {
    const int64_t more = std::max(src[i].numel(), dst[i].numel()), less = std::min(src[i].numel(), dst[i].numel());
    check(call, mine[i]);
    check(call, src[i]);
    if (more != less * getSize() || src[i].scalar_type() != dst[i].scalar_type())
      refuse(call, "one of input and output must have the number of elements of the other for each rank, and its type");
    bytes += static_cast<size_t>(more) * src[i].element_size();
  }
  auto w = task(type, title, src, mine);
  w->start_several = [=](Requests &requests) {
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < src.size() && !status; i++) {
      requests.push_back(nullptr);
      status = each(dst[i], src[i], &requests.back());
    }
    return status;
  };
  bring_back(*w, call, mine, dst);
  return add(std::move(w), bytes);
}

Group::Done Group::allgather_into_tensor_coalesced(Tensors &to, Tensors &from, const c10d::AllgatherOptions &) {
  tutti_comm *comm = queue_->comm();
  const char *title = "tutti:all_gather";
  return coalesced(COALESCED, title, to, from,
                   [=](const at::Tensor &dst, const at::Tensor &src, tutti_request **r) {
                     return tutti_allgather_start(comm, src.data_ptr(), dst.data_ptr(), count(src),
                                                  type_of(title, src), r);
                   });
}

Group::Done Group::reduce_scatter_tensor_coalesced(Tensors &to, Tensors &from, const c10d::ReduceScatterOptions &o) {
  tutti_comm *comm = queue_->comm();
  const char *title = "tutti:reduce_scatter";
  const c10d::ReduceOp kind = o.reduceOp;
  return coalesced(COALESCED, title, to, from, [=](const at::Tensor &dst, const at::Tensor &src, tutti_request **r) {
    return tutti_reduce_scatter_start(comm, src.data_ptr(), dst.data_ptr(), count(dst), type_of(title, src),
                                      op_of(title, kind, src), r);
  });
}

// ---- messages ----

Group::Done Group::send(Tensors &tensors, int to, int tag) {
  const at::Tensor mine = only("send", tensors), t = on_host(mine);
  check_root("send", to);
  if (to == getRank()) refuse("send", "a rank cannot send to itself");
  Mail *mail = mail_.get();
  auto w = c10::make_intrusive<Task>(
      OpType::SEND, "tutti:send", Tensors{t}, Tensors{mine},
      [mail](Task &task, std::chrono::milliseconds limit) { return mail->wait(task, limit); });
  flight_started(w->flight = note("tutti:send", {mine}, {mine}, true, to));
  mail->send(w, to, tag, t.data_ptr(), t.nbytes());
  return w;
}

Group::Done Group::receive(Tensors &tensors, int from, int tag, OpType type) {
  const at::Tensor mine = only("recv", tensors), t = host_room(mine);
  Mail *mail = mail_.get();
  auto w = c10::make_intrusive<Task>(
      type, "tutti:recv", Tensors{t}, Tensors{mine},
      [mail](Task &task, std::chrono::milliseconds limit) { return mail->wait(task, limit); });
  w->order = order_of("recv", {mine});
  bring_back(*w, "recv", mine, t);
  flight_started(w->flight = note("tutti:recv", {mine}, {mine}, true, from));
  mail->receive(w, from, tag, t.data_ptr(), t.nbytes());
  return w;
}

Group::Done Group::recv(Tensors &tensors, int from, int tag) {
  check_root("recv", from);
  if (from == getRank()) refuse("recv", "a rank cannot recv from itself");
  return receive(tensors, from, tag, OpType::RECV);
}

Group::Done Group::recvAnysource(Tensors &tensors, int tag) {
  return receive(tensors, -1, tag, OpType::RECVANYSOURCE);
}

}  // namespace tutti_c10d
