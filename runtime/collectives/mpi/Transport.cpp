//===- Transport.cpp - comm ops of ranks in several processes -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Transport.h"
#include "Members.h"

#include <algorithm>
#include <set>
#include <string>

using namespace pprt;
using namespace pprt::mpi;

/// Tags of messages that connect, and of those that report a failure.
static constexpr int kConnectTag = 0, kFailureTag = 1;
/// Time for an answer to an inquiry by a process that still sends beats: one
/// that has left its session never answers. If the world itself waits less for
/// a beat, it comes first.
static constexpr std::chrono::seconds kAnswering(30), kConnecting(2);
/// First tag of places, after the inquiry's.
static constexpr uint64_t kFirstTag = 4;
static_assert(kFirstTag > Inquiry::kNoteTag && kFirstTag > Inquiry::kRanksTag);
/// Name of the request that belongs to no part.
static constexpr uint64_t kHeard = UINT64_MAX;

MpiTransport::MpiTransport(std::shared_ptr<Engine> driver,
                           std::shared_ptr<Failures> known,
                           std::shared_ptr<Communicator> its,
                           std::vector<uint32_t> processes, uint32_t process,
                           const Limits &limits)
    : engine(std::move(driver)), shared(std::move(its)),
      communicator(shared->handle), processOf(std::move(processes)),
      process(process), limits(limits), failures(std::move(known)),
      age(failures->settled()) {
  std::map<uint32_t, uint32_t> counts;
  for (uint32_t home : processOf)
    indexInProcess.push_back(counts[home]++);
  for (const auto &[home, count] : counts)
    ranksPerProcess = std::max(ranksPerProcess, count);
  if (counts.size() > 1)
    inquiry = std::make_shared<Inquiry>(
        *engine, communicator, process, uint32_t(counts.size()),
        (limits.silenceSeconds == 0
             ? kAnswering
             : std::min(kAnswering,
                        std::chrono::seconds(limits.silenceSeconds))) +
            kConnecting,
        [this](const Status &status) { abort(status); });
  engine->call([&] {
    if (inquiry)
      inquiry->open();
    engine->add(*this);
    engine->listen("MPI_Irecv", *this, kHeard, [&](MPI_Request *request) {
      return MPI_Irecv(heard->data(), int(heard->size()), MPI_BYTE,
                       MPI_ANY_SOURCE, kFailureTag, this->communicator,
                       request);
    });
  });
}

MpiTransport::~MpiTransport() {
  // Memory of messages that have not ended.
  struct Rest {
    Kept heard;
    std::set<Kept> ofRanks;
  };
  const auto rest = std::make_shared<Rest>();
  rest->heard = heard;
  for (const std::unique_ptr<Member> &self : members)
    rest->ofRanks.insert(self->told.memory);
  engine->call([&] {
    if (inquiry)
      shared->memory.push_back(inquiry->close());
    engine->remove(*this, rest);
    shared->memory.push_back(rest);
    // After a failure other processes may still send in it.
    shared->isLeft = !failures->hasAny();
  });
}

/// Tag of a stream: its place, both members' indices in their processes, and
/// whether it carries results. The message itself identifies the processes.
int MpiTransport::tagOf(const Member &self, const Stream &stream) const {
  const uint32_t mine = indexInProcess[self.told.ranks[self.told.member]];
  const uint32_t other = indexInProcess[self.told.ranks[stream.other]];
  uint64_t tag = self.told.place;
  tag = tag * ranksPerProcess + (stream.isOut ? mine : other);
  tag = tag * ranksPerProcess + (stream.isOut ? other : mine);
  return int(tag * 2 + stream.isResult + kFirstTag);
}

