//===- Inquiry.cpp - whether all processes stand still --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Inquiry.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::mpi;

/// The name of the note that is awaited; of what is known of ranks: the
/// process.
static constexpr uint64_t kNote = UINT64_MAX;

void Inquiry::watch(std::weak_ptr<Watched> watched) {
  std::lock_guard<std::mutex> lock(mutex);
  here = std::move(watched);
}

std::shared_ptr<Watched> Inquiry::watched() {
  std::lock_guard<std::mutex> lock(mutex);
  return here.lock();
}

void Inquiry::suspect(uint64_t section, double seconds) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    suspicion = {Note::suspects, process, section, seconds, 0};
  }
  hasSuspicion.store(true, std::memory_order_release);
  engine.wake();
}

void Inquiry::open() {
  mail->ranks.resize(processes);
  engine.add(*this);
  listen();
}

bool Inquiry::close() { return engine.remove(*this, mail); }

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

bool Inquiry::serve() {
  if (!hasSuspicion.exchange(false, std::memory_order_acquire))
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  const Note note = suspicion;
  lock.unlock();
  if (process == 0)
    ask(note);
  else
    send(0, note);
  return true;
}

void Inquiry::completed(uint64_t name) {
  if (name != kNote) {
    if (--awaited == 0)
      endRound();
    return;
  }
  const Note note = mail->note;
  listen(); // others follow
  if (note.kind == Note::suspects)
    ask(note);
  else if (note.kind == Note::asks)
    answer(note);
  else
    take(note);
}

//===----------------------------------------------------------------------===//
// A round
//===----------------------------------------------------------------------===//

void Inquiry::ask(const Note &suspicion) {
  if (awaited > 0)
    return; // whoever still waits says so again
  const std::shared_ptr<Watched> self = watched();
  if (!self)
    return;
  Standstill mine = self->standstill(suspicion.section);
  if (mine.seconds < suspicion.seconds)
    return;
  mail->ranks[0] = std::move(mine.ranks);
  seconds = mine.seconds;
  moves = false;
  awaited = processes - 1;
  question = suspicion;
  question.kind = Note::asks;
  for (uint32_t other = 1; other < processes; ++other)
    send(other, question);
}

void Inquiry::answer(const Note &question) {
  Standstill mine;
  if (const std::shared_ptr<Watched> self = watched())
    mine = self->standstill(question.section);
  const bool moves = mine.seconds < question.seconds;
  send(0, {Note::answers, process, question.section, moves ? -1 : mine.seconds,
           moves ? 0 : mine.ranks.size()});
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
  if (answer.seconds < 0) {
    moves = true;
  } else {
    seconds = std::min(seconds, answer.seconds);
    ++awaited;
    std::vector<std::byte> &ranks = mail->ranks[answer.process];
    ranks.resize(answer.bytes);
    engine.watch("MPI_Irecv", *this, answer.process, [&](MPI_Request *request) {
      return MPI_Irecv(ranks.data(), int(ranks.size()), MPI_BYTE,
                       int(answer.process), kRanksTag, communicator, request);
    });
  }
  if (--awaited == 0)
    endRound();
}

void Inquiry::endRound() {
  if (moves)
    return;
  if (const std::shared_ptr<Watched> self = watched())
    self->hang(seconds, mail->ranks);
}
