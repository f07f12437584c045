//===- Kernels.cpp - what ranks do together -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a communicator has in a group is one operation of a stream, which ends
// when all its parts have met theirs. The k-th collective of each rank meet,
// and the k-th message of a pair. Nothing is buffered: a send ends no sooner
// than its receive has begun.
//
//===----------------------------------------------------------------------===//
#include "Objects.h"
#include "pprt/NarrowFloats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <type_traits>

using namespace emulated;
using namespace emulated::nccl;

std::string nccl::describe(const Task &task) {
  std::string text = std::string(task.call) + " of " +
                     std::to_string(task.count) + ' ' + nameOf(task.type);
  if (task.kind == Task::allReduce || task.kind == Task::reduceScatter)
    text += task.reduction == ncclSum   ? " (sum)"
            : task.reduction == ncclMax ? " (max)"
                                        : " (min)";
  if (task.recording)
    text += ", recorded as number " + std::to_string(task.recording);
  return text;
}

bool CommOp::move(const std::vector<Access *> &memory) const {
  const Task &first = tasks[0];
  const uint64_t bytes = first.count * sizeOf(first.type);
  const auto write = [&](size_t member, uint64_t address,
                         const std::vector<std::byte> &values) {
    std::byte *place = memory[member]->write(address, values.size());
    if (place)
      std::memcpy(place, values.data(), values.size());
    return place != nullptr;
  };
  const auto read = [&](size_t member, uint64_t size,
                        std::vector<std::byte> &values) {
    const std::byte *place = memory[member]->read(tasks[member].from, size);
    if (place)
      values.assign(place, place + size);
    return place != nullptr;
  };
  std::vector<std::vector<std::byte>> inputs(tasks.size());
  std::vector<const std::byte *> places;
  const bool scatters = first.kind == Task::reduceScatter;
  for (size_t member = 0; member < tasks.size(); ++member) {
    if (tasks[member].kind == Task::receive)
      continue;
    if (!read(member, bytes * (scatters ? tasks.size() : 1), inputs[member]))
      return false;
  }
  if (first.isMessage())
    return write(1, tasks[1].to, inputs[0]);
  std::vector<std::byte> result(bytes);
  if (first.kind == Task::allReduce) {
    for (const auto &input : inputs)
      places.push_back(input.data());
    reduce(first.type, first.reduction, places, result.data(), first.count,
           errors);
  }
  for (size_t member = 0; member < tasks.size(); ++member) {
    const uint64_t to = tasks[member].to;
    bool isWritten = true;
    if (first.kind == Task::allGather) {
      for (size_t other = 0; other < tasks.size(); ++other)
        isWritten &= write(member, to + other * bytes, inputs[other]);
    } else {
      if (scatters) {
        places.clear();
        for (const auto &input : inputs)
          places.push_back(input.data() + member * bytes);
        reduce(first.type, first.reduction, places, result.data(), first.count,
               errors);
      }
      isWritten = write(member, to, result);
    }
    if (!isWritten)
      return false;
  }
  return true;
}

/// Whether what two members ask for meets. That a call is recorded, and which
/// recording is played, is a property of all that meet.
static bool agree(const Task &a, const Task &b) {
  if (a.recording != b.recording)
    return false;
  if (a.isMessage() || b.isMessage())
    return a.isMessage() == b.isMessage() && a.count == b.count &&
           a.type == b.type;
  const bool reduces =
      a.kind == Task::allReduce || a.kind == Task::reduceScatter;
  return a.kind == b.kind && a.count == b.count && a.type == b.type &&
         (!reduces || a.reduction == b.reduction) && a.peer == b.peer;
}

void CommOp::add(size_t member, const Task &task,
                 const std::function<std::string(size_t)> &nameOf) {
  for (size_t other = 0; other < tasks.size(); ++other)
    if (other != member && come[other] && !isWrong &&
        !agree(task, tasks[other])) {
      isWrong = true;
      fault(nameOf(member) + " asks for " + describe(task) + ", and " +
            nameOf(other) + " for " + describe(tasks[other]));
    }
  tasks[member] = task;
  come[member] = true;
}

Encounter nccl::encounter(Comm &comm, const Task &task) {
  if (!task.isMessage()) {
    Encounter result = {
        {false, 0, 0, comm.collectives++}, {}, uint32_t(comm.rank)};
    for (int rank = 0; rank < int(comm.clique->members.size()); ++rank)
      result.ranks.push_back(rank);
    return result;
  }
  const bool sends = task.kind == Task::send;
  const int from = sends ? comm.rank : task.peer;
  const int to = sends ? task.peer : comm.rank;
  const uint64_t number = (sends ? comm.sent : comm.received)[task.peer]++;
  return {{true, from, to, number}, {from, to}, sends ? 0u : 1u};
}

