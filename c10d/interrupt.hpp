// interrupt.hpp - signal handlers, as for Ctrl-C, while a thread waits here.
//
// Idea       Python runs a handler between two of its instructions, on the main thread. So that thread asks for
//            handlers now and then (tutti_interrupted), and tutti keeps the exception of a handler. A collective
//            cannot be undone: its communicator is aborted, the operation fails, and the waiting thread raises it.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef TUTTI_C10D_INTERRUPT_HPP
#define TUTTI_C10D_INTERRUPT_HPP

#include <chrono>

#include "tutti.h"

namespace tutti_c10d {

constexpr std::chrono::milliseconds LOOK{20};  // between two questions

// A handler has raised: every operation of the communicator fails, on all ranks.
void give_up(tutti_comm *comm);
// Has a handler raised in such a wait?
bool kept();
// Throws the kept exception if there is one and this is the main thread.
void raise_kept();

}  // namespace tutti_c10d
#endif
