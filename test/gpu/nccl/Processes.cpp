//===- Processes.cpp - communicators over several processes ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Processes that have the setting `processes` leave files for each other in its
// folder: who has come to a communicator, what a split asks for, and of each
// operation that begins what others read of its memory. A file is whole when it
// has its name, and stays. Names begin with the communicator's id, which is
// drawn when it is made: so runs in one folder, one after another or at once,
// do not read each other's. Each process has one rank of a communicator.
//
//===----------------------------------------------------------------------===//
#include "Objects.h"
#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace emulated;
using namespace emulated::nccl;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string pathOf(const std::string &name) {
  return host()->processes() + ('/' + name);
}

static bool isThere(const std::string &name) {
  return access(pathOf(name).c_str(), R_OK) == 0;
}

static void leave(const std::string &name, const void *bytes, size_t size) {
  const std::string path = pathOf(name), open = path + ".open";
  std::ofstream file(open, std::ios::binary);
  file.write(static_cast<const char *>(bytes), std::streamsize(size));
  file.close();
  if (!file || std::rename(open.c_str(), path.c_str()) != 0)
    notModelled("a folder of processes, '" + path + "', that takes no files");
}

static std::vector<std::byte> take(const std::string &name) {
  std::ifstream file(pathOf(name), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto *first = reinterpret_cast<const std::byte *>(text.data());
  return {first, first + text.size()};
}

template <typename Value> static Value takeValue(const std::string &name) {
  Value value = {};
  const std::vector<std::byte> bytes = take(name);
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
  return value;
}

static std::string rankIn(const std::string &place, int rank) {
  return place + ".rank" + std::to_string(rank);
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

bool nccl::isAmongProcesses() { return *host()->processes(); }

static constexpr uint64_t kDrawn = uint64_t(1) << 63;

uint64_t nccl::drawId() {
  std::random_device random;
  return kDrawn | uint64_t(random()) << 32 | random();
}

bool nccl::isDrawn(uint64_t id) { return id & kDrawn; }

std::string nccl::placeOf(uint64_t id) {
  return isAmongProcesses() ? "comm" + std::to_string(id) : "";
}

static std::string placeOfSplit(const Clique &clique,
                                const Clique::Split &split) {
  return clique.place + ".split" + std::to_string(split.number);
}

std::string nccl::placeOfChild(const Clique &parent, const Clique::Split &split,
                               int color) {
  return parent.place.empty()
             ? ""
             : placeOfSplit(parent, split) + ".color" + std::to_string(color);
}

void nccl::leaveMember(const Comm &comm) {
  if (const Clique &clique = *comm.clique; !clique.place.empty())
    leave(rankIn(clique.place, comm.rank), &comm.device, sizeof(comm.device));
}

void nccl::leaveGone(const Comm &comm) {
  if (const Clique &clique = *comm.clique; !clique.place.empty())
    leave(rankIn(clique.place, comm.rank) + ".gone", "", 0);
}

void nccl::readMembers(Clique &clique) {
  if (clique.place.empty())
    return;
  for (size_t rank = 0; rank < clique.devices.size(); ++rank) {
    const std::string name = rankIn(clique.place, int(rank));
    if (clique.devices[rank] < 0 && isThere(name))
      clique.devices[rank] = takeValue<int>(name);
    clique.hasLost |= isThere(name + ".gone");
  }
}

void nccl::leaveRequest(const Comm &comm, const Clique::Split &split) {
  if (const Clique &clique = *comm.clique; !clique.place.empty())
    leave(rankIn(placeOfSplit(clique, split), comm.rank),
          &split.requests.at(comm.rank), sizeof(Clique::Request));
}

void nccl::readRequests(Clique &clique, Clique::Split &split) {
  if (clique.place.empty())
    return;
  readMembers(clique);
  for (size_t rank = 0; rank < clique.devices.size(); ++rank) {
    const std::string name = rankIn(placeOfSplit(clique, split), int(rank));
    if (!split.requests.count(int(rank)) && isThere(name))
      split.requests[int(rank)] = takeValue<Clique::Request>(name);
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

/// Memory of a member elsewhere: what it left, and what it writes itself.
class LeftBehind final : public Access {
public:
  explicit LeftBehind(std::vector<std::byte> bytes) : bytes(std::move(bytes)) {}

  const std::byte *read(uint64_t, uint64_t size) override {
    return size <= bytes.size() ? bytes.data() : nullptr;
  }
  std::byte *write(uint64_t, uint64_t size) override {
    nowhere.resize(size);
    return nowhere.data();
  }
  bool spoil(uint64_t, uint64_t) override { return true; }

private:
  std::vector<std::byte> bytes, nowhere;
};

/// What a task leaves, in front of what it reads.
struct Header {
  Task::Kind kind;
  uint64_t count;
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int peer;
  uint64_t recording;
};

} // namespace

/// The bytes of its own memory that a task reads.
static uint64_t bytesRead(const Task &task, size_t members) {
  return task.kind == Task::receive
             ? 0
             : task.count * sizeOf(task.type) *
                   (task.kind == Task::reduceScatter ? members : 1);
}

static void leave(const std::string &name, const Task &task, size_t members,
                  Access &memory) {
  const Header header = {task.kind,      task.count, task.type,
                         task.reduction, task.peer,  task.recording};
  std::vector<std::byte> bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (const uint64_t size = bytesRead(task, members))
    if (const std::byte *from = memory.read(task.from, size))
      bytes.insert(bytes.end(), from, from + size);
  ::leave(name, bytes.data(), bytes.size());
}

/// Takes what a member left: its task, and its memory.
static LeftBehind take(const std::string &name, const char *call, Task &task) {
  std::vector<std::byte> bytes = ::take(name);
  Header header = {};
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof(header)));
  task = {header.kind,
          call,
          0,
          0,
          header.count,
          header.type,
          header.reduction,
          header.peer,
          header.recording};
  bytes.erase(bytes.begin(),
              bytes.begin() + long(std::min(bytes.size(), sizeof(header))));
  return LeftBehind(std::move(bytes));
}

/// With those elsewhere, once all have left their parts.
static bool meet(CommOp &commOp, const std::vector<std::string> &names,
                 size_t mine, Access &memory) {
  std::vector<std::unique_ptr<LeftBehind>> others(names.size());
  std::vector<Access *> all(names.size(), &memory);
  for (size_t member = 0; member < names.size(); ++member) {
    if (member == mine)
      continue;
    Task task;
    others[member] = std::make_unique<LeftBehind>(
        take(names[member], commOp.tasks[mine].call, task));
    all[member] = others[member].get();
    commOp.add(member, task,
               [&](size_t other) { return "'" + names[other] + "'"; });
  }
  return !commOp.isWrong && commOp.move(all);
}

Attendance nccl::attendElsewhere(Comm &comm, const std::vector<Task> &tasks,
                                 uint64_t errors) {
  Attendance result;
  std::vector<std::function<void(Access &)>> leaves;
  for (const Task &task : tasks) {
    const auto [key, ranks, mine] = encounter(comm, task);
    const auto &[isMessage, from, to, number] = key;
    const std::string name =
        comm.clique->place +
        (isMessage ? ".from" + std::to_string(from) + ".to" + std::to_string(to)
                   : ".all") +
        '.' + std::to_string(number);
    std::vector<std::string> names;
    for (const int rank : ranks)
      names.push_back(rankIn(name, rank));
    auto commOp = std::make_shared<CommOp>();
    commOp->what = describe(task);
    commOp->errors = errors;
    commOp->tasks.resize(names.size());
    commOp->come.resize(names.size());
    commOp->add(mine, task, {});
    commOp->members.push_back({comm.name(), comm.device, &comm, nullptr});
    commOp->isThere = [names] {
      return std::all_of(names.begin(), names.end(), isThere);
    };
    commOp->run = [its = commOp.get(), names,
                   mine = mine](const std::vector<Access *> &memory) {
      return meet(*its, names, mine, *memory[0]);
    };
    leaves.push_back(
        [task, name = names[mine], members = names.size()](Access &memory) {
          ::leave(name, task, members, memory);
        });
    result.parts.push_back({commOp, 0});
  }
  result.leave = [leaves](Access &memory) {
    for (const auto &each : leaves)
      each(memory);
  };
  return result;
}
