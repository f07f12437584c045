//===- EditedDevice.cpp - a device that gets one call wrong ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "EditedDevice.h"

#include <algorithm>
#include <map>
#include <set>

using namespace pprt;
using namespace pprt::mutants;

/// Beyond all memory.
static constexpr int64_t kFar = int64_t(1) << 44;

const std::vector<CallEdit> mutants::kCallEdits = {
    {"wait left out", Call::wait, Change::drop},
    {"event not recorded", Call::record, Change::drop},
    {"event before its launch", Call::launch, Change::behind},
    {"event before its move", Call::move, Change::behind},
    {"event before its write", Call::write, Change::behind, 0, Change::spoil},
    {"event in another stream", Call::record, Change::elsewhere},
    {"launch left out", Call::launch, Change::drop},
    {"launch in another stream", Call::launch, Change::elsewhere},
    {"move left out", Call::move, Change::drop},
    {"move in another stream", Call::move, Change::elsewhere},
    {"copy left out", Call::copy, Change::drop},
    {"copy in another stream", Call::copy, Change::elsewhere},
    {"copy to 16 bytes further", Call::copy, Change::shift, 16},
    {"copy from 16 bytes further", Call::copy, Change::shiftFrom, 16},
    {"copy of half", Call::copy, Change::half},
    {"flag left out", Call::flag, Change::drop},
    {"flag in another stream", Call::flag, Change::elsewhere},
    {"flag of no values", Call::flag, Change::half},
    {"flag 4 bytes further", Call::flag, Change::shift, 4},
    {"write left out", Call::write, Change::drop, 0, Change::spoil},
    {"write in another stream", Call::write, Change::elsewhere, 0,
     Change::spoil},
    {"write 16 bytes further", Call::write, Change::shift, 16},
    {"write of half", Call::write, Change::half, 0, Change::spoil, /*by=*/2},
    {"read left out", Call::read, Change::drop, 0, Change::spoil},
    {"read in another stream", Call::read, Change::elsewhere},
    {"read from 256 bytes further", Call::read, Change::shiftFrom, 256,
     Change::spoil},
    {"graph not launched", Call::launchGraph, Change::drop},
    {"graph launched twice", Call::launchGraph, Change::twice},
    {"graph in another stream", Call::launchGraph, Change::elsewhere},
    {"graph ends early", Call::endCapture, Change::early},
    {"end taken for come", Call::ask, Change::drop},
    {"block freed early", Call::allocate, Change::early},
    {"block of half", Call::allocate, Change::half},
    {"pinned block freed early", Call::pin, Change::early},
    {"pinned block of half", Call::pin, Change::half},
    {"argument 4 bytes further", Call::argument, Change::shift, 4,
     Change::shift, kFar},
    {"argument 16 bytes further", Call::argument, Change::shift, 16,
     Change::shift, kFar},
    {"argument 256 bytes before", Call::argument, Change::shift, -256,
     Change::shift, kFar},
    {"argument is the first", Call::argument, Change::other, 0, Change::shift,
     kFar},
    {"row of scalars 8 bytes further", Call::scalars, Change::shift, 8,
     Change::shift, kFar},
    {"row of scalars 64 bytes further", Call::scalars, Change::shift, 64,
     Change::shift, kFar},
    {"gate left out", Call::gate, Change::drop},
    {"source 16 bytes further", Call::source, Change::shift, 16},
    {"source is the first", Call::source, Change::other},
    {"target 16 bytes further", Call::target, Change::shift, 16},
    {"target left out", Call::target, Change::drop},
    {"another reduction", Call::reduction, Change::other},
};

namespace {

/// The edit, and how far the run has come.
struct Plan {
  const CallEdit *edit = nullptr;
  uint64_t number = 0;
  Counts *counts = nullptr;
  bool *isMade = nullptr;

