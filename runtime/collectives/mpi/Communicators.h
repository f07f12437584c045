//===- Communicators.h - made and freed by all processes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: sessions, which need messages of their own and end sooner in one process
// than in another. Out: communicators. Freeing one is collective, so it waits
// for the next time that all processes come together, and until all are done
// with it. Assumes that all processes make the same communicators in the same
// order.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_COMMUNICATORS_H
#define PPRT_COLLECTIVES_MPI_COMMUNICATORS_H

#include "Engine.h"

namespace pprt::mpi {

struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  /// Set by its user, on the engine's thread; the user then starts no requests.
  bool isLeft = false;
  /// Memory of its messages. The communicator is done once the engine has
  /// released all of it.
  std::vector<std::weak_ptr<const void>> memory;

  bool isDone() const;
};

/// Used on the engine's thread.
class Communicators {
public:
  explicit Communicators(Engine &engine) : engine(engine) {}

  /// Makes a copy of `from` whose failures are returned.
  Status duplicate(MPI_Comm from, MPI_Comm &to);
  /// Makes one for a session, after freeing those that are done.
  Status make(MPI_Comm control, std::shared_ptr<Communicator> &made);
  /// Frees those that all processes are done with.
  Status freeDone(MPI_Comm control);

private:
  Engine &engine;
  std::vector<std::shared_ptr<Communicator>> inUse;
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_COMMUNICATORS_H
