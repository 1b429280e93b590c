// interrupt.hpp - handlers of signals, as of Ctrl-C, while a thread waits here.
//
// Idea       Python runs a handler between two of its instructions, on the main thread. So that thread asks for them now
//            and then (tutti_interrupted), and tutti keeps what a handler raises. A collective cannot be taken
//            back: its communicator is aborted, the operation fails, and who waits for it raises what was kept.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_INTERRUPT_HPP
#define TUTTI_C10D_INTERRUPT_HPP

#include <chrono>

#include "tutti.h"

namespace tutti_c10d {

constexpr std::chrono::milliseconds LOOK{20};  // between two questions

// A handler has raised: every operation of the communicator fails, on all ranks.
void give_up(tutti_comm *comm);
// Has one raised in such a wait?
bool kept();
// Throws what handlers have raised, if this is the main thread and they have.
void raise_kept();

}  // namespace tutti_c10d
#endif
