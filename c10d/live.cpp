// live.cpp - the process groups that there are in this process (live.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "live.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "group.hpp"

namespace tutti_c10d {

namespace {
std::mutex &mutex() {
  static auto *m = new std::mutex;  // never destroyed: a group may outlive everything
  return *m;
}
std::vector<Group *> &groups() {
  static auto *g = new std::vector<Group *>;
  return *g;
}
}  // namespace

void born(Group *group) {
  std::lock_guard<std::mutex> lock(mutex());
  groups().push_back(group);
}

void gone(Group *group) {
  std::lock_guard<std::mutex> lock(mutex());
  auto &all = groups();
  all.erase(std::remove(all.begin(), all.end(), group), all.end());
}

void drain_all(double seconds) {
  std::lock_guard<std::mutex> lock(mutex());
  for (auto *group : groups()) group->drain(seconds);
}

}  // namespace tutti_c10d
