//===- Objects.h - communicators of the emulated NCCL -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A clique is what several ranks share; a communicator is one rank's part of
// it. They are guarded by the lock of libcuda's emulated library, which every
// call takes, and gone with its machine. All are of one process, but for what
// others leave in a folder (Processes.cpp). Only communicators that do not
// block are modelled, for no others can be aborted at any time.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_NCCL_OBJECTS_H
#define PP_TEST_GPU_NCCL_OBJECTS_H

#include "cuda/Guest.h"

#include <nccl.h>
#include <set>

#include <map>
#include <tuple>

namespace emulated::nccl {

/// What one rank asks for in one call.
struct Task {
  enum Kind { allReduce, allGather, reduceScatter, send, receive };
  Kind kind = allReduce;
  const char *call = "";
  uint64_t from = 0, to = 0; ///< addresses
  uint64_t count = 0;        ///< as the call counts
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0; ///< of messages
  /// Which one of the calls that were recorded, counted as those are that meet;
  /// 0: it is none.
  uint64_t recording = 0;
  bool isMessage() const { return kind == send || kind == receive; }
};

struct Comm;
struct CommOp;

struct Clique {
  uint32_t number = 0; ///< for messages
  /// What processes call it; empty: all its members are of this one.
  std::string place;
  std::vector<Comm *> members; ///< by rank; null: not there (any more)
  std::vector<int> devices;    ///< by rank; -1: was never there
  bool hasLost = false;        ///< a member that was there
  /// What not all have come to yet. Of messages by sender, receiver and which
  /// one it is; of collectives by which one it is.
  using Key = std::tuple<bool, int, int, uint64_t>;
  std::map<Key, std::shared_ptr<CommOp>> open;

  /// What members asked for in their k-th split.
  struct Request {
    int color = 0, key = 0;
  };
  struct Split {
    uint64_t number = 0;
    std::map<int, Request> requests;                 ///< by rank
    std::map<int, std::shared_ptr<Clique>> children; ///< by color
  };
  std::vector<Split> splits;
};

struct Comm {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
  ncclResult_t state = ncclSuccess;  ///< what ncclCommGetAsyncError says
  ncclResult_t broken = ncclSuccess; ///< what it says for good, if it failed
  /// What is in progress: ncclInProgress until it has ended.
  std::function<ncclResult_t()> pending;
  std::string awaited;   ///< in words
  uint32_t patience = 0; ///< questions until `pending` is asked
  bool isFinalized = false;

  uint64_t collectives = 0, splits = 0;
  std::map<int, uint64_t> sent, received; ///< by peer
  /// Calls that were recorded: collectives, and messages by kind and peer.
  std::map<std::pair<Task::Kind, int>, uint64_t> recorded;
  /// What these read and write, which NCCL may register until it has ended.
  std::set<uint64_t> registered;

  std::string name() const;
  /// Begins what takes a while.
  void begin(std::string what, std::function<ncclResult_t()> end);
};

/// What tasks of several ranks do together.
struct CommOp final : Rendezvous {
  std::vector<Task> tasks; ///< by member
  std::vector<bool> come;
  bool isWrong = false;
  uint64_t errors = 0;

  /// Takes a member's task; a fault if it asks for something else than others.
  void add(size_t member, const Task &task,
           const std::function<std::string(size_t)> &nameOf);
  bool move(const std::vector<Access *> &memory) const;
};

std::string describe(const Task &task);

/// Those that are there. A fault, and null, for others.
Comm *find(ncclComm_t handle);
/// One that may have registered an address of these; null if there is none.
const Comm *findRegistered(uint64_t begin, uint64_t end);
/// What ncclMemAlloc has given: sizes by address.
extern std::map<uint64_t, uint64_t> blocks;
ncclComm_t create(std::shared_ptr<Clique> clique, int rank, int device);
void destroy(Comm *comm);
std::shared_ptr<Clique> makeClique(size_t size);
/// Forgets what is of another machine.
void follow(uint64_t machine);

/// Whether a call may use it: ncclInvalidArgument while it is in progress, and
/// what it failed with.
ncclResult_t checkReady(const Comm *comm);

/// Of a task: which one it is, and its members; counts it.
struct Encounter {
  Clique::Key key;
  std::vector<int> ranks;
  uint32_t member = 0;
};
Encounter encounter(Comm &comm, const Task &task);

/// What was given between ncclGroupStart and ncclGroupEnd, by thread.
struct Group {
  struct Launch {
    ncclComm_t comm;
    void *stream;
    std::vector<Task> tasks;
    int late = 0; ///< injected
  };
  uint32_t depth = 0;
  ncclResult_t failure = ncclSuccess;
  std::vector<Launch> launches;
  std::vector<std::function<ncclResult_t()>> others; ///< of communicators
};
extern thread_local Group group;
/// Does what the group has, if it is the outermost end.
ncclResult_t endGroup();
/// Success, or why the task cannot be asked for.
ncclResult_t check(const Comm &comm, const Task &task);

/// Gives its stream what one communicator has in a group.
void launch(Comm &comm, Group::Launch launch);

uint64_t sizeOf(ncclDataType_t type); ///< 0: no such type
const char *nameOf(ncclDataType_t type);
/// to = the elements of all `from`, reduced; in member order if `errors` is 0,
/// else in another one.
void reduce(ncclDataType_t type, ncclRedOp_t reduction,
            const std::vector<const std::byte *> &from, std::byte *to,
            uint64_t count, uint64_t errors);

// Processes.cpp
/// Whether there is the setting.
bool isAmongProcesses();
/// An id that no other run has; whether one was made so.
uint64_t drawId();
bool isDrawn(uint64_t id);

/// What processes call the communicator of an id, or what a split makes of one;
/// empty without the setting.
std::string placeOf(uint64_t id);
std::string placeOfChild(const Clique &parent, const Clique::Split &split,
                         int color);

// These do nothing where all members are of this process.

/// That the rank is there; that it is not any more.
void leaveMember(const Comm &comm);
void leaveGone(const Comm &comm);
/// Those who are there, and whether one has gone.
void readMembers(Clique &clique);
void leaveRequest(const Comm &comm, const Clique::Split &split);
void readRequests(Clique &clique, Clique::Split &split);

/// What an operation with these tasks takes part in.
Attendance attendElsewhere(Comm &comm, const std::vector<Task> &tasks,
                           uint64_t errors);

} // namespace emulated::nccl

/// Begins a call: counts it, and returns refused(result) where the settings
/// say.
#define PP_BEGIN(refused)                                                      \
  if (!host())                                                                 \
    return ncclUnhandledCudaError;                                             \
  const std::lock_guard guard(*host()->lock);                                  \
  const Begin begin = host()->begin(__func__, true);                           \
  follow(begin.machine);                                                       \
  if (begin.failure != 0)                                                      \
    return refused(ncclResult_t(begin.failure));

#endif // PP_TEST_GPU_NCCL_OBJECTS_H
