//===- Inquiry.h - whether all processes stand still ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a process's suspicion that nothing has happened in it for long. Process 0
// then asks all processes, itself included, and if none contradicts it is a
// hang, and process 0 has all their data. Each answers for the time before it
// was asked, so all stood still together. Otherwise the suspicion is dropped,
// and processes that still wait repeat it.
//
// The notes are small; processes that stand still send the data of their ranks
// in a second message. A process that does not answer is World's business,
// which misses its beats.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_INQUIRY_H
#define PPRT_COLLECTIVES_MPI_INQUIRY_H

#include "Engine.h"
#include "pprt/Transport.h"

#include <list>

namespace pprt::mpi {

class Inquiry final : private Client {
public:
  /// Tags of its messages.
  static constexpr int kNoteTag = 2, kRanksTag = 3;

  Inquiry(Engine &engine, MPI_Comm communicator, uint32_t process,
          uint32_t processes, std::chrono::duration<double> patience,
          std::function<void(const Status &)> fail)
      : engine(engine), communicator(communicator), process(process),
        processes(processes), patience(patience), fail(std::move(fail)) {}

  // Called from any thread.
  void watch(std::weak_ptr<Watched> watched);
  void suspect(const Suspicion &suspicion);

  // Called on the engine's thread.
  void open();
  /// Returns the memory of messages that it started.
  Kept close();
  /// Whether process 0 did not acknowledge the last suspicion in time.
  bool isFirstSilent() const { return firstIsSilent; }

private:
  struct Note {
    enum Kind : uint32_t { suspects, hears, asks, answers };
    Kind kind = suspects;
    uint32_t process = 0;
    Suspicion of;       ///< an answer has its own seconds
    uint64_t bytes = 0; ///< size of the second message; 0: none
    uint64_t round = 0; ///< of questions and answers
  };
  struct Mail {
    Note note;
    std::vector<std::vector<std::byte>> ranks; ///< by process
    std::list<std::vector<std::byte>> strays;  ///< of past rounds
  };

  void listen();
  void send(uint32_t to, const Note &note);
  void ask(const Note &suspicion);
  void answer(const Note &question);
  void take(const Note &answer);
  void endRound();
  /// Called when all processes have stood still.
  void end(ExitCode why, double seconds,
           const std::vector<std::vector<std::byte>> &all);
  /// Time for answers; shorter for interruptions than for hangs.
  std::chrono::duration<double> patienceFor(ExitCode why) const;
  /// Gives up processes that have not answered for long.
  void giveUp();
  Standstill standstill(uint64_t section);
  std::shared_ptr<Watched> watched();
  bool serve() override;
  void completed(uint64_t name) override;
  void failed(const Status &status) override { fail(status); }

  Engine &engine;
  const MPI_Comm communicator;
  const uint32_t process, processes;
  /// Time for an answer.
  const std::chrono::duration<double> patience;
  const std::function<void(const Status &)> fail; ///< fails all processes
  const std::shared_ptr<Mail> mail = std::make_shared<Mail>();

  // The current round, in process 0.
  uint32_t awaited = 0;  ///< processes that have not answered; 0: no round
  uint32_t arriving = 0; ///< second messages in transit
  double seconds = 0;    ///< for which all have stood still
  Note question;
  std::chrono::steady_clock::time_point askedAt;
  // In other processes: process 0 has not acknowledged a suspicion.
  bool isUnheard = false, firstIsSilent = false;
  std::chrono::steady_clock::time_point saidAt;

  std::mutex mutex;
  std::weak_ptr<Watched> here;
  Note suspicion;
  std::atomic<bool> hasSuspicion{false};
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_INQUIRY_H
