/* hosts_gloo.cc - gloo's allreduce for hosts.c: its default, the ring, which PyTorch
 * uses, over TCP. Ranks find each other by files in a folder that all see.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <memory>

#include "hosts_gloo.h"

namespace {
std::shared_ptr<gloo::rendezvous::Context> context;
using Reduce = void (*)(void *, const void *, const void *, size_t);
}  // namespace

int hosts_gloo_open(int rank, int ranks, const char *folder, const char *interface) {
  try {
    gloo::transport::tcp::attr attr;
    attr.iface = interface;
    auto device = gloo::transport::tcp::CreateDevice(attr);
    gloo::rendezvous::FileStore store(folder);
    context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    return 0;
  } catch (const std::exception &e) {
    fprintf(stderr, "hosts: gloo: rank %d: %s\n", rank, e.what());
    return 1;
  }
}

int hosts_gloo_sum(float *x, size_t n) {
  try {
    gloo::AllreduceOptions o(context);
    o.setOutput(x, n);
    o.setReduceFunction(static_cast<Reduce>(&gloo::sum<float>));
    gloo::allreduce(o);
    return 0;
  } catch (const std::exception &e) {
    fprintf(stderr, "hosts: gloo: %s\n", e.what());
    return 1;
  }
}

void hosts_gloo_close(void) {
  context.reset();
}
