//===- Inquiry.h - whether all processes stand still ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a process's word that nothing has happened in it for long. Process 0 then
// asks all of them, itself too, and if none has another answer it is a hang, of
// which it has what each knows. As each answers for the time before it was
// asked, all stood still together. Otherwise nobody hears of it, and who still
// waits says so again.
//
// The notes are small; what is known of ranks comes in a second message, by
// those alone that stand still. A process that does not answer is not this
// one's business: World misses its beats.
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
  /// The tags of its messages.
  static constexpr int kNoteTag = 2, kRanksTag = 3;

  Inquiry(Engine &engine, MPI_Comm communicator, uint32_t process,
          uint32_t processes, std::chrono::duration<double> patience,
          std::function<void(const Status &)> fail)
      : engine(engine), communicator(communicator), process(process),
        processes(processes), patience(patience), fail(std::move(fail)) {}

  // From any thread.
  void watch(std::weak_ptr<Watched> watched);
  void suspect(const Suspicion &suspicion);

  // On the engine's thread.
  void open();
  /// Returns what the messages use that it started.
  Kept close();
  /// Whether process 0 did not hear of the last suspicion in time.
  bool isFirstSilent() const { return firstIsSilent; }

private:
  struct Note {
    enum Kind : uint32_t { suspects, hears, asks, answers };
    Kind kind = suspects;
    uint32_t process = 0;
    Suspicion of;       ///< of an answer, its own seconds
    uint64_t bytes = 0; ///< of the message that follows, if any
    uint64_t round = 0; ///< of a question, and its answers
  };
  struct Mail {
    Note note;
    std::vector<std::vector<std::byte>> ranks; ///< by process
    std::list<std::vector<std::byte>> strays;  ///< of rounds that are over
  };

  void listen();
  void send(uint32_t to, const Note &note);
  void ask(const Note &suspicion);
  void answer(const Note &question);
  void take(const Note &answer);
  void endRound();
  /// All have stood still.
  void end(ExitCode why, double seconds,
           const std::vector<std::vector<std::byte>> &all);
  /// A user does not wait as long as a hang.
  std::chrono::duration<double> patienceFor(ExitCode why) const;
  /// Whoever has not answered for long has left.
  void giveUp();
  Standstill standstill(uint64_t section);
  std::shared_ptr<Watched> watched();
  bool serve() override;
  void completed(uint64_t name) override;
  void failed(const Status &status) override { fail(status); }

  Engine &engine;
  const MPI_Comm communicator;
  const uint32_t process, processes;
  /// How long an answer may take.
  const std::chrono::duration<double> patience;
  const std::function<void(const Status &)> fail; ///< all processes
  const std::shared_ptr<Mail> mail = std::make_shared<Mail>();

  // Of a round, in process 0.
  uint32_t awaited = 0;  ///< processes; 0: there is no round
  uint32_t arriving = 0; ///< messages about ranks
  double seconds = 0;    ///< that all have stood still
  Note question;
  std::chrono::steady_clock::time_point askedAt;
  // In the others: process 0 has not said that it heard of a suspicion.
  bool isUnheard = false, firstIsSilent = false;
  std::chrono::steady_clock::time_point saidAt;

  std::mutex mutex;
  std::weak_ptr<Watched> here;
  Note suspicion;
  std::atomic<bool> hasSuspicion{false};
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_INQUIRY_H
