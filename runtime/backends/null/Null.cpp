//===- Null.cpp - a device that computes nothing --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every function that an engine needs of a device, with nothing behind it: the
// skeleton to start a backend from. Memory has addresses and no pages, so that
// any access to it is caught. Launches, copies and flags are counted; comm ops
// move their names instead of their data, and are checked: all members must
// come, each in its order. They are counted, too, and the bytes that each
// member would have sent, as in Communication.h. The remaining time of a step
// is the engine's own.
//
//===----------------------------------------------------------------------===//
#include "../Backends.h"
#include "pprt/World.h"

#include <limits>
#include <map>
#include <mutex>
#include <sys/mman.h>

using namespace pprt;

namespace {

/// On its own cache line, because each belongs to one thread.
struct alignas(64) Counts {
  uint64_t launches = 0, copies = 0, flags = 0;
};

//===----------------------------------------------------------------------===//
// The transport: another one, in which each member sends all others its name
//===----------------------------------------------------------------------===//

class NullTransport final : public PolledTransport {
public:
  explicit NullTransport(std::unique_ptr<PolledTransport> carrier)
      : carrier(std::move(carrier)) {}

  Expected<Ticket> prepare(Participant participant) override;
  Status connect() override { return carrier->connect(); }
  void start(Ticket ticket, uint64_t round) override;
  bool ready(Ticket ticket, uint64_t round) override {
    return carrier->ready(commOps[ticket]->ticket, round);
  }
  Progress test(Ticket ticket, uint64_t round) override;
  void help(const std::function<bool()> &ends) override { carrier->help(ends); }
  uint64_t progress() const override { return carrier->progress(); }
  void watch(std::weak_ptr<Watched> watched) override {
    carrier->watch(std::move(watched));
  }
  bool suspect(const Suspicion &suspicion) override {
    return carrier->suspect(suspicion);
  }
  Status poll() override { return carrier->poll(); }
  void abort(const Status &status) override { carrier->abort(status); }

  struct alignas(64) CommOp {
    Ticket ticket = 0; ///< the carrier's
    uint64_t name = 0, mine = 0;
    std::vector<uint64_t> all;        ///< by member, the name it sent
    const CommOp *previous = nullptr; ///< of the member, at the place
    uint64_t started = 0, completed = 0;
    uint64_t bytes = 0; ///< that the member would send in a round
  };
  std::vector<std::unique_ptr<CommOp>> commOps; ///< by ticket

private:
  void refuse(const char *expected);

