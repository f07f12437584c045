//===- World.h - the processes that mpirun started --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Decisions and data that processes share outside of steps. Each call becomes
// requests that the engine's thread polls, so a process that waits for another
// to compile sleeps, and still learns of failures. After a failure no process
// waits for long: a process that has stopped, or hangs, never comes.
//
// Each process tells the next one twice a second that it is there. So processes
// detect a stopped one, whether they wait for a step or a decision.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_WORLD_H
#define PPRT_COLLECTIVES_MPI_WORLD_H

#include "Communicators.h"
#include "Engine.h"
#include "Failures.h"
#include "Inquiry.h"
#include "Lanes.h"
#include "pprt/World.h"

namespace pprt::mpi {

class MpiWorld final : public World, private Client {
public:
  static Expected<std::unique_ptr<World>> create(const Limits &limits);
  ~MpiWorld() override;

  uint32_t process() const override { return uint32_t(rank); }
  uint32_t processCount() const override { return uint32_t(size); }
  unsigned coreCount() const override { return cores; }
  Status broadcast(std::vector<std::byte> &bytes) override;
  Expected<std::vector<std::vector<std::byte>>>
  gather(std::vector<std::byte> mine) override;
  Verdict agree(const Status &mine, uint32_t votes) override;
  Expected<std::vector<ClockReading>> readClocks() override;
  void watch(std::function<bool()> isInterrupted) override;
  TransportModel model(uint32_t worldSize) const override {
    return mpi::model(homes(worldSize), limits);
  }
  Expected<std::unique_ptr<PolledTransport>>
  transport(uint32_t worldSize) override;
  [[noreturn]] void abort(const Status &status) override;

private:
  explicit MpiWorld(std::shared_ptr<Engine> engine, const Limits &limits)
      : engine(std::move(engine)), limits(limits) {}

  /// Returns the process of each rank.
  std::vector<uint32_t> homes(uint32_t worldSize) const;
  /// Runs `work` on the engine's thread together with other processes, which
  /// wait for ever if it fails here.
  Status together(const std::function<Status()> &work);

  // Called on the engine's thread.
  Status open();
  Status shareCores();
  Status broadcastFrom(int root, std::vector<std::byte> &bytes);
  Status gatherHere(std::vector<std::byte> mine,
                    std::vector<std::vector<std::byte>> &all);
  Status agreeHere(const Status &mine, uint32_t votes, Verdict &verdict);
  void awaitNotice();
  void awaitBeat();
  Status readClocksHere(std::vector<ClockReading> &readings);
  /// Sends a time to another process, or receives one.
  Status passTime(bool sends, uint32_t other,
                  const std::shared_ptr<int64_t> &time);
  void beat();
  /// Whether the process before this one is silent.
  bool isSilent() const;
  /// Whether other processes have not come for too long after a failure.
  bool isLate();
  /// Ends all processes; one of them reports why.
  [[noreturn]] void end(const Status &status);
  /// Returns once all processes have called it, and whether nothing has failed
  /// in any.
  bool sayGoodbye();
  void fail(const Status &status) { failures->note(status, UINT64_MAX); }
  /// Whether a user wants the end and others have not come for long.
  bool isBlocked();
  [[noreturn]] void leaveToFirst(const Status &status);
  bool serve() override;
  void breathe() override;
  void completed(uint64_t name) override;
  void failed(const Status &status) override { fail(status); }

  const std::shared_ptr<Engine> engine;
  Communicators communicators{*engine}; ///< of transports
  const Limits limits;
  MPI_Comm control = MPI_COMM_NULL;
  int rank = 0, size = 1;
  unsigned cores = 1;
  /// Memory that MPI may write.
  struct Mail {
    std::vector<std::byte> notice; ///< a failure that another process reports
    char heard = 0;                ///< the last beat
  };
  const std::shared_ptr<Mail> mail = std::make_shared<Mail>();
  bool isOpen = false;            ///< and must be left
  std::weak_ptr<Inquiry> inquiry; ///< of the last session
  std::chrono::steady_clock::time_point heardAt, saidAt, servedAt, wokeAt;

  const std::shared_ptr<Failures> failures = std::make_shared<Failures>();
  /// Failure of a collective call: this process's next call would meet a later
  /// one elsewhere.
  Status outOfStep;
  bool isWaiting = false; ///< for other processes, since waitsAt
  std::chrono::steady_clock::time_point waitsAt;
  /// Since when it waits without being interrupted.
  std::chrono::steady_clock::time_point calmAt;

  std::mutex mutex;
  Status lastWord;                     ///< of abort()
  std::function<bool()> isInterrupted; ///< may be empty
  std::atomic<bool> aborts{false};
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_WORLD_H
