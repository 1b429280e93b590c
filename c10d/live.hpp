// live.hpp - the process groups that there are in this process.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_LIVE_HPP
#define TUTTI_C10D_LIVE_HPP

#include <c10/util/intrusive_ptr.h>

#include <string>

namespace tutti_c10d {

class Group;

void born(const c10::intrusive_ptr<Group> &group);
// All operations of all of them fail, here and on the other ranks, which hear the reason.
void abort_all(const std::string &reason);
// Wait until nothing is under way in any of them; then none takes anything more. Callbacks of what is
// under way may make and drop groups meanwhile: no lock is held.
void drain_all(double seconds);

}  // namespace tutti_c10d
#endif