  std::unique_ptr<PolledTransport> carrier;
  std::map<std::tuple<uint64_t, Section, uint32_t>, const CommOp *> last;
};

/// Bytes that a member sends: for a sum for all, as many as are needed when
/// each member adds a share.
uint64_t sentBytes(const std::vector<Move> &moves, uint32_t member,
                   uint64_t members) {
  uint64_t sent = 0, summed = 0;
  for (const Move &move : moves) {
    const uint64_t bytes = move.region.outer * move.region.middle *
                           move.region.run * elementSize(move.element);
    const bool isSum = move.sources.size() > 1 && move.targets.size() > 1;
    summed += isSum ? bytes : 0;
    for (const Part &source : move.sources)
      for (const Part &target : move.targets)
        if (!isSum && source.member == member && target.member != member)
          sent += bytes;
  }
  return sent + 2 * (members - 1) * summed / members;
}

Expected<Ticket> NullTransport::prepare(Participant p) {
  const uint32_t members = uint32_t(p.ranks.size());
  auto commOp = std::make_unique<CommOp>();
  commOp->name = (p.place * kSections.size() + uint64_t(p.section)) << 24 ^
                 uint64_t(p.commOp) << 48;
  commOp->all.resize(members);
  commOp->bytes = sentBytes(*p.moves, p.member, members);
  commOp->previous =
      std::exchange(last[{p.place, p.section, p.member}], commOp.get());
  std::vector<Move> moves(members);
  for (uint32_t source = 0; source < members; ++source) {
    moves[source].region.run = 1;
    moves[source].element = ppx::ElementType_i64;
    moves[source].sources = {{source, 0, 0}};
    for (uint32_t target = 0; target < members; ++target)
      moves[source].targets.push_back({target, 0, source});
  }
  p.moves = std::make_shared<const std::vector<Move>>(std::move(moves));
  p.inputs = {reinterpret_cast<std::byte *>(&commOp->mine)};
  p.outputs = {reinterpret_cast<std::byte *>(commOp->all.data())};
  Expected<Ticket> ticket = carrier->prepare(std::move(p));
  if (!ticket)
    return ticket;
  commOp->ticket = *ticket;
  commOps.push_back(std::move(commOp));
  return Ticket(commOps.size() - 1);
}

void NullTransport::refuse(const char *expected) {
  carrier->abort(
      Status(ExitCode::checkFailed,
             std::string("a communication operation expects ") + expected));
}

void NullTransport::start(Ticket ticket, uint64_t round) {
  CommOp &commOp = *commOps[ticket];
  if (commOp.started++ != round)
    return refuse("to be started once a round");
  if (commOp.previous && commOp.previous->completed != round + 1)
    return refuse("the one before it at its place to have completed");
  commOp.mine = commOp.name + round;
  carrier->start(commOp.ticket, round);
}

Progress NullTransport::test(Ticket ticket, uint64_t round) {
  CommOp &commOp = *commOps[ticket];
  if (carrier->test(commOp.ticket, round) != Progress::complete)
    return Progress::pending;
  for (uint64_t theirs : commOp.all)
    if (theirs != commOp.mine) {
      refuse("all members in the same round of it");
      return Progress::pending;
    }
  ++commOp.completed;
  return Progress::complete;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

/// Addresses that cannot be read or written.
class NullMemory final : public Memory {
public:
  NullMemory(void *pages, uint64_t bytes) : pages(pages), bytes(bytes) {}
  ~NullMemory() override { munmap(pages, bytes + 1); }
  std::byte *address() const override {
    return static_cast<std::byte *>(pages);
  }
  uint64_t size() const override { return bytes; }
  std::byte *host() const override { return nullptr; }
  uint64_t writtenBytes() const override { return 0; }

private:
  void *const pages;
  const uint64_t bytes;
};

class NullStream final : public Stream {
public:
  explicit NullStream(Counts &counts) : counts(counts) {}
  Status launch(const Launch &) override { return ++counts.launches, Status(); }
  Status copy(std::byte *, const std::byte *, uint64_t) override {
    return ++counts.copies, Status();
  }
  Status flag(const std::vector<Values> &, std::byte *) override {
    return ++counts.flags, Status();
  }
  Status write(std::byte *, const void *, uint64_t) override { return {}; }

private:
  Counts &counts;
};

class NullDevice final : public PolledDevice {
public:
  std::string name() const override { return "null"; }
  Expected<MemoryPool> pool() const override {
    return MemoryPool{"null", "addresses",
                      std::numeric_limits<uint64_t>::max()};
  }
  Status load(const ppx::ArtifactT &) override { return {}; }
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &) override {
    return std::make_unique<const Kernel>();
  }
  Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) override {
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *pages = mmap(nullptr, bytes + 1, PROT_NONE, kind, -1, 0);
    if (pages == MAP_FAILED)
      return Status(ExitCode::outOfMemory, "the system refuses " +
                                               std::to_string(bytes) +
                                               " bytes of addresses");
    return std::unique_ptr<Memory>(new NullMemory(pages, bytes));
  }
  Expected<std::unique_ptr<Stream>> stream(Memory &,
                                           AllocationCounter &) override {
    const std::lock_guard<std::mutex> lock(mutex);
    streams.push_back(std::make_unique<Counts>());
    return std::unique_ptr<Stream>(new NullStream(*streams.back()));
  }
  std::unique_ptr<const Launch> bind(Binding) override {
    return std::make_unique<const Launch>();
  }
  Expected<std::unique_ptr<PolledTransport>>
  transport(World &world, uint32_t ranks) override {
    Expected<std::unique_ptr<PolledTransport>> carrier = world.transport(ranks);
    if (!carrier)
      return carrier.status();
    auto created = std::make_unique<NullTransport>(std::move(*carrier));
    commOps = created.get();
    return std::unique_ptr<PolledTransport>(std::move(created));
  }
  std::vector<NamedCount> counters() const override;

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Counts>> streams;
  const NullTransport *commOps = nullptr; ///< lives as long as the session
};

std::vector<NamedCount> NullDevice::counters() const {
  uint64_t launches = 0, copies = 0, flags = 0, met = 0, bytes = 0;
  for (const std::unique_ptr<Counts> &its : streams)
    launches += its->launches, copies += its->copies, flags += its->flags;
  for (const auto &its : commOps->commOps)
    met += its->completed, bytes += its->completed * its->bytes;
  return {{"launches", launches},
          {"copies", copies},
          {"flags", flags},
          {"comm ops", met},
          {"bytes", bytes}};
}

} // namespace

std::unique_ptr<PolledDevice> null::makeDevice() {
  return std::make_unique<NullDevice>();
}