  /// Counts a call. Whether it is the one to change.
  bool meets(Call call) {
    const uint64_t its = (*counts)[size_t(call)]++;
    return edit && edit->call == call && its == number;
  }
  /// The same, of who makes each change at once.
  bool changes(Call call) { return meets(call) && (*isMade = true); }
  bool changes(Call call, Change change) {
    return edit && edit->change == change && changes(call);
  }
};

template <typename T> void remove(std::vector<T *> &all, T *one) {
  all.erase(std::find(all.begin(), all.end(), one));
}

/// A block that may be freed before who has it frees it.
class EditedMemory final : public Memory {
public:
  EditedMemory(std::unique_ptr<Memory> its, std::vector<EditedMemory *> &all)
      : its(std::move(its)), all(all) {
    all.push_back(this);
  }
  ~EditedMemory() override { remove<EditedMemory>(all, this); }
  void free() {
    place = its->address();
    its.reset();
  }
  std::byte *address() const override { return its ? its->address() : place; }
  uint64_t size() const override { return its ? its->size() : 0; }
  std::byte *host() const override { return its ? its->host() : place; }
  bool keepsValues() const override { return !its || its->keepsValues(); }
  Status read(std::byte *to, uint64_t offset, uint64_t bytes) const override {
    return its ? its->read(to, offset, bytes) : gone();
  }
  Status write(uint64_t offset, const std::byte *from,
               uint64_t bytes) override {
    return its ? its->write(offset, from, bytes) : gone();
  }
  uint64_t writtenBytes() const override { return 0; }

private:
  static Status gone() { return Status(ExitCode::device, "freed before"); }
  std::unique_ptr<Memory> its;
  std::byte *place = nullptr;
  std::vector<EditedMemory *> &all;
};

struct Shared {
  std::shared_ptr<enqueued::StreamDevice> device;
  Plan plan;
  std::vector<enqueued::Stream *> streams; ///< those within
  std::vector<EditedMemory *> blocks, pinned;
  std::set<const Launch *> moves;
  /// The last stream whose graph has begun, and what ended it early.
  enqueued::Stream *recorded = nullptr;
  std::unique_ptr<const enqueued::Graph> early;
  std::set<const enqueued::Event *> events; ///< that are not for times
  std::map<std::byte *, std::vector<std::byte>> written; ///< last
  std::pair<std::byte *, uint64_t> spoilt = {nullptr, 0};
};

using Act = std::function<Status(enqueued::Stream &)>;

class EditedStream final : public enqueued::Stream {
public:
  EditedStream(std::unique_ptr<enqueued::Stream> stream,
               std::shared_ptr<Shared> shared)
      : its(std::move(stream)), shared(std::move(shared)) {
    this->shared->streams.push_back(its.get());
  }
  ~EditedStream() override { remove(shared->streams, its.get()); }
  enqueued::Stream &within() const { return *its; }

  Status launch(const Launch &launch) override {
    return give(shared->moves.count(&launch) ? Call::move : Call::launch,
                [&launch](Stream &to) { return to.launch(launch); });
  }
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override {
    const auto [shift, shiftFrom, count] = moved(Call::copy, bytes);
    return give(Call::copy,
                [=, to = to + shift, from = from + shiftFrom, bytes = count](
                    Stream &stream) { return stream.copy(to, from, bytes); });
  }
  Status flag(const std::vector<Values> &values, std::byte *flag) override {
    const auto [shift, none, count] = moved(Call::flag, 2);
    return give(Call::flag, [=, flag = flag + shift,
                             isWhole = count == 2](Stream &stream) {
      return stream.flag(isWhole ? values : std::vector<Values>(), flag);
    });
  }
  Status write(std::byte *to, const void *from, uint64_t bytes) override {
    const auto [shift, none, count] = moved(Call::write, bytes);
    if (isNext(Call::write, Change::spoil))
      spoilChanges(to, from, shared->plan.edit->by ? bytes / 2 : 0, bytes);
    const auto *values = static_cast<const std::byte *>(from);
    shared->written[to] = {values, values + bytes};
    return give(Call::write,
                [=, to = to + shift, bytes = count](Stream &stream) {
                  return stream.write(to, from, bytes);
                });
  }
  Status read(void *to, const std::byte *from, uint64_t bytes) override {
    const auto [none, shiftFrom, count] = moved(Call::read, bytes);
    if (isNext(Call::read, Change::spoil))
      shared->spoilt = {static_cast<std::byte *>(to), bytes};
    return give(Call::read,
                [=, from = from + shiftFrom, bytes = count](Stream &stream) {
                  return stream.read(to, from, bytes);
                });
  }
  Status record(enqueued::Event &event) override {
    if (!shared->events.count(&event))
      return give(std::nullopt,
                  [&event](Stream &stream) { return stream.record(event); });
    return give(Call::record,
                [&event](Stream &stream) { return stream.record(event); });
  }
  Status wait(const enqueued::Event &event) override {
    return give(Call::wait,
                [&event](Stream &stream) { return stream.wait(event); });
  }
  Status launchGraph(const enqueued::Graph &graph) override {
    return give(Call::launchGraph,
                [&graph](Stream &to) { return to.launchGraph(graph); });
  }

private:
  using Stream = enqueued::Stream;
  struct Moved {
    int64_t shift = 0, shiftFrom = 0;
    uint64_t count;
  };
  bool isNext(Call call, Change change) const {
    Plan &plan = shared->plan;
    const bool isIt = plan.edit && plan.edit->call == call &&
                      plan.edit->change == change &&
                      (*plan.counts)[size_t(call)] == plan.number;
    *plan.isMade |= isIt;
    return isIt;
  }
  /// In the host's memory, the bytes that differ from those written last.
  void spoilChanges(std::byte *to, const void *from, uint64_t begin,
                    uint64_t bytes) {
    const std::vector<std::byte> &last = shared->written[to];
    auto *values =
        const_cast<std::byte *>(static_cast<const std::byte *>(from));
    for (uint64_t i = begin; i < bytes; ++i)
      if (i >= last.size() || last[i] != values[i])
        values[i] ^= std::byte(0x5a);
  }

