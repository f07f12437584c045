//===- World.h - the processes that mpirun started --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What processes decide and share outside of steps. Each call becomes requests
// that the engine's thread polls, so that a process that waits for another to
// compile rests, and hears of a failure meanwhile.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_WORLD_H
#define PPRT_COLLECTIVES_MPI_WORLD_H

#include "../../engine/World.h"
#include "Engine.h"
#include "Lanes.h"

namespace pprt::mpi {

class MpiWorld final : public World, private Client {
public:
  static Expected<std::unique_ptr<World>> create(const Limits &limits);
  ~MpiWorld() override;

  uint32_t process() const override { return uint32_t(rank); }
  uint32_t processCount() const override { return uint32_t(size); }
  Status broadcast(std::vector<std::byte> &bytes) override;
  Expected<std::vector<std::vector<std::byte>>>
  gather(const std::vector<std::byte> &mine) override;
  Verdict agree(const Status &mine, bool interrupted) override;
  Expected<std::unique_ptr<Transport>> transport(uint32_t worldSize) override;
  [[noreturn]] void abort(const Status &status) override;

private:
  explicit MpiWorld(std::unique_ptr<Engine> engine, const Limits &limits)
      : engine(std::move(engine)), limits(limits) {}

  // On the engine's thread.
  Status open();
  Status broadcastFrom(int root, std::vector<std::byte> &bytes);
  Status gatherHere(const std::vector<std::byte> &mine,
                    std::vector<std::vector<std::byte>> &all);
  Status agreeHere(const Status &mine, bool interrupted, Verdict &verdict);
  void listen();
  [[noreturn]] void tellFirst(const Status &status);
  bool serve() override;
  void completed(uint64_t name) override;
  void failed(const Status &status) override {}

  std::unique_ptr<Engine> engine;
  const Limits limits;
  MPI_Comm control = MPI_COMM_NULL;
  int rank = 0, size = 1;
  std::vector<char> notice; ///< a failure that another process tells of

  std::mutex mutex;
  Status cause; ///< of an abort
  std::atomic<bool> aborts{false};
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_WORLD_H