Expected<Ticket> MpiTransport::prepare(Participant participant) {
  auto self = std::make_unique<Member>();
  self->told = std::move(participant);
  self->ticket = Ticket(members.size());
  const Participant &told = self->told;
  const auto isHere = [&](uint32_t member) {
    return processOf[told.ranks[member]] == process;
  };
  uint32_t count = 0;
  for (uint32_t member = 0; member < told.ranks.size(); ++member)
    count += isHere(member);
  if (count == told.ranks.size()) {
    self->isOfThreads = true;
    Expected<Ticket> ticket = threads.prepare(told);
    if (!ticket)
      return ticket;
    self->ofThreads = *ticket;
    return add(std::move(self));
  }
  const uint64_t highest = uint64_t(engine->highestTag());
  const uint64_t tagsPerPlace = 2 * uint64_t(ranksPerProcess) * ranksPerProcess;
  if (kFirstTag + (told.place + 1) * tagsPerPlace - 1 > highest)
    return Status(ExitCode::usage,
                  "group or edge " + std::to_string(told.place) + " expects " +
                      std::to_string(tagsPerPlace) + " tags for the " +
                      std::to_string(ranksPerProcess) +
                      " ranks of a process, got an MPI whose highest tag is " +
                      std::to_string(highest) + "; start more processes");
  self->list = makeLanes(*told.moves, told.member, isHere, limits);
  for (const Lane &lane : self->list.lanes) {
    LaneState state;
    state.lane = &lane;
    state.index = uint32_t(self->lanes.size());
    state.chunks.resize(lane.chunks);
    self->lanes.push_back(std::move(state));
  }
  uint64_t chunks = 0;
  for (const Lane &lane : self->list.lanes)
    chunks = std::max<uint64_t>(chunks, lane.chunks);
  if (self->ticket >> 24 || self->lanes.size() >> 20 || chunks >> 20)
    return Status(ExitCode::usage,
                  "expects fewer or smaller communication operations of ranks "
                  "than 2^24 of 2^20 members of 2^20 messages");
  self->turns.resize(self->list.streams.size());
  for (const Lane &lane : self->list.lanes)
    if (lane.stagedIndex >= 0)
      self->stagedDone.push_back(false);
  std::unique_ptr<Present> &here =
      present[{told.place, told.section, told.commOp}];
  if (!here) {
    here = std::make_unique<Present>();
    here->members.resize(told.ranks.size());
  }
  here->members[told.member] = self.get();
  self->present = here.get();
  return add(std::move(self));
}

Ticket MpiTransport::add(std::unique_ptr<Member> self) {
  std::lock_guard<std::mutex> lock(mutex);
  members.push_back(std::move(self));
  return members.back()->ticket;
}

Status MpiTransport::connect() {
  std::set<uint32_t> processes;
  for (const std::unique_ptr<Member> &self : members) {
    for (const Stream &stream : self->list.streams)
      processes.insert(processOf[self->told.ranks[stream.other]]);
    for (const Lane &lane : self->list.lanes) {
      if (lane.kind != Lane::Kind::own)
        continue;
      const Cut &cut = self->list.cuts[lane.cut];
      std::vector<uint32_t> users;
      for (const Part &source : cut.sources)
        users.push_back(source.member);
      for (const Part &other : cut.others)
        users.push_back(other.member);
      for (uint32_t member : users)
        if (Member *user = self->present->members[member];
            user && user != self.get())
          ++user->joined;
    }
  }
  if (Status status = threads.connect(); !status.ok())
    return status;
  Status status = exchangeBytes({processes.begin(), processes.end()});
  if (!status.ok()) // others still wait for a byte
    abort(status);
  return status;
}

/// Exchanges a byte with each process that this one will have messages with.
Status MpiTransport::exchangeBytes(const std::vector<uint32_t> &processes) {
  Status status;
  const auto bytes =
      std::make_shared<std::vector<std::byte>>(2 * processes.size());
  engine->call([&] {
    // All at once: some wait for each other.
    Together connection(*engine, bytes);
    for (size_t i = 0; i < processes.size(); ++i) {
      connection.add("MPI_Irecv", [&](MPI_Request *request) {
        return MPI_Irecv(&(*bytes)[2 * i], 1, MPI_BYTE, int(processes[i]),
                         kConnectTag, communicator, request);
      });
      connection.add("MPI_Issend", [&](MPI_Request *request) {
        return MPI_Issend(&(*bytes)[2 * i + 1], 1, MPI_BYTE, int(processes[i]),
                          kConnectTag, communicator, request);
      });
    }
    status = connection.wait();
  });
  return status;
}

