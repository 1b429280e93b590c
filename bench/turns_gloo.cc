/* turns_gloo.cc - gloo's four allreduces for turns.c, over TCP, because gloo does not use shared memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "turns.h"

namespace {

using Reduce = void (*)(void *, const void *, const void *, size_t);
enum { kRing, kBcube, kRingChunked, kHalvingDoubling, kAlgorithms };
const char *const kNames[kAlgorithms] = {"ring", "bcube", "ring_chunked", "halving_doubling"};

std::shared_ptr<gloo::rendezvous::Context> context;
/* For each algorithm, the object that was prepared for the last vector. */
struct Prepared {
  const float *x = nullptr;
  size_t n = 0;
  std::function<void()> run;
} prepared[kAlgorithms];

std::function<void()> Prepare(int algorithm, float *x, size_t n) {
  const std::vector<float *> pointers{x};
  if (algorithm == kRingChunked) {
    auto a = std::make_shared<gloo::AllreduceRingChunked<float>>(context, pointers, n);
    return [a] { a->run(); };
  }
  if (algorithm == kHalvingDoubling) {
    auto a = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, pointers, n);
    return [a] { a->run(); };
  }
  auto o = std::make_shared<gloo::AllreduceOptions>(context);
  o->setOutput(x, n);
  o->setReduceFunction(static_cast<Reduce>(&gloo::sum<float>));
  o->setAlgorithm(algorithm == kBcube ? gloo::AllreduceOptions::Algorithm::BCUBE
                                      : gloo::AllreduceOptions::Algorithm::RING);
  return [o] { gloo::allreduce(*o); };
}

/* Runs `body`; 0, or 1 after printing gloo's error. */
template <typename Body>
int Guarded(const char *what, Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception &e) {
    fprintf(stderr, "turns: gloo: %s: %s\n", what, e.what());
    return 1;
  }
}

}  // namespace

const char *gloo_name(int algorithm) {
  return algorithm < kAlgorithms ? kNames[algorithm] : nullptr;
}

int gloo_open(int rank, int ranks, const char *folder, const char *interface) {
  return Guarded("connecting", [&] {
    gloo::transport::tcp::attr attr;
    if (interface)
      attr.iface = interface;
    else
      attr.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attr);
    gloo::rendezvous::FileStore store(folder);
    context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
  });
}

int gloo_sum(int algorithm, float *x, size_t n) {
  return Guarded(kNames[algorithm], [&] {
    Prepared &p = prepared[algorithm];
    if (p.x != x || p.n != n) p = {x, n, Prepare(algorithm, x, n)};
    p.run();
  });
}

void gloo_forget(void) {
  for (Prepared &p : prepared) p = Prepared();
}

void gloo_close(void) {
  gloo_forget();
  context.reset();
}
