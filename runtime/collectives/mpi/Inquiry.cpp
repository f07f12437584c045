//===- Inquiry.cpp - whether all processes stand still --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Inquiry.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::mpi;

/// Name of the request for the next note; requests for data of ranks are named
/// by the round times the number of processes, plus the process.
static constexpr uint64_t kNote = UINT64_MAX;
/// Name of requests for data that comes too late.
static constexpr uint64_t kStray = UINT64_MAX - 1;
/// Time for an answer when a user wants the end: a process tells another one
/// twice a second that it is there.
static constexpr std::chrono::duration<double> kAnswersSoon(1);

void Inquiry::watch(std::weak_ptr<Watched> watched) {
  const bool ends = watched.expired();
  {
    std::lock_guard<std::mutex> lock(mutex);
    here = std::move(watched);
  }
  if (ends)
    engine.call([] {}); // wait for its current work
}

std::shared_ptr<Watched> Inquiry::watched() {
  std::lock_guard<std::mutex> lock(mutex);
  return here.lock();
}

void Inquiry::suspect(const Suspicion &its) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    suspicion = {Note::suspects, process, its};
  }
  hasSuspicion.store(true, std::memory_order_release);
  engine.wake();
}

void Inquiry::open() {
  mail->ranks.resize(processes);
  engine.add(*this);
  listen();
}

Kept Inquiry::close() {
  engine.remove(*this, mail);
  return mail;
}

void Inquiry::listen() {
  engine.listen("MPI_Irecv", *this, kNote, [&](MPI_Request *request) {
    return MPI_Irecv(&mail->note, sizeof(Note), MPI_BYTE, MPI_ANY_SOURCE,
                     kNoteTag, communicator, request);
  });
}

void Inquiry::send(uint32_t to, const Note &note) {
  const auto sent = std::make_shared<const Note>(note);
  if (Status status = engine.leave("MPI_Isend", sent,
                                   [&](MPI_Request *request) {
                                     return MPI_Isend(sent.get(), sizeof(Note),
                                                      MPI_BYTE, int(to),
                                                      kNoteTag, communicator,
                                                      request);
                                   });
      !status.ok())
    failed(status);
}

/// A process that is not in this section answers with how long it has waited
/// for other processes.
Standstill Inquiry::standstill(uint64_t section) {
  Standstill mine;
  if (const std::shared_ptr<Watched> self = watched())
    mine = self->standstill(section);
  if (mine.seconds < 0)
    mine.seconds = engine.waitedFor();
  return mine;
}

bool Inquiry::serve() {
  giveUp();
  if (!hasSuspicion.exchange(false, std::memory_order_acquire))
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  const Note note = suspicion;
  lock.unlock();
  if (process == 0) {
    ask(note);
    return true;
  }
  send(0, note);
  if (!isUnheard)
    saidAt = std::chrono::steady_clock::now();
  isUnheard = true;
  return true;
}

std::chrono::duration<double> Inquiry::patienceFor(ExitCode why) const {
  return why == ExitCode::interrupted ? std::min(kAnswersSoon, patience)
                                      : patience;
}

void Inquiry::giveUp() {
  const auto now = std::chrono::steady_clock::now();
  if (awaited > 0 && now - askedAt > patienceFor(question.of.why)) {
    awaited = 0;
    endRound();
  }
  if (!isUnheard)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  const Suspicion its = suspicion.of;
  lock.unlock();
  if (now - saidAt <= patienceFor(its.why))
    return;
  isUnheard = false;
  firstIsSilent = true;
  // Without process 0, no process asks all others.
  Standstill mine = standstill(its.section);
  if (mine.seconds >= its.seconds)
    end(its.why, mine.seconds, {std::move(mine.ranks)});
}

void Inquiry::completed(uint64_t name) {
  if (name == kStray)
    return;
  if (name != kNote) {
    --arriving;
    if (name / processes == question.round && awaited > 0 && --awaited == 0)
      endRound();
    return;
  }
  const Note note = mail->note;
  listen(); // more may follow
  if (note.kind == Note::suspects) {
    send(note.process, {Note::hears, process, note.of});
    ask(note);
  } else if (note.kind == Note::hears)
    isUnheard = firstIsSilent = false;
  else if (note.kind == Note::asks)
    answer(note);
  else
    take(note);
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

void Inquiry::ask(const Note &suspicion) {
  // Messages of the last round still arrive in its memory.
  if (awaited > 0 || arriving > 0)
    return; // processes that still wait will repeat it
  Standstill mine = standstill(suspicion.of.section);
  if (mine.seconds < suspicion.of.seconds)
    return;
  for (std::vector<std::byte> &ranks : mail->ranks)
    ranks.clear();
  mail->ranks[0] = std::move(mine.ranks);
  seconds = mine.seconds;
  awaited = processes - 1;
  const uint64_t round = question.round + 1;
  question = suspicion;
  question.kind = Note::asks;
  question.round = round;
  askedAt = std::chrono::steady_clock::now();
  for (uint32_t other = 1; other < processes; ++other)
    send(other, question);
}

void Inquiry::answer(const Note &question) {
  Standstill mine = standstill(question.of.section);
  const bool moves = mine.seconds < question.of.seconds;
  Note answer = {Note::answers, process, question.of,
                 moves ? 0 : mine.ranks.size(), question.round};
  answer.of.seconds = moves ? -1 : mine.seconds;
  send(0, answer);
  if (moves)
    return;
  const auto ranks =
      std::make_shared<const std::vector<std::byte>>(std::move(mine.ranks));
  if (Status status = engine.leave("MPI_Isend", ranks,
                                   [&](MPI_Request *request) {
                                     return MPI_Isend(ranks->data(),
                                                      int(ranks->size()),
                                                      MPI_BYTE, 0, kRanksTag,
                                                      communicator, request);
                                   });
      !status.ok())
    failed(status);
}

void Inquiry::take(const Note &answer) {
  const auto receive = [&](uint64_t name, std::vector<std::byte> &ranks) {
    ranks.resize(answer.bytes);
    engine.watch("MPI_Irecv", *this, name, [&](MPI_Request *request) {
      return MPI_Irecv(ranks.data(), int(ranks.size()), MPI_BYTE,
                       int(answer.process), kRanksTag, communicator, request);
    });
  };
  if (awaited == 0 || answer.round != question.round) {
    if (answer.of.seconds >= 0)
      receive(kStray, mail->strays.emplace_back());
    return;
  }
  if (answer.of.seconds < 0) {
    awaited = 0; // the other answers do not matter
    return;
  }
  seconds = std::min(seconds, answer.of.seconds);
  ++arriving;
  receive(question.round * processes + answer.process,
          mail->ranks[answer.process]);
}

void Inquiry::endRound() {
  // Something may have happened here since the question.
  if (standstill(question.of.section).seconds < question.of.seconds)
    return;
  end(question.of.why, seconds, mail->ranks);
}

void Inquiry::end(ExitCode why, double seconds,
                  const std::vector<std::vector<std::byte>> &all) {
  if (const std::shared_ptr<Watched> self = watched())
    self->end(why, seconds, all);
  else if (why == ExitCode::interrupted) // between sections
    fail(Status(why, "interrupted while waiting for another process"));
}
