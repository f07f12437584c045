//===- Communicators.cpp - how communicators come and go ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A communicator is in progress until all ranks have come, and for some
// questions more, which the seed draws. What comes of a split is there when the
// communicator that was split says so, and no sooner.
//
//===----------------------------------------------------------------------===//
#include "Objects.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

using namespace emulated;
using namespace emulated::nccl;

/// How a test tells it from the library.
extern "C" const int ppEmulatorNccl = 1;

//===----------------------------------------------------------------------===//
// Those that are there
//===----------------------------------------------------------------------===//

static std::map<const void *, std::unique_ptr<Comm>> comms;
static std::map<uint64_t, std::shared_ptr<Clique>> cliques; ///< by their id
std::map<uint64_t, uint64_t> nccl::blocks;
static uint64_t machine = 0, ids = 0;
static uint32_t cliquesMade = 0;
static std::string lastError; ///< where more is known than a code

void nccl::follow(uint64_t other) {
  if (std::exchange(machine, other) == other)
    return;
  comms.clear();
  cliques.clear();
  blocks.clear();
  cliquesMade = 0;
  lastError.clear();
  group = Group();
}

std::string Comm::name() const {
  return "rank " + std::to_string(rank) + " of communicator " +
         std::to_string(clique->number);
}

void Comm::begin(std::string what, std::function<ncclResult_t()> end) {
  state = ncclInProgress;
  awaited = std::move(what);
  pending = std::move(end);
  const uint64_t seed = host()->seed();
  patience = seed == 0 ? 2 : uint32_t(host()->draw(4));
}

const Comm *nccl::findRegistered(uint64_t begin, uint64_t end) {
  for (const auto &[handle, comm] : comms)
    if (const auto first = comm->registered.lower_bound(begin);
        first != comm->registered.end() && *first < end)
      return comm.get();
  return nullptr;
}

Comm *nccl::find(ncclComm_t handle) {
  const auto found = comms.find(handle);
  if (found == comms.end())
    notModelled("a communicator that is not there");
  return found->second.get();
}

std::shared_ptr<Clique> nccl::makeClique(size_t size) {
  auto clique = std::make_shared<Clique>();
  clique->number = cliquesMade++;
  clique->members.resize(size);
  clique->devices.assign(size, -1);
  return clique;
}

ncclComm_t nccl::create(std::shared_ptr<Clique> clique, int rank, int device) {
  auto made = std::make_unique<Comm>();
  Comm *comm = made.get();
  comm->rank = rank;
  comm->device = device;
  clique->members[size_t(rank)] = comm;
  clique->devices[size_t(rank)] = device;
  comm->clique = std::move(clique);
  comms[comm] = std::move(made);
  host()->hold("communicator of NCCL", 1);
  host()->progress();
  return reinterpret_cast<ncclComm_t>(comm);
}

void nccl::destroy(Comm *comm) {
  comm->clique->members[size_t(comm->rank)] = nullptr;
  comm->clique->hasLost = true;
  leaveGone(*comm);
  comms.erase(comm);
  host()->hold("communicator of NCCL", -1);
  host()->progress();
}

ncclResult_t nccl::checkReady(const Comm *comm) {
  if (!comm || comm->isFinalized || comm->state == ncclInProgress)
    return ncclInvalidArgument;
  return comm->broken != ncclSuccess ? comm->broken : comm->state;
}

/// While others are to come: that nobody has gone.
static ncclResult_t whenComplete(const Clique &clique) {
  return clique.hasLost ? ncclRemoteError : ncclInProgress;
}

/// That no two ranks have the same device, once all are there.
static ncclResult_t whenJoined(Clique &clique) {
  readMembers(clique);
  const auto &devices = clique.devices;
  if (std::count(devices.begin(), devices.end(), -1) > 0)
    return whenComplete(clique);
  return std::set<int>(devices.begin(), devices.end()).size() == devices.size()
             ? ncclSuccess
             : ncclInvalidUsage;
}

/// Of its fields the engine sets two.
static ncclResult_t check(const ncclConfig_t *config) {
  ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
  if (config->blocking != 0)
    notModelled("a communicator that blocks");
  known.blocking = 0;
  known.maxCTAs = config->maxCTAs;
  if (std::memcmp(config, &known, sizeof(known)) != 0)
    notModelled("a field of ncclConfig_t beside blocking and maxCTAs");
  return config->maxCTAs <= 0 && config->maxCTAs != NCCL_CONFIG_UNDEF_INT
             ? ncclInvalidArgument
             : ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  PP_BEGIN(ncclResult_t)
  *id = {};
  const uint64_t number = isAmongProcesses() ? drawId() : ++ids;
  std::copy_n(reinterpret_cast<const char *>(&number), sizeof(number),
              id->internal);
  return ncclSuccess;
}

