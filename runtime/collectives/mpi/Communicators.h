//===- Communicators.h - made and freed by all processes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: sessions that want messages of their own, and are done with them sooner
// in one process than in another. Out: communicators. To free one is a call of
// all processes, so it waits for the next time that they come together, and
// until they are all done with it. Assumes that all make the same in the same
// order.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_COMMUNICATORS_H
#define PPRT_COLLECTIVES_MPI_COMMUNICATORS_H

#include "Engine.h"

namespace pprt::mpi {

struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  /// Set by its user, on the engine's thread, who then starts nothing more.
  bool isLeft = false;
  /// What MPI uses for messages of it. It is done once the engine has let go of
  /// all that.
  std::vector<std::weak_ptr<const void>> memory;

  bool isDone() const;
};

/// On the engine's thread.
class Communicators {
public:
  explicit Communicators(Engine &engine) : engine(engine) {}

  /// A copy of `from`, whose failures are returned.
  Status duplicate(MPI_Comm from, MPI_Comm &to);
  /// One for a session; those that are done are freed first.
  Status make(MPI_Comm control, std::shared_ptr<Communicator> &made);
  /// Frees those that all processes are done with.
  Status freeDone(MPI_Comm control);

private:
  Engine &engine;
  std::vector<std::shared_ptr<Communicator>> inUse;
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_COMMUNICATORS_H
