//===- Transport.h - comm ops of ranks in several processes -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the participants of this process's ranks. Out: their comm ops, by
// messages between ranks of different processes and by direct memory access
// between ranks of the same one. Only point-to-point messages: Lanes.h
// determines the sums and their order, so that bits equal those of ranks that
// are threads.
//
// The engine's thread does all of it. A rank's thread only reports that it has
// come, and asks whether its part is complete.
//
// Messages are synchronous (MPI_Issend): one without a receiver stays with its
// sender, and MPI's own memory does not grow. Comm ops whose ranks are all here
// work as between threads.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_TRANSPORT_H
#define PPRT_COLLECTIVES_MPI_TRANSPORT_H

#include "../inprocess/ThreadTransport.h"
#include "Communicators.h"
#include "Engine.h"
#include "Failures.h"
#include "Inquiry.h"
#include "Lanes.h"
#include "Letter.h"

#include <map>
#include <mutex>

namespace pprt::mpi {

class MpiTransport final : public PolledTransport, private Client {
public:
  /// `processOf[rank]` covers the whole mesh. The communicator is not shared.
  MpiTransport(std::shared_ptr<Engine> engine,
               std::shared_ptr<Failures> failures,
               std::shared_ptr<Communicator> communicator,
               std::vector<uint32_t> processOf, uint32_t process,
               const Limits &limits);
  ~MpiTransport() override;

  TransportModel model() const override {
    return mpi::model(processOf, limits);
  }
  Expected<Ticket> prepare(Participant participant) override;
  Status connect() override;
  void start(Ticket ticket, uint64_t round) override;
  bool ready(Ticket ticket, uint64_t round) override;
  Progress test(Ticket ticket, uint64_t round) override;
  void help(const std::function<bool()> &ends) override { engine->help(ends); }
  void watch(std::weak_ptr<Watched> watched) override;
  /// Null: there are no other processes.
  const std::shared_ptr<Inquiry> &inquires() const { return inquiry; }
  bool suspect(const Suspicion &suspicion) override;
  uint64_t progress() const override;
  Status poll() override;
  void abort(const Status &status) override;

private:
  struct Member;
  struct LaneState;
  struct Chunk;
  struct Present;

  Ticket add(std::unique_ptr<Member> self);
  /// Ends all waits here.
  void fail(const Status &status);

  // Called on the engine's thread.
  void warnOthers();
  bool serve() override;
  void completed(uint64_t name) override;
  void failed(const Status &status) override;
  void begin(Member &self);
  void pump(Member &self);
  bool advance(Member &self, LaneState &state);
  bool advanceSend(Member &self, LaneState &state);
  bool advanceOwn(Member &self, LaneState &state);
  bool advanceResult(Member &self, LaneState &state);
  bool postOwn(Member &self, LaneState &state);
  void combine(Member &self, LaneState &state, uint32_t chunk);
  void settle(Member &self, LaneState &state);
  static std::byte *stagingOf(const Member &self, const Lane &lane,
                              uint32_t chunk);
  bool hasStaging(const Member &self, const LaneState &state) const;
  bool isPresent(const Member &self, const LaneState &state) const;
  void finishLane(Member &self, LaneState &state);
  void finishOne(Member &self);
  void send(Member &self, LaneState &state, uint32_t chunk, uint32_t stream,
            const std::byte *data, uint64_t bytes);
  void receive(Member &self, LaneState &state, uint32_t chunk, uint32_t stream,
               std::byte *data, uint64_t bytes);
  int tagOf(const Member &self, const Stream &stream) const;
  template <typename Start>
  void watch(const char *call, Member &self, LaneState &state, uint32_t chunk,
             Start start);
  Status exchangeBytes(const std::vector<uint32_t> &processes);

  const std::shared_ptr<Engine> engine;
  std::atomic<uint64_t> messages{0};          ///< that have ended
  inprocess::ThreadTransport threads;         ///< of comm ops that are all here
  const std::shared_ptr<Communicator> shared; ///< marked when no longer used
  const MPI_Comm communicator;
  const std::vector<uint32_t> processOf;
  std::vector<uint32_t> indexInProcess; ///< of each rank
  uint32_t ranksPerProcess = 1;
  const uint32_t process;
  const Limits limits;
  const std::shared_ptr<Failures> failures;
  const uint64_t age; ///< of this transport, for failures
  /// By ticket. Grows, under `mutex`, until connect().
  std::vector<std::unique_ptr<Member>> members;
  std::map<std::tuple<uint64_t, Section, uint32_t>, std::unique_ptr<Present>>
      present;
  /// A letter about a failure elsewhere.
  const std::shared_ptr<std::vector<std::byte>> heard =
      std::make_shared<std::vector<std::byte>>(kLetterBytes);
  uint64_t combined = 0;  ///< elements since the engine last served others
  bool hasWarned = false; ///< other processes, of a failure here
  std::shared_ptr<Inquiry> inquiry; ///< null: there are no other processes

  std::mutex mutex;
  std::vector<Ticket> started;
  Status failure;
  std::atomic<bool> hasStarted{false}, isAborted{false}, warns{false};
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_TRANSPORT_H
