// meeting.cpp - the communicator of a process group (meeting.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "meeting.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "interrupt.hpp"
#include "tutti_create.h"

namespace tutti_c10d {

namespace {

int put(void *store, const char *key, const void *bytes, size_t n) {
  try {
    const auto *b = static_cast<const uint8_t *>(bytes);
    static_cast<c10d::Store *>(store)->set(key, std::vector<uint8_t>(b, b + n));
    return 0;
  } catch (const std::exception &) {
    return 1;
  }
}

int get(void *store, const char *key, void *bytes, size_t size, size_t *n, double seconds) {
  try {
    auto *s = static_cast<c10d::Store *>(store);
    const auto limit = std::chrono::milliseconds(std::max<int64_t>(1, static_cast<int64_t>(seconds * 1e3)));
    const auto until = std::chrono::steady_clock::now() + limit;
    for (auto pause = std::chrono::milliseconds(1); !s->check({key}); pause = std::min(2 * pause, LOOK)) {
      if (tutti_interrupted() || std::chrono::steady_clock::now() > until) return 1;
      std::this_thread::sleep_for(pause);
    }
    const std::vector<uint8_t> found = s->get(key);
    *n = found.size();
    std::memcpy(bytes, found.data(), std::min(size, found.size()));
    return 0;
  } catch (const std::exception &) {
    return 1;
  }
}

}  // namespace

tutti_comm *meet(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                 std::chrono::milliseconds timeout) {
  const tutti_store by = {sizeof by, store.get(), put, get};
  tutti_config config = {};
  config.size = sizeof config;
  config.connect_timeout = static_cast<double>(timeout.count()) / 1e3;
  tutti_comm *comm = nullptr;
  const tutti_status status = tutti_comm_create_store(&comm, &by, size, rank, &config);
  if (status) raise_kept();
  if (status) throw std::runtime_error(std::string("tutti: init_process_group: ") + tutti_error());
  return comm;
}

tutti_comm *twin(tutti_comm *comm) {
  tutti_comm *out = nullptr;
  const tutti_status status = tutti_comm_dup(comm, &out);
  if (status) raise_kept();
  if (status) throw std::runtime_error(std::string("tutti: init_process_group: ") + tutti_error());
  return out;
}

tutti_status set_timeout(tutti_comm *comm, double seconds) {
  tutti_config config = {};
  config.size = sizeof config;
  const tutti_status status = tutti_comm_config(comm, &config);
  config.timeout = seconds;
  return status ? status : tutti_comm_configure(comm, &config);
}

}  // namespace tutti_c10d