static Attendance::Part join(Comm &comm, const Task &task, uint64_t errors) {
  Clique &clique = *comm.clique;
  const auto [key, ranks, member] = encounter(comm, task);
  std::shared_ptr<CommOp> &place = clique.open[key];
  const auto nameOf = [&clique](int rank) {
    return "rank " + std::to_string(rank) + " of communicator " +
           std::to_string(clique.number);
  };
  if (!place) {
    place = std::make_shared<CommOp>();
    place->what = describe(task);
    place->errors = errors;
    for (const int rank : ranks)
      place->members.push_back({nameOf(rank), clique.devices[size_t(rank)],
                                clique.members[size_t(rank)], nullptr});
    place->tasks.resize(ranks.size());
    place->come.resize(ranks.size());
    place->run = [its = place.get()](const std::vector<Access *> &memory) {
      return !its->isWrong && its->move(memory);
    };
  }
  const std::shared_ptr<CommOp> commOp = place;
  commOp->add(member, task,
              [&](size_t other) { return commOp->members[other].name; });
  if (std::all_of(commOp->come.begin(), commOp->come.end(),
                  [](bool has) { return has; }))
    clique.open.erase(key);
  return {commOp, member};
}

void nccl::launch(Comm &comm, Group::Launch launch) {
  if (host()->isRecording(launch.stream))
    for (Task &task : launch.tasks) {
      task.recording =
          ++comm.recorded[{task.isMessage() ? task.kind : Task::allReduce,
                           task.isMessage() ? task.peer : 0}];
      for (const uint64_t address : {task.from, task.to})
        if (address != 0)
          comm.registered.insert(address);
    }
  const auto handle = reinterpret_cast<ncclComm_t>(&comm);
  Guest guest;
  guest.what = (launch.tasks.size() == 1
                    ? describe(launch.tasks[0])
                    : "a group of " + std::to_string(launch.tasks.size()) +
                          " calls of NCCL") +
               " by " + comm.name();
  guest.lane = &comm;
  guest.attend = [handle, launch]() {
    Attendance result;
    Comm *its = find(handle);
    const uint64_t errors = host()->errors();
    if (!its->clique->place.empty())
      result = attendElsewhere(*its, launch.tasks, errors);
    else
      for (const Task &task : launch.tasks)
        result.parts.push_back(join(*its, task, errors));
    if (launch.late != 0)
      result.onBegin = [handle, late = launch.late] {
        find(handle)->broken = ncclResult_t(late);
      };
    return result;
  };
  if (host()->submit(launch.stream, std::move(guest)) != 0)
    comm.state = ncclUnhandledCudaError;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

thread_local Group nccl::group;

static bool overlap(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

ncclResult_t nccl::check(const Comm &comm, const Task &task) {
  const uint64_t size = sizeOf(task.type),
                 members = comm.clique->members.size();
  if (size == 0 || task.reduction > ncclMin || task.reduction == ncclProd)
    notModelled(std::string(task.call) + " of this type or reduction");
  const bool reads = task.kind != Task::receive;
  const bool writes = task.kind != Task::send;
  const uint64_t bytes = task.count * size;
  const uint64_t fromBytes =
      bytes * (task.kind == Task::reduceScatter ? members : 1);
  const uint64_t toBytes = bytes * (task.kind == Task::allGather ? members : 1);
  if ((reads && task.from % size) || (writes && task.to % size))
    fault(std::string(task.call) + " by " + comm.name() +
          " is given an address that is not aligned to its type");
  // In place: one place that each of them names.
  const uint64_t its = uint64_t(comm.rank) * bytes;
  const bool isInPlace =
      task.kind == Task::allGather       ? task.from == task.to + its
      : task.kind == Task::reduceScatter ? task.to == task.from + its
                                         : task.from == task.to;
  if (reads && writes && !isInPlace &&
      overlap(task.from, fromBytes, task.to, toBytes))
    fault(std::string(task.call) + " by " + comm.name() +
          " writes over what it reads, and not in place");
  return ncclSuccess;
}

/// At once, or as something that is in progress: then nothing is in the stream
/// yet.
static ncclResult_t start(Group::Launch &launch) {
  Comm *comm = find(launch.comm);
  if (comm->broken != ncclSuccess)
    return comm->broken;
  const uint64_t seed = host()->seed();
  if (seed == 1 || (seed > 1 && host()->draw(2) == 0)) {
    nccl::launch(*comm, std::move(launch));
    return comm->state;
  }
  comm->begin(
      "a launch by " + comm->name(), [comm, launch = std::move(launch)] {
        nccl::launch(*comm, launch);
        return comm->state == ncclInProgress ? ncclSuccess : comm->state;
      });
  return ncclInProgress;
}

ncclResult_t nccl::endGroup() {
  if (--group.depth > 0)
    return group.failure;
  Group its;
  std::swap(its, group);
  ncclResult_t result = its.failure;
  if (result != ncclSuccess)
    return result;
  const auto note = [&](ncclResult_t one) {
    if (result == ncclSuccess || (one != ncclSuccess && one != ncclInProgress))
      result = one;
  };
  for (const auto &other : its.others)
    note(other());
  for (Group::Launch &launch : its.launches)
    note(start(launch));
  return result;
}

//===----------------------------------------------------------------------===//
// Additions
//===----------------------------------------------------------------------===//

// NCCL does not say in which order it adds, and rounds to the type of the
// elements after each addition. Here each run of elements has an order of its
// own, drawn from the setting, the count and the place of the run, so that it
// is the same each time. max and min are those of C, which drop what is no
// number. Types and reductions are those that the engine asks for.

uint64_t nccl::sizeOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclFloat64:
    return 8;
  default:
    return 0;
  }
}

