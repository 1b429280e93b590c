// live.cpp - the process groups of this process (live.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "live.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "group.hpp"

namespace tutti_c10d {

namespace {
using Groups = std::vector<c10::weak_intrusive_ptr<Group>>;

std::mutex &mutex() {
  static auto *m = new std::mutex;  // never destroyed: a group may outlive everything
  return *m;
}
Groups &groups() {
  static auto *g = new Groups;
  return *g;
}
}  // namespace

void born(const c10::intrusive_ptr<Group> &group) {
  std::lock_guard<std::mutex> lock(mutex());
  auto &all = groups();
  all.erase(std::remove_if(all.begin(), all.end(), [](const auto &g) { return g.expired(); }), all.end());
  all.emplace_back(group);
}

void abort_all(const std::string &reason) {
  Groups all;
  {
    std::lock_guard<std::mutex> lock(mutex());
    all = groups();
  }
  for (const auto &one : all)
    if (const auto group = one.lock()) group->abort(reason);
}

static Groups take() {
  std::lock_guard<std::mutex> lock(mutex());
  return std::exchange(groups(), {});
}

void drain_all(double seconds) {
  for (Groups some = take(); !some.empty(); some = take())
    for (const auto &one : some)
      if (const auto group = one.lock()) group->drain(seconds);
}

}  // namespace tutti_c10d
