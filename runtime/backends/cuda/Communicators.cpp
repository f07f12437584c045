//===- Communicators.cpp - NCCL's, for groups of ranks --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Processes act here in steps: each makes its calls, which return at once; all
// agree that none failed; each waits for the operations it has begun, and
// aborts them if one fails, which ends the waits of others; all agree again.
//
//===----------------------------------------------------------------------===//
#include "Communicators.h"
#include "pprt/World.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace pprt;
using namespace pprt::cuda;

/// Time for ranks to make their communicators. NCCL takes seconds for
/// thousands; if a process fails before it comes, the others stop waiting.
static constexpr std::chrono::seconds kMaking(120);
/// Time for others to come until an interruption ends the wait.
static constexpr std::chrono::seconds kBlocked(2);

struct Communicators::Communicator {
  std::mutex mutex;            ///< guards what follows
  ncclComm_t handle = nullptr; ///< null: aborted, or not made yet
};

Communicators::Communicators(
    std::map<uint32_t, std::shared_ptr<const Gpu>> gpus, Nccl nccl)
    : nccl(std::move(nccl)), gpus(std::move(gpus)) {}

Status Communicators::agree(World &world, const Status &mine) {
  const Status first = world.agree(mine).first;
  if (!first.ok()) {
    fail(first);
    abortAll();
  }
  return first;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

Status Communicators::check(ncclResult_t result, const char *call) const {
  const Status status = nccl.check(result, call);
  size_t free = 0, total = 0;
  const Driver &driver = gpus.begin()->second->driver;
  if (result != ncclUnhandledCudaError ||
      driver.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return status;
  return Status(
      status.code(),
      status.message() + "; " + std::to_string(free) +
          " bytes of the GPU are free, and the driver supports CUDA " +
          printVersion(driver.version) + ", which " + nccl.file +
          " must support, too");
}

static constexpr char kAdvice[] =
    "; NCCL_DEBUG=INFO says more, NCCL_SOCKET_IFNAME names the network";

Status Communicators::isLate(double seconds) const {
  if (!isMade && seconds > double(kMaking.count()))
    return Status(ExitCode::device,
                  "expects all ranks to connect through NCCL within " +
                      std::to_string(kMaking.count()) + " s, but some did not" +
                      kAdvice);
  if (isMade && patience > 0 && seconds > patience)
    return Status(ExitCode::hang, "expects the ranks of a communication "
                                  "operation to connect through NCCL within " +
                                      std::to_string(int64_t(patience)) +
                                      " s (--hang-timeout), but some did not" +
                                      kAdvice);
  if (isMade && seconds > double(kBlocked.count()) && isInterrupted &&
      isInterrupted())
    return Status(ExitCode::interrupted,
                  "interrupted while ranks of a communication operation "
                  "connected through NCCL");
  return {};
}

Status Communicators::settle(Communicator &communicator) {
  using namespace std::chrono_literals;
  const auto begun = std::chrono::steady_clock::now();
  // A launch takes microseconds, other operations may take seconds.
  for (unsigned asked = 0;; ++asked) {
    {
      std::lock_guard guard(communicator.mutex);
      if (hasFailed)
        break;
      if (!communicator.handle)
        return Status(ExitCode::device,
                      "ncclCommSplit returned no communicator");
      ncclResult_t state = ncclSuccess;
      if (Status status =
              check(nccl.ncclCommGetAsyncError(communicator.handle, &state),
                    "ncclCommGetAsyncError");
          !status.ok())
        return status;
      if (state != ncclInProgress)
        return check(state, "ncclCommGetAsyncError");
    }
    if (asked < 16)
      continue;
    if (Status told = listen ? listen() : Status(); !told.ok())
      return told;
    const std::chrono::duration<double> since =
        std::chrono::steady_clock::now() - begun;
    if (Status late = isLate(since.count()); !late.ok())
      return late;
    std::this_thread::sleep_for(std::min(asked * 1us, 1000us));
  }
  std::lock_guard guard(mutex);
  return failure;
}

Status Communicators::settleAll() {
  for (const auto &[key, communicator] : all)
    if (Status status = settle(*communicator); !status.ok()) {
      fail(status);
      abortAll();
      return status;
    }
  return {};
}

Status Communicators::run(Communicator &communicator,
                          const std::function<Status(ncclComm_t)> &calls) {
  Status status;
  ncclResult_t ended = ncclSuccess;
  {
    std::lock_guard guard(communicator.mutex);
    if (!hasFailed) {
      status = check(nccl.ncclGroupStart(), "ncclGroupStart");
      if (!status.ok())
        return status;
      status = calls(communicator.handle);
      ended = nccl.ncclGroupEnd();
      if (!status.ok())
        return status;
      if (ended == ncclSuccess)
        return {};
    }
  }
  if (ended != ncclSuccess && ended != ncclInProgress)
    return check(ended, "ncclGroupEnd");
  return settle(communicator);
}

Status Communicators::poll() {
  if (!hasFailed)
    for (const auto &[key, communicator] : all) {
      std::lock_guard guard(communicator->mutex);
      ncclResult_t state = ncclSuccess;
      if (!communicator->handle)
        continue;
      const ncclResult_t asked =
          nccl.ncclCommGetAsyncError(communicator->handle, &state);
      if (asked == ncclSuccess && state == ncclInProgress)
        continue; // its own thread waits for it
      if (Status status = check(asked == ncclSuccess ? state : asked,
                                "ncclCommGetAsyncError");
          !status.ok())
        return status;
    }
  std::lock_guard guard(mutex);
  return failure;
}

void Communicators::fail(const Status &status) {
  std::lock_guard guard(mutex);
  if (failure.ok())
    failure = status;
  hasFailed = true;
}

/// Aborts in one group: one by one, the first waits for the device, which may
/// be executing a call of the next. Failures here are ignored: the earlier
/// failure is the cause.
void Communicators::abort(uint32_t rank) {
  if (!gpus.at(rank)->makeCurrent().ok())
    return;
  (void)nccl.ncclGroupStart();
  for (const auto &[key, communicator] : all) {
    if (key.first != rank)
      continue;
    std::lock_guard guard(communicator->mutex);
    if (communicator->handle)
      (void)nccl.ncclCommAbort(communicator->handle);
    communicator->handle = nullptr;
  }
  (void)nccl.ncclGroupEnd();
}

void Communicators::abortAll() {
  for (const auto &[rank, gpu] : gpus)
    abort(rank);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// NCCL's own maximum of blocks, which occupy a multiprocessor each.
static constexpr int kMostBlocks = 32;

ncclConfig_t Communicators::makeConfig() const {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.maxCTAs = mostBlocks;
  return config;
}

Status
Communicators::makeTogether(const std::function<Status(uint32_t rank)> &calls) {
  Status status = check(nccl.ncclGroupStart(), "ncclGroupStart");
  if (!status.ok())
    return status;
  for (const auto &[rank, gpu] : gpus) {
    if (status = gpu->makeCurrent(); status.ok())
      status = calls(rank);
    if (!status.ok())
      break;
  }
  const ncclResult_t ended = nccl.ncclGroupEnd();
  return status.ok() && ended != ncclInProgress ? check(ended, "ncclGroupEnd")
                                                : status;
}

Expected<std::unique_ptr<Communicators>>
Communicators::create(World &world, uint32_t worldSize,
                      std::map<uint32_t, std::shared_ptr<const Gpu>> gpus,
                      Nccl nccl) {
  std::unique_ptr<Communicators> made(
      new Communicators(std::move(gpus), std::move(nccl)));
  ncclUniqueId id = {};
  const Expected<int> processors =
      made->gpus.begin()->second->multiprocessors();
  Status status = processors.status();
  if (status.ok())
    made->mostBlocks =
        std::clamp(*processors / int(kCallsAtOnce), 1, kMostBlocks);
  if (status.ok() && world.process() == 0)
    status = made->check(made->nccl.ncclGetUniqueId(&id), "ncclGetUniqueId");
  if (status = made->agree(world, status); !status.ok())
    return status;
  std::vector<std::byte> bytes(sizeof(id));
  std::memcpy(bytes.data(), &id, sizeof(id));
  if (status = world.broadcast(bytes); !status.ok())
    return status;
  std::memcpy(&id, bytes.data(), sizeof(id));

  ncclConfig_t config = made->makeConfig();
  for (const auto &[rank, gpu] : made->gpus)
    made->all[{rank, {}}] = std::make_unique<Communicator>();
  status = made->makeTogether([&](uint32_t rank) {
    return made->check(made->nccl.ncclCommInitRankConfig(
                           &made->all[{rank, {}}]->handle, int(worldSize), id,
                           int(rank), &config),
                       "ncclCommInitRankConfig");
  });
  if (status = made->agree(world, status); !status.ok())
    return status;
  if (status = made->agree(world, made->settleAll()); !status.ok())
    return status;
  return made;
}

static std::vector<std::byte> encode(const std::vector<MemberList> &lists) {
  std::vector<uint32_t> words;
  for (const MemberList &list : lists) {
    words.push_back(uint32_t(list.size()));
    words.insert(words.end(), list.begin(), list.end());
  }
  std::vector<std::byte> bytes(words.size() * sizeof(uint32_t));
  if (!words.empty())
    std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

static std::vector<MemberList> decode(const std::vector<std::byte> &bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  if (!words.empty())
    std::memcpy(words.data(), bytes.data(), bytes.size());
  std::vector<MemberList> lists;
  for (size_t i = 0; i < words.size(); i += 1 + words[i])
    lists.emplace_back(words.begin() + long(i) + 1,
                       words.begin() + long(i) + 1 + words[i]);
  return lists;
}

/// Groups lists without a common member, so that one split makes each group.
static std::vector<std::vector<MemberList>>
makeLayers(const std::vector<MemberList> &lists) {
  std::vector<std::vector<MemberList>> layers;
  const auto meets = [](const MemberList &a, const MemberList &b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) !=
           a.end();
  };
  for (const MemberList &list : lists) {
    const auto found =
        std::find_if(layers.begin(), layers.end(), [&](const auto &layer) {
          return std::none_of(
              layer.begin(), layer.end(),
              [&](const MemberList &other) { return meets(list, other); });
        });
    if (found == layers.end())
      layers.push_back({list});
    else
      found->push_back(list);
  }
  return layers;
}

Status Communicators::split(World &world,
                            const std::vector<MemberList> &lists) {
  ncclConfig_t config = makeConfig();
  std::map<uint32_t, ncclComm_t> none; // of ranks that are in no list
  Status status = makeTogether([&](uint32_t rank) {
    int color = NCCL_SPLIT_NOCOLOR, key = 0;
    ncclComm_t *place = &none[rank];
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto member = std::find(lists[i].begin(), lists[i].end(), rank);
      if (member == lists[i].end())
        continue;
      color = int(i);
      key = int(member - lists[i].begin());
      auto &its = all[{rank, lists[i]}];
      its = std::make_unique<Communicator>();
      place = &its->handle;
    }
    return check(nccl.ncclCommSplit(all.at({rank, {}})->handle, color, key,
                                    place, &config),
                 "ncclCommSplit");
  });
  if (status = agree(world, status); !status.ok())
    return status;
  // The world's communicator first: it says whether the others have come.
  return agree(world, settleAll());
}

Status Communicators::connect(World &world, std::vector<MemberList> lists) {
  Expected<std::vector<std::vector<std::byte>>> gathered =
      world.gather(encode(lists));
  if (!gathered)
    return gathered.status();
  if (world.process() == 0) {
    lists.clear();
    for (const std::vector<std::byte> &bytes : *gathered)
      for (MemberList &list : decode(bytes))
        lists.push_back(std::move(list));
    std::sort(lists.begin(), lists.end());
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
  }
  std::vector<std::byte> bytes = encode(lists);
  if (Status status = world.broadcast(bytes); !status.ok())
    return status;
  for (const std::vector<MemberList> &layer : makeLayers(decode(bytes)))
    if (Status status = split(world, layer); !status.ok())
      return status;
  isMade = true;
  return {};
}

Communicators::Communicator *Communicators::find(uint32_t rank,
                                                 const MemberList &list) {
  const auto found = all.find({rank, list});
  return found == all.end() ? nullptr : found->second.get();
}

Communicators::~Communicators() {
  // Destroys communicators before those they were split from.
  Status status = poll();
  for (auto at = all.rbegin(); status.ok() && at != all.rend(); ++at)
    if (status = gpus.at(at->first.first)->makeCurrent(); status.ok())
      if (const ncclResult_t result = nccl.ncclCommFinalize(at->second->handle);
          result != ncclInProgress)
        status = check(result, "ncclCommFinalize");
  for (auto at = all.rbegin(); status.ok() && at != all.rend(); ++at)
    status = settle(*at->second);
  for (auto at = all.rbegin(); status.ok() && at != all.rend(); ++at) {
    status = check(nccl.ncclCommDestroy(at->second->handle), "ncclCommDestroy");
    if (status.ok())
      at->second->handle = nullptr;
  }
  if (!status.ok()) {
    fail(status);
    abortAll();
  }
}