/// In a group, what makes communicators is done at its end.
static ncclResult_t doNowOrAtEnd(std::function<ncclResult_t()> action) {
  if (group.depth == 0)
    return action();
  group.others.push_back(std::move(action));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  PP_BEGIN(ncclResult_t)
  if (const ncclResult_t refused = check(config))
    return refused;
  uint64_t number = 0;
  std::copy_n(id.internal, sizeof(number), reinterpret_cast<char *>(&number));
  // Ids of both kinds tell who made them: this process, or one among several.
  if (isAmongProcesses() ? !isDrawn(number) : number > ids) {
    lastError =
        "this id is of another process; the settings of emulated libraries "
        "(PP_EMULATED) expect a line 'processes FOLDER' in each process";
    return ncclInvalidArgument;
  }
  const std::string place = placeOf(number);
  *made = nullptr;
  return doNowOrAtEnd([=, device = begin.device]() {
    std::shared_ptr<Clique> &clique = cliques[number];
    if (!clique)
      clique = makeClique(size_t(ranks));
    clique->place = place;
    if (clique->members.size() != size_t(ranks) ||
        clique->devices[size_t(rank)] >= 0) {
      fault("rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
            " comes to a communicator of " +
            std::to_string(clique->members.size()) + ", or comes twice");
      return ncclInvalidUsage;
    }
    *made = create(clique, rank, device);
    leaveMember(*find(*made));
    find(*made)->begin("all ranks of communicator " +
                           std::to_string(clique->number),
                       [its = clique] { return whenJoined(*its); });
    return ncclInProgress;
  });
}

/// The part of a split that all ranks of a color make.
static std::shared_ptr<Clique>
childOf(const Clique &parent, Clique::Split &split, int rank, int &itsRank) {
  const int color = split.requests[rank].color;
  std::vector<std::pair<int, int>> order; // by key, then by rank
  for (const auto &[other, request] : split.requests)
    if (request.color == color)
      order.push_back({request.key, other});
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i].second == rank)
      itsRank = int(i);
  std::shared_ptr<Clique> &child = split.children[color];
  if (!child) {
    child = makeClique(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      child->devices[i] = parent.devices[size_t(order[i].second)];
    child->place = placeOfChild(parent, split, color);
  }
  return child;
}

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key,
                           ncclComm_t *place, ncclConfig_t *config) {
  PP_BEGIN(ncclResult_t)
  Comm *comm = find(handle);
  if (const ncclResult_t refused = checkReady(comm))
    return refused;
  if (config)
    if (const ncclResult_t refused = check(config))
      return refused;
  *place = nullptr;
  return doNowOrAtEnd([=] {
    const uint64_t number = comm->splits++;
    Clique &clique = *comm->clique;
    if (clique.splits.size() <= number)
      clique.splits.resize(number + 1);
    clique.splits[number].number = number;
    clique.splits[number].requests[comm->rank] = {color, key};
    leaveRequest(*comm, clique.splits[number]);
    host()->progress();
    comm->begin("all ranks to split communicator " +
                    std::to_string(clique.number),
                [=]() {
                  Clique &its = *comm->clique;
                  Clique::Split &split = its.splits[number];
                  readRequests(its, split);
                  if (split.requests.size() < its.members.size())
                    return whenComplete(its);
                  if (color == NCCL_SPLIT_NOCOLOR)
                    return ncclSuccess;
                  int rank = 0;
                  const auto child = childOf(its, split, comm->rank, rank);
                  *place = create(child, rank, comm->device);
                  find(*place)->begin("all ranks of communicator " +
                                          std::to_string(child->number),
                                      [child] { return whenJoined(*child); });
                  return ncclSuccess;
                });
    return ncclInProgress;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *result) {
  PP_BEGIN(ncclResult_t)
  Comm *comm = find(handle);
  if (comm->state == ncclInProgress && comm->patience > 0) {
    --comm->patience;
  } else if (comm->state == ncclInProgress) {
    const auto pending = comm->pending;
    comm->state = pending();
    if (comm->state == ncclInProgress && !host()->await(comm->awaited.c_str()))
      comm->state = ncclSystemError;
  } else {
    host()->isBusy(comm); // a device works while nobody asks
  }
  *result = comm->broken != ncclSuccess ? comm->broken : comm->state;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  PP_BEGIN(ncclResult_t)
  Comm *comm = find(handle);
  if (const ncclResult_t refused = checkReady(comm))
    return refused;
  comm->isFinalized = true;
  comm->begin("the operations by " + comm->name(), [comm] {
    return host()->isBusy(comm) ? ncclInProgress : ncclSuccess;
  });
  return ncclInProgress;
}

/// NCCL counts the graphs that hold calls of it, and waits for them.
static void checkRecorded(const char *call, const Comm &comm) {
  if (host()->isCaptured(&comm))
    fault(std::string(call) + " of " + comm.name() +
          " waits for ever: a graph holds calls of it");
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  PP_BEGIN(ncclResult_t)
  Comm *comm = find(handle);
  if (!comm->isFinalized || comm->state != ncclSuccess)
    notModelled("ncclCommDestroy of a communicator that is not finalized");
  checkRecorded("ncclCommDestroy", *comm);
  destroy(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  PP_BEGIN(ncclResult_t)
  Comm *comm = find(handle);
  host()->abort(comm);
  const auto end = [comm] {
    const std::string what = host()->besides(comm->device);
    if (!what.empty())
      fault("ncclCommAbort of " + comm->name() +
            " waits for the device, on which " + what +
            " is at work: abort them in one group");
    checkRecorded("ncclCommAbort", *comm);
    destroy(comm);
    return ncclSuccess;
  };
  if (group.depth == 0)
    return end();
  group.others.push_back(end);
  return ncclSuccess;
}