  /// What the edit makes of the addresses of the call that comes next.
  Moved moved(Call call, uint64_t bytes) {
    Plan &plan = shared->plan;
    Moved result = {0, 0, bytes};
    if (!plan.edit || plan.edit->call != call ||
        (*plan.counts)[size_t(call)] != plan.number)
      return result;
    switch (plan.edit->change) {
    case Change::shift:
      result.shift = plan.edit->by;
      break;
    case Change::shiftFrom:
      result.shiftFrom = plan.edit->by;
      break;
    case Change::half:
      result.count = bytes / 2;
      break;
    default:
      return result;
    }
    *plan.isMade = true;
    return result;
  }

  Stream &next() const {
    const std::vector<Stream *> &all = shared->streams;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] == its.get())
        return *all[(i + 1) % all.size()];
    return *its;
  }

  /// Hands a call on, or what the edit makes of it.
  Status give(std::optional<Call> call, Act act) {
    Plan &plan = shared->plan;
    // Where a graph may end early: ahead of each call.
    if (shared->recorded && plan.changes(Call::endCapture)) {
      auto ended = shared->device->endCapture(*shared->recorded);
      if (!ended)
        return ended.status();
      shared->early = std::move(*ended);
    }
    if (call && plan.meets(*call))
      switch (plan.edit->change) {
      case Change::drop:
        *plan.isMade = true;
        return {};
      case Change::twice:
        *plan.isMade = true;
        if (Status status = act(*its); !status.ok())
          return status;
        break;
      case Change::elsewhere:
        *plan.isMade = shared->streams.size() > 1;
        return act(next());
      case Change::behind:
        held = std::move(act);
        return {};
      default:
        break; // its addresses are changed
      }
    if (!held)
      return act(*its);
    Act behind = std::move(held);
    held = nullptr;
    if (call == Call::record) {
      *plan.isMade = true;
      std::swap(act, behind);
    }
    if (Status status = behind(*its); !status.ok())
      return status;
    return act(*its);
  }

  const std::unique_ptr<Stream> its;
  const std::shared_ptr<Shared> shared;
  Act held;
};

class EditedDevice final : public enqueued::StreamDevice {
public:
  explicit EditedDevice(std::shared_ptr<Shared> given)
      : shared(std::move(given)), its(*shared->device) {}

