// live.hpp - the process groups of this process.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_LIVE_HPP
#define TUTTI_C10D_LIVE_HPP

#include <c10/util/intrusive_ptr.h>

#include <string>

namespace tutti_c10d {

class Group;

void born(const c10::intrusive_ptr<Group> &group);
// All operations of all groups fail, here and on the other ranks, which get the reason.
void abort_all(const std::string &reason);
// Wait until no group has an operation in flight; afterwards no group accepts any. Callbacks may make and drop
// groups meanwhile: no lock is held.
void drain_all(double seconds);

}  // namespace tutti_c10d
#endif
