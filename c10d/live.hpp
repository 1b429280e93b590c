// live.hpp - the process groups that there are in this process.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_LIVE_HPP
#define TUTTI_C10D_LIVE_HPP

namespace tutti_c10d {

class Group;

void born(Group *group);
void gone(Group *group);
// Wait until nothing is under way in any of them; then none takes anything more.
void drain_all(double seconds);

}  // namespace tutti_c10d
#endif
