//===- Transport.h - how the members of a comm op reach each other -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the comm ops of the ranks of this process, each told once and before the
// first round. Out: their moves, performed once a round under the model of
// pprt/Checks.h: none of the members completes before all have started that it
// sends to or receives from, and every element is reduced in the order of its
// sources, so that all transports leave the same bits.
//
// Whatever a transport may touch is shared with it: a participant holds the
// memory that its addresses point into, and its waker. So the transport may
// outlive the ranks, and what fails may be torn down in any order: messages
// that have no end keep what they read and write. A transport holds what it
// needs of its world itself.
//
// The order of calls: prepare() for every member that this process has,
// connect(), then for each round start(), and test() until it is complete. They
// come from any thread, but those for one ticket from one, and prepare() from
// the one that connects. Memory is read and written between start() and the
// test() that completes, whatever thread does it.
//
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

/// Ends the sleep of a rank's thread: what a transport knows of the threads
/// whose comm ops it carries out. Called from any thread, whether or not
/// anybody sleeps.
class Waker {
public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

//===----------------------------------------------------------------------===//
// Whether all processes have stopped
//===----------------------------------------------------------------------===//

// A process in which nothing happens may have to wait for another, for as long
// as that computes. So a hang is found by all, and whether a user who wants the
// end has to wait for anything: a transport whose ranks are in several
// processes asks each of them whether nothing has happened in it for long. What
// computes happens, however long it takes.

/// What is asked.
struct Suspicion {
  ExitCode why = ExitCode::hang; ///< or interrupted: what it ends by
  /// They count from 1, in all processes alike; 0: whichever is run.
  uint64_t section = 0;
  double seconds = 0;
};

/// What a process says of a section.
struct Standstill {
  /// For how long nothing has happened in it there. Negative: it is not there,
  /// or something happens.
  double seconds = -1;
  std::vector<std::byte> ranks; ///< what they wait in, for the report
};

/// Who watches the ranks of a process. Called from any thread.
class Watched {
public:
  virtual ~Watched() = default;
  virtual Standstill standstill(uint64_t section) = 0;
  /// In process 0: nothing has happened anywhere for so long. `all`: what each
  /// process says of its ranks.
  virtual void end(ExitCode why, double seconds,
                   const std::vector<std::vector<std::byte>> &all) = 0;
};

//===----------------------------------------------------------------------===//
// Comm ops
//===----------------------------------------------------------------------===//

/// One member's part in a comm op.
struct Participant {
  /// These three name the comm op, in all processes alike: CommOps::number(),
  /// the section, and which one it is of that section at the place.
  uint64_t place = 0;
  Section section = Section::setup;
  uint32_t commOp = 0;

  uint32_t member = 0;
  std::vector<uint32_t> ranks; ///< of all members, in member order
  std::shared_ptr<const std::vector<Move>> moves; ///< of all members
  std::vector<std::byte *> inputs, outputs; ///< the member's memory, by operand
  /// As many bytes as the model says. CommOps that come one after another may
  /// have the same.
  std::byte *staging = nullptr;
  /// Holds all of that, for as long as the transport or a message needs it.
  std::shared_ptr<const void> memory;
  /// Woken when test() may have another answer.
  std::shared_ptr<Waker> waker;
};

/// What a transport calls a participant.
using Ticket = uint32_t;

enum class Progress {
  pending,
  /// The member's memory may be read and written again.
  complete
};

/// What a session asks of any.
class Transport {
public:
  virtual ~Transport() = default;

  virtual TransportModel model() const { return {}; }
  virtual Expected<Ticket> prepare(Participant participant) = 0;
  /// Returns when all members of all comm ops are there, in other processes
  /// too.
  virtual Status connect() = 0;

  /// The first error that came while nobody asked, or that somebody gave to
  /// abort(); ok if none. Asked before every sleep, and cheap.
  virtual Status poll() = 0;
  /// Ends the run everywhere: comm ops need not complete any more, poll() fails
  /// in all processes, and all who wait are woken.
  virtual void abort(const Status &status) = 0;

  /// Of whom other processes may want to know whether nothing happens here.
  /// After watch({}) nobody asks any more, or holds whom they asked.
  virtual void watch(std::weak_ptr<Watched> watched) { (void)watched; }
  /// From any thread: it is so here. Asks all processes whether it is so there,
  /// and tells the watched one of process 0 if it is. False if there is nobody
  /// to ask.
  virtual bool suspect(const Suspicion &suspicion) {
    (void)suspicion;
    return false;
  }
};

/// Of devices whose streams return when they have done what they were given.
class PolledTransport : public Transport {
public:
  /// Returns at once. Rounds of a section count from 0.
  virtual void start(Ticket ticket, uint64_t round) = 0;
  /// Whether test() has anything to do or to tell: asked often, and cheap.
  virtual bool ready(Ticket ticket, uint64_t round) = 0;
  /// At any time after start(), ready or not. May work on the moves of the
  /// comm op.
  virtual Progress test(Ticket ticket, uint64_t round) = 0;

  /// By a thread that has nothing else to do and a core to do it on: works on
  /// messages until `ends` says so, or it is better to sleep. Others may never
  /// call it.
  virtual void help(const std::function<bool()> &ends) { (void)ends; }

  /// From any thread: grows whenever a part of a comm op has moved, so that a
  /// long one is not taken for one that stands still.
  virtual uint64_t progress() const { return 0; }
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_TRANSPORT_H
