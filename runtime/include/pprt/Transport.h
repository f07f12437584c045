//===- Transport.h - how the members of a comm op reach each other -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the comm ops of the ranks of this process, each given once and before the
// first round. Out: their moves, performed once a round under the model of
// pprt/Checks.h: a member completes only after all members have started that it
// sends to or receives from, and every element is reduced in the order of its
// sources, so that all transports leave the same bits.
//
// A transport shares ownership of everything it may access: a participant holds
// the memory that its addresses point into, and its waker. So the transport may
// outlive the ranks, and a failed run may be torn down in any order: messages
// without an end keep the memory they read and write. A transport itself holds
// the parts of its world that it needs.
//
// The order of calls: prepare() for every member that this process has,
// connect(), then for each round start(), and test() until it is complete.
// Calls may come from any thread, but those for one ticket come from one
// thread, and prepare() from the one that connects. Memory is read and written
// between start() and the test() that completes, by any thread.
//===----------------------------------------------------------------------===//
#ifndef PPRT_TRANSPORT_H
#define PPRT_TRANSPORT_H

#include "pprt/Status.h"
#include "pprt/TransportModel.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Ends the sleep of a rank's thread. It is all that a transport knows of the
/// threads whose comm ops it carries out. Called from any thread, whether or
/// not the rank's thread sleeps.
class Waker {
public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

//===----------------------------------------------------------------------===//
// Whether all processes have stopped
//===----------------------------------------------------------------------===//

// A process in which nothing happens may have to wait for another that
// computes, for any time. So all processes together detect a hang, and decide
// whether an interrupted run must end: a transport whose ranks are in several
// processes asks each whether nothing has happened in it for long. Computing
// counts as happening, however long it takes.

/// The question to all processes.
struct Suspicion {
  ExitCode why = ExitCode::hang; ///< hang or interrupted: the code to end with
  /// Sections count from 1, in all processes alike; 0: any section.
  uint64_t section = 0;
  double seconds = 0;
};

/// The answer of a process about a section.
struct Standstill {
  /// For how long nothing has happened there. Negative: the process is not in
  /// the section, or something happens.
  double seconds = -1;
  std::vector<std::byte> ranks; ///< the waits of its ranks, for the report
};

/// The watcher of a process's ranks. Called from any thread.
class Watched {
public:
  virtual ~Watched() = default;
  virtual Standstill standstill(uint64_t section) = 0;
  /// In process 0: nothing has happened in any process for so long. `all`: the
  /// answer of each process about its ranks.
  virtual void end(ExitCode why, double seconds,
                   const std::vector<std::vector<std::byte>> &all) = 0;
};

//===----------------------------------------------------------------------===//
// Comm ops
//===----------------------------------------------------------------------===//

/// One member's part in a comm op.
struct Participant {
  /// These three name the comm op, in all processes alike: CommOps::number(),
  /// the section, and its index among those of the section at the place.
  uint64_t place = 0;
  Section section = Section::setup;
  uint32_t commOp = 0;

  uint32_t member = 0;
  std::vector<uint32_t> ranks; ///< of all members, in member order
  std::shared_ptr<const std::vector<Move>> moves; ///< of all members
  std::vector<std::byte *> inputs, outputs; ///< the member's memory, by operand
  /// As many bytes as the model says. Comm ops that come one after another may
  /// share them.
  std::byte *staging = nullptr;
  /// Owns all of that memory while the transport or a message needs it.
  std::shared_ptr<const void> memory;
  /// Woken when test() may have a new answer.
  std::shared_ptr<Waker> waker;
};

/// Names a participant in calls of the transport.
using Ticket = uint32_t;

enum class Progress {
  pending,
  /// The member's memory may be read and written again.
  complete
};

/// The calls that a session makes on any transport.
class Transport {
public:
  virtual ~Transport() = default;

  virtual TransportModel model() const { return {}; }
  virtual Expected<Ticket> prepare(Participant participant) = 0;
  /// Returns when all members of all comm ops are there, in all processes.
  virtual Status connect() = 0;

  /// Returns the first error that occurred between calls or was passed to
  /// abort(); ok if none. Called before every sleep, and cheap.
  virtual Status poll() = 0;
  /// Ends the run everywhere: comm ops need not complete any more, poll() fails
  /// in all processes, and all waiting threads are woken.
  virtual void abort(const Status &status) = 0;

  /// Sets the object to ask whether nothing happens here. After watch({}) it is
  /// no longer called or held.
  virtual void watch(std::weak_ptr<Watched> watched) { (void)watched; }
  /// Called from any thread when nothing happens here. Asks all processes and,
  /// if it is the same there, tells the watched object of process 0. Returns
  /// false if there is no process to ask.
  virtual bool suspect(const Suspicion &suspicion) {
    (void)suspicion;
    return false;
  }
};

/// Transport of devices whose stream calls return when their work is done.
class PolledTransport : public Transport {
public:
  /// Returns at once. Rounds of a section count from 0.
  virtual void start(Ticket ticket, uint64_t round) = 0;
  /// Whether test() has work to do or news to return: called often, and cheap.
  virtual bool ready(Ticket ticket, uint64_t round) = 0;
  /// Called at any time after start(), ready or not. May work on the moves of
  /// the comm op.
  virtual Progress test(Ticket ticket, uint64_t round) = 0;

  /// Called by a thread that has nothing else to do and a core to do it on:
  /// works on messages until `ends` returns true or sleeping is better.
  /// Optional.
  virtual void help(const std::function<bool()> &ends) { (void)ends; }

  /// Called from any thread: grows whenever a part of a comm op has moved, so
  /// that a long one is not mistaken for a hang.
  virtual uint64_t progress() const { return 0; }
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_TRANSPORT_H
