/* peer_gloo.cc - gloo's allreduces of floats, sum, in place, over TCP on the
 * loopback (it has no shared memory), as `tutti bench` measures.
 *
 *   peer_gloo P all|ring loop|cycle FIRST LAST BUDGET REPEATS
 *
 * Starts P processes. Prints a line per size: bytes, median us, least us, of the
 * best of its four algorithms (ring, bcube, ring_chunked, halving_doubling), or of
 * the ring, which is its default.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "timing.h"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Call = std::function<void()>;
using Reduce = void (*)(void *, const void *, const void *, size_t);
const std::vector<std::string> kAlgorithms = {"ring", "bcube", "ring_chunked", "halving_doubling"};

/* One call of the named algorithm on x. */
Call MakeCall(const Context &context, const std::string &name, float *x, size_t n) {
  const std::vector<float *> pointers{x};
  if (name == "ring_chunked") {
    auto a = std::make_shared<gloo::AllreduceRingChunked<float>>(context, pointers, n);
    return [a] { a->run(); };
  }
  if (name == "halving_doubling") {
    auto a = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, pointers, n);
    return [a] { a->run(); };
  }
  auto o = std::make_shared<gloo::AllreduceOptions>(context);
  o->setOutput(x, n);
  o->setReduceFunction(static_cast<Reduce>(&gloo::sum<float>));
  o->setAlgorithm(name == "bcube" ? gloo::AllreduceOptions::Algorithm::BCUBE
                                  : gloo::AllreduceOptions::Algorithm::RING);
  return [o] { gloo::allreduce(*o); };
}

double Slowest(const Context &context, double seconds) {
  gloo::AllreduceOptions o(context);
  o.setOutput(&seconds, 1);
  o.setReduceFunction(static_cast<Reduce>(&gloo::max<double>));
  gloo::allreduce(o);
  return seconds;
}

double Timed(const Context &context, float *x, size_t n, const Call *call, long iterations,
             bool touch) {
  gloo::BarrierOptions meet(context);
  gloo::barrier(meet);
  const double from = timing_now();
  for (long i = 0; i < iterations; i++) {
    if (touch) timing_write(x, n, i);
    if (call) (*call)();
    if (touch) timing_read(x, n);
  }
  return (timing_now() - from) / static_cast<double>(iterations);
}

std::vector<double> Measure(const Context &context, const timing_plan &plan, float *x, size_t n,
                            const std::string &name) {
  const Call call = MakeCall(context, name, x, n);
  call();
  double once = Slowest(context, Timed(context, x, n, &call, 3, plan.cycle));
  for (int k = 0, settled = 0; k < SETTLE && !settled; k++) {
    const long trial = timing_trial(plan.budget, once);
    const double again = Slowest(context, Timed(context, x, n, &call, trial, plan.cycle));
    settled = timing_settled(once, again);
    once = again;
  }
  const long iterations = timing_fit(plan.budget, once);
  std::vector<double> each;
  for (int k = 0; k < plan.repeats; k++) {
    const double without = plan.cycle ? Timed(context, x, n, nullptr, iterations, true) : 0;
    const double with = Timed(context, x, n, &call, iterations, plan.cycle);
    each.push_back(Slowest(context, with - without));
  }
  std::sort(each.begin(), each.end());
  return each;
}

void RankMain(int rank, int ranks, const std::string &folder, bool all, const timing_plan &plan) {
  gloo::transport::tcp::attr attr;
  attr.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attr);
  gloo::rendezvous::FileStore store(folder);
  Context context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  for (size_t bytes = plan.first; bytes <= plan.last; bytes *= 4) {
    std::vector<float> x(bytes / sizeof(float), 0.f);
    std::vector<double> best;
    for (const auto &name : kAlgorithms) {
      auto each = Measure(context, plan, x.data(), x.size(), name);
      if (best.empty() || each[each.size() / 2] < best[best.size() / 2]) best = each;
      if (!all) break;
    }
    if (rank == 0) timing_show(bytes, best.data(), plan.repeats);
  }
}

}  // namespace

int main(int argc, char **argv) {
  timing_plan plan;
  const int ranks = argc > 2 ? atoi(argv[1]) : 0;
  if (ranks < 2 || !timing_parse(&plan, argc - 3, argv + 3)) {
    fprintf(stderr, "usage: peer_gloo P all|ring " TIMING_USAGE "\n");
    return 2;
  }
  char folder[] = "/tmp/peer_gloo.XXXXXX";
  if (!mkdtemp(folder)) return perror(folder), 1;
  for (int r = 0; r < ranks; r++)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        RankMain(r, ranks, folder, strcmp(argv[2], "all") == 0, plan);
        fflush(stdout);
        _exit(0);
      } catch (const std::exception &e) {
        fprintf(stderr, "peer_gloo: rank %d: %s\n", r, e.what());
        _exit(1);
      }
    }
  int bad = 0;
  for (int status; wait(&status) > 0;) bad |= status;
  const std::string remove = std::string("rm -rf ") + folder;
  return system(remove.c_str()) != 0 || bad != 0;
}