const char *nccl::nameOf(ncclDataType_t type) {
  switch (type) {
  case ncclUint8:
    return "u8";
  case ncclInt8:
    return "i8";
  case ncclFloat16:
    return "f16";
  case ncclBfloat16:
    return "bf16";
  case ncclInt32:
    return "i32";
  case ncclFloat32:
    return "f32";
  case ncclInt64:
    return "i64";
  case ncclFloat64:
    return "f64";
  default:
    return "an unknown type";
  }
}

namespace {
template <typename T> struct Plain {
  using Stored = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct BrainFloat {
  using Stored = __nv_bfloat16;
  static float load(Stored value) { return __bfloat162float(value); }
  static Stored store(float value) { return __float2bfloat16_rn(value); }
};

struct HalfFloat {
  using Stored = uint16_t;
  static float load(Stored value) { return pprt::fromFloat16(value); }
  static Stored store(float value) { return pprt::toFloat16(value); }
};

template <typename T> T combine(ncclRedOp_t reduction, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>; // which wraps around
    switch (reduction) {
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return T(Unsigned(a) + Unsigned(b));
    }
  } else {
    switch (reduction) {
    case ncclMax:
      return std::fmax(a, b);
    case ncclMin:
      return std::fmin(a, b);
    default:
      return a + b;
    }
  }
}

constexpr uint64_t kRun = 64; ///< elements that are added in one order
} // namespace

template <typename Type>
static void reduceAs(ncclRedOp_t reduction,
                     const std::vector<const std::byte *> &from, std::byte *to,
                     uint64_t count, uint64_t errors) {
  using Stored = typename Type::Stored;
  std::vector<size_t> order(from.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Stored> result(count);
  for (uint64_t begin = 0; begin < count; begin += kRun) {
    if (errors != 0) {
      std::iota(order.begin(), order.end(), 0);
      std::mt19937_64 random(errors * 0x9e3779b97f4a7c15ULL + count * 31 +
                             begin / kRun);
      for (size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random() % i]);
    }
    for (uint64_t i = begin; i < std::min(begin + kRun, count); ++i) {
      const auto load = [&](size_t member) {
        Stored value;
        std::memcpy(&value, from[member] + i * sizeof(Stored), sizeof(Stored));
        return value;
      };
      Stored sum = load(order[0]);
      for (size_t k = 1; k < order.size(); ++k)
        sum = Type::store(
            combine(reduction, Type::load(sum), Type::load(load(order[k]))));
      result[i] = sum;
    }
  }
  // Behind all that is read, for it may be one of them.
  std::memcpy(to, result.data(), count * sizeof(Stored));
}

void nccl::reduce(ncclDataType_t type, ncclRedOp_t reduction,
                  const std::vector<const std::byte *> &from, std::byte *to,
                  uint64_t count, uint64_t errors) {
  switch (type) {
  case ncclUint8:
    return reduceAs<Plain<uint8_t>>(reduction, from, to, count, errors);
  case ncclInt8:
    return reduceAs<Plain<int8_t>>(reduction, from, to, count, errors);
  case ncclFloat16:
    return reduceAs<HalfFloat>(reduction, from, to, count, errors);
  case ncclInt32:
    return reduceAs<Plain<int32_t>>(reduction, from, to, count, errors);
  case ncclInt64:
    return reduceAs<Plain<int64_t>>(reduction, from, to, count, errors);
  case ncclBfloat16:
    return reduceAs<BrainFloat>(reduction, from, to, count, errors);
  case ncclFloat32:
    return reduceAs<Plain<float>>(reduction, from, to, count, errors);
  case ncclFloat64:
    return reduceAs<Plain<double>>(reduction, from, to, count, errors);
  default:
    notModelled("a reduction of type " + std::to_string(int(type)));
  }
}
