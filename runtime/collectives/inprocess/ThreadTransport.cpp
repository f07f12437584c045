//===- ThreadTransport.cpp - comm ops of threads of one process -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ThreadTransport.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::inprocess;

Expected<Hub::Gathering *> Hub::join(const Participant &participant) {
  const Participant &p = participant;
  std::lock_guard<std::mutex> lock(mutex);
  const auto [entry, isNew] =
      gatherings.try_emplace({p.place, p.section, p.commOp});
  Gathering &gathering = entry->second;
  if (isNew) {
    gathering.missing = p.ranks.size();
    gathering.participants.resize(p.ranks.size());
    gathering.wakers.resize(p.ranks.size());
  }
  if (gathering.missing == 0 || gathering.wakers[p.member])
    return Status(ExitCode::checkFailed,
                  "a communication operation expects each of its " +
                      std::to_string(p.ranks.size()) +
                      " members once, got member " + std::to_string(p.member) +
                      " again");
  gathering.participants[p.member] = {p.inputs, p.outputs};
  gathering.wakers[p.member] = p.waker;
  gathering.memory.push_back(p.memory);
  wakers.insert(p.waker);
  if (--gathering.missing == 0) {
    gathering.rendezvous =
        std::make_unique<Rendezvous>(Exchange(*p.moves, gathering.participants),
                                     std::move(gathering.wakers));
    gathering.participants.clear();
    changed.notify_all();
  }
  return &gathering;
}

Status Hub::await(const std::vector<Gathering *> &awaited) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] {
    return !firstFailure.ok() ||
           std::all_of(awaited.begin(), awaited.end(),
                       [](const Gathering *g) { return g->missing == 0; });
  });
  return firstFailure;
}

void Hub::leave(const std::set<std::shared_ptr<Waker>> &whose) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::shared_ptr<Waker> &waker : whose)
    wakers.erase(waker);
}

Status Hub::failure() {
  std::lock_guard<std::mutex> lock(mutex);
  return firstFailure;
}

void Hub::abort(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (firstFailure.ok())
    firstFailure = status;
  failed.store(true, std::memory_order_relaxed);
  for (const std::shared_ptr<Waker> &waker : wakers)
    waker->wake();
  changed.notify_all();
}

Expected<Ticket> ThreadTransport::prepare(Participant participant) {
  Expected<Hub::Gathering *> gathering = hub->join(participant);
  if (!gathering)
    return gathering.status();
  wakers.insert(participant.waker);
  gatherings.push_back(*gathering);
  return Ticket(gatherings.size() - 1);
}

Status ThreadTransport::connect() {
  if (Status status = hub->await(gatherings); !status.ok())
    return status;
  for (const Hub::Gathering *gathering : gatherings)
    tickets.push_back(gathering->rendezvous.get());
  return {};
}