//===----------------------------------------------------------------------===//
// Called by ranks
//===----------------------------------------------------------------------===//

void MpiTransport::start(Ticket ticket, uint64_t round) {
  if (const Member &self = *members[ticket]; self.isOfThreads)
    return threads.start(self.ofThreads, round);
  {
    std::lock_guard<std::mutex> lock(mutex);
    started.push_back(ticket);
  }
  hasStarted.store(true, std::memory_order_release);
  if (!engine->serveNow())
    engine->wake();
}

bool MpiTransport::ready(Ticket ticket, uint64_t round) {
  const Member &self = *members[ticket];
  return self.isOfThreads
             ? threads.ready(self.ofThreads, round)
             : self.complete.load(std::memory_order_acquire) > round;
}

Progress MpiTransport::test(Ticket ticket, uint64_t round) {
  const Member &self = *members[ticket];
  if (self.isOfThreads)
    return threads.test(self.ofThreads, round);
  return self.complete.load(std::memory_order_acquire) > round
             ? Progress::complete
             : Progress::pending;
}

void MpiTransport::watch(std::weak_ptr<Watched> watched) {
  if (inquiry)
    inquiry->watch(std::move(watched));
}

uint64_t MpiTransport::progress() const {
  return messages.load(std::memory_order_relaxed);
}

bool MpiTransport::suspect(const Suspicion &suspicion) {
  if (inquiry)
    inquiry->suspect(suspicion);
  return inquiry != nullptr;
}

Status MpiTransport::poll() {
  if (!isAborted.load(std::memory_order_acquire))
    return {};
  std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

void MpiTransport::fail(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok())
      failure = status;
  }
  isAborted.store(true, std::memory_order_release);
  failures->note(status, age);
  threads.abort(status);
  // A failure may arrive while members are still prepared.
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::unique_ptr<Member> &self : members)
    if (self->told.waker)
      self->told.waker->wake();
}

void MpiTransport::abort(const Status &status) {
  fail(status);
  warns.store(true, std::memory_order_release);
  engine->wake();
}

//===----------------------------------------------------------------------===//
// Called by the engine
//===----------------------------------------------------------------------===//

bool MpiTransport::serve() {
  if (warns.exchange(false, std::memory_order_acquire))
    warnOthers();
  if (!hasStarted.exchange(false, std::memory_order_acquire))
    return false;
  std::vector<Ticket> batch;
  {
    std::lock_guard<std::mutex> lock(mutex);
    batch.swap(started);
  }
  if (isAborted.load(std::memory_order_acquire))
    return true;
  for (Ticket ticket : batch)
    begin(*members[ticket]);
  return true;
}

void MpiTransport::failed(const Status &status) { abort(status); }

/// Sends it once: later failures are consequences.
void MpiTransport::warnOthers() {
  if (hasWarned)
    return;
  hasWarned = true;
  const auto letter =
      std::make_shared<const std::vector<std::byte>>(packLetter(poll()));
  const std::set<uint32_t> all(processOf.begin(), processOf.end());
  for (uint32_t other : all)
    // Processes that it does not reach learn it from the world.
    if (other != process)
      (void)engine->leave("MPI_Isend", letter, [&](MPI_Request *request) {
        return MPI_Isend(letter->data(), int(letter->size()), MPI_BYTE,
                         int(other), kFailureTag, communicator, request);
      });
}

void MpiTransport::completed(uint64_t name) {
  if (name == kHeard)
    return fail(unpackLetter(*heard));
  messages.fetch_add(1, std::memory_order_relaxed);
  if (isAborted.load(std::memory_order_relaxed))
    return;
  Member &self = *members[name >> 40];
  LaneState &state = self.lanes[name >> 20 & 0xfffff];
  --state.chunks[name & 0xfffff].pending;
  if (state.lane->kind != Lane::Kind::own ||
      state.chunks[name & 0xfffff].state == Chunk::combined)
    settle(self, state);
  pump(self);
}