  std::string name() const override { return its.name(); }
  Expected<MemoryPool> pool() const override { return its.pool(); }
  Status load(const ppx::ArtifactT &artifact) override {
    return its.load(artifact);
  }
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &kernel) override {
    return its.prepare(kernel);
  }
  Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) override {
    if (shared->plan.edit && shared->plan.edit->change == Change::half) {
      if (shared->plan.changes(Call::allocate))
        bytes /= 2;
    } else {
      ++(*shared->plan.counts)[size_t(Call::allocate)];
    }
    auto made = its.allocate(bytes);
    if (!made)
      return made;
    return std::unique_ptr<Memory>(
        new EditedMemory(std::move(*made), shared->blocks));
  }
  std::unique_ptr<const Launch> bind(Binding binding) override {
    Plan &plan = shared->plan;
    for (std::byte *&argument : binding.arguments)
      if (plan.meets(Call::argument))
        change(argument, binding.arguments.front());
    if (plan.meets(Call::scalars))
      change(binding.scalars, binding.scalars);
    if (binding.gate && plan.changes(Call::gate))
      binding.gate = nullptr;
    return its.bind(std::move(binding));
  }
  Expected<std::unique_ptr<enqueued::StreamTransport>>
  transport(World &world, uint32_t ranks) override {
    return its.transport(world, ranks);
  }

  Status makeCurrent() override { return its.makeCurrent(); }
  Expected<std::unique_ptr<enqueued::Stream>>
  makeStream(bool isUrgent) override {
    auto made = its.makeStream(isUrgent);
    if (!made)
      return made.status();
    return std::unique_ptr<enqueued::Stream>(
        new EditedStream(std::move(*made), shared));
  }
  Expected<std::unique_ptr<enqueued::Event>> makeEvent(bool isTimed) override {
    auto made = its.makeEvent(isTimed);
    if (made && !isTimed)
      shared->events.insert(made->get());
    return made;
  }
  Expected<std::unique_ptr<Memory>> hostMemory(uint64_t bytes) override {
    if (shared->plan.edit && shared->plan.edit->change == Change::half &&
        shared->plan.changes(Call::pin))
      bytes /= 2;
    auto made = its.hostMemory(bytes);
    if (!made)
      return made;
    return std::unique_ptr<Memory>(
        new EditedMemory(std::move(*made), shared->pinned));
  }
  Expected<bool> query(const enqueued::Event &event) override {
    Plan &plan = shared->plan;
    if (plan.edit && plan.edit->change == Change::early &&
        (*plan.counts)[size_t(Call::launchGraph)] +
                (*plan.counts)[size_t(Call::launch)] >
            0)
      for (auto [call, blocks] : {std::pair(Call::allocate, &shared->blocks),
                                  std::pair(Call::pin, &shared->pinned)})
        if (plan.edit->call == call && !*plan.isMade &&
            plan.number < blocks->size()) {
          (*blocks)[plan.number]->free();
          *plan.isMade = true;
        }
    if (plan.changes(Call::ask))
      return true;
    Expected<bool> come = its.query(event);
    if (const auto [to, bytes] = shared->spoilt; come && *come)
      std::fill(to, to + bytes, std::byte(0x5a));
    return come;
  }
  void drain() override { its.drain(); }
  Expected<int64_t> elapsed(const enqueued::Event &from,
                            const enqueued::Event &to) override {
    return its.elapsed(from, to);
  }
  Expected<std::unique_ptr<const Launch>>
  bindMove(const enqueued::BoundMove &move) override {
    Plan &plan = shared->plan;
    enqueued::BoundMove edited = move;
    for (const std::byte *&source : edited.sources)
      if (plan.meets(Call::source))
        change(source, edited.sources.front());
    for (size_t i = 0; i < edited.targets.size(); ++i)
      if (plan.meets(Call::target)) {
        if (plan.edit->change == Change::drop) {
          *plan.isMade = edited.targets.size() > 1;
          if (*plan.isMade)
            edited.targets.erase(edited.targets.begin() + long(i));
        } else {
          change(edited.targets[i], edited.targets.front());
        }
      }
    if (edited.sources.size() > 1 && plan.changes(Call::reduction))
      edited.reduction = edited.reduction == ppx::Reduction_sum
                             ? ppx::Reduction_max
                             : ppx::Reduction_sum;
    auto made = its.bindMove(edited);
    if (made)
      shared->moves.insert(made->get());
    return made;
  }
  bool isCapturable(const ppx::KernelT &kernel, bool isGated) const override {
    return its.isCapturable(kernel, isGated);
  }
  Status beginCapture(enqueued::Stream &stream) override {
    shared->recorded = &static_cast<EditedStream &>(stream).within();
    return its.beginCapture(*shared->recorded);
  }
  Expected<std::unique_ptr<const enqueued::Graph>>
  endCapture(enqueued::Stream &stream) override {
    shared->recorded = nullptr;
    if (shared->early)
      return std::move(shared->early);
    return its.endCapture(static_cast<EditedStream &>(stream).within());
  }

private:
  /// Shifts an address, or puts another in its place.
  template <typename Address> void change(Address &address, Address other) {
    Plan &plan = shared->plan;
    if (plan.edit->change == Change::other) {
      *plan.isMade = address != other;
      address = other;
    } else {
      *plan.isMade = true;
      address += plan.edit->by;
    }
  }

  const std::shared_ptr<Shared> shared;
  enqueued::StreamDevice &its;
};

} // namespace

std::shared_ptr<enqueued::StreamDevice>
mutants::editDevice(std::shared_ptr<enqueued::StreamDevice> device,
                    const CallEdit *edit, uint64_t number, Counts &counts,
                    bool &isMade) {
  counts = {};
  isMade = false;
  auto shared = std::make_shared<Shared>();
  shared->device = std::move(device);
  shared->plan = {edit, number, &counts, &isMade};
  return std::make_shared<EditedDevice>(std::move(shared));
}
