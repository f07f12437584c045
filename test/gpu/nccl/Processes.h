//===- Processes.h - communicators over several processes -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Processes that have the setting `processes` leave files for each other in its
// folder: who has come to a communicator, what a split asks for, and of each
// operation that begins what others read of its memory. A file is whole when it
// has its name, and stays. Names begin with the communicator's id, which is
// drawn when it is made: so runs in one folder, one after another or at once,
// do not read each other's. Each process has one rank of a communicator.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_NCCL_PROCESSES_H
#define PP_TEST_GPU_NCCL_PROCESSES_H

#include "Objects.h"

namespace emulated::nccl {

/// Whether there is the setting.
bool isAmongProcesses();
/// An id that no other run has; whether one was made so.
uint64_t drawId();
bool isDrawn(uint64_t id);

/// What processes call the communicator of an id, or what a split makes of one;
/// empty without the setting.
std::string placeOf(uint64_t id);
std::string placeOfChild(const Clique &parent, const Clique::Split &split,
                         int color);

// These do nothing where all members are of this process.

/// That the rank is there; that it is not any more.
void leaveMember(const Comm &comm);
void leaveGone(const Comm &comm);
/// Those who are there, and whether one has gone.
void readMembers(Clique &clique);
void leaveRequest(const Comm &comm, const Clique::Split &split);
void readRequests(Clique &clique, Clique::Split &split);

/// What an operation with these tasks takes part in.
Attendance attendElsewhere(Comm &comm, const std::vector<Task> &tasks,
                           uint64_t errors);

} // namespace emulated::nccl

#endif // PP_TEST_GPU_NCCL_PROCESSES_H
