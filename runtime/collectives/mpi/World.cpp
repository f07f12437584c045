//===- World.cpp - the processes that mpirun started ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "World.h"
#include "Letter.h"
#include "Transport.h"
#include "pprt/Launcher.h"
#include "pprt/Processor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace pprt;
using namespace pprt::mpi;

/// Tags in the control communicator.
static constexpr int kGatherTag = 1, kNoticeTag = 2,
                     kBeatTag = 3; // Clocks.cpp: 4
/// Names of requests.
static constexpr uint64_t kNotice = 0, kBeat = 1;
/// Content of beats, which only show that this process is there.
static const char kThere = 0;
static constexpr std::chrono::milliseconds kBetweenBeats(500);
/// Time for process 0 to end all processes, before process 1 does, and so on.
static constexpr std::chrono::milliseconds kPatience(1500);
/// Time after a failure to wait for other processes.
static constexpr std::chrono::milliseconds kComing(4000);
/// The same if a user wants the end.
static constexpr std::chrono::milliseconds kComingSoon(500);
/// Time to wait for other processes after a user has asked for the end.
static constexpr std::chrono::milliseconds kBlocked(1500);
/// Minimum time for processes to start: not all are started at once.
static constexpr std::chrono::milliseconds kStarting(6000);
/// Time for the engine's thread.
static constexpr std::chrono::seconds kLast(8);

/// Deadline for all other processes to come, from when this one does. After it,
/// process 0 ends all, or else process 1, and so on.
static std::chrono::steady_clock::time_point startsUntil(const Limits &limits) {
  if (limits.silenceSeconds == 0)
    return std::chrono::steady_clock::time_point::max();
  // MPI itself does not say it before it has started.
  const std::optional<Launched> its = findLauncher();
  return std::chrono::steady_clock::now() +
         std::max<std::chrono::milliseconds>(
             kStarting, std::chrono::seconds(limits.silenceSeconds)) +
         int(std::min(its ? its->rank : 0, 2u)) * kPatience;
}

Expected<std::unique_ptr<World>> MpiWorld::create(const Limits &limits) {
  const auto end = startsUntil(limits);
  Expected<std::unique_ptr<Engine>> engine = Engine::start(end);
  if (!engine)
    return engine.status();
  std::unique_ptr<MpiWorld> world(new MpiWorld(std::move(*engine), limits));
  Status status;
  world->engine->callAtStart([&] { status = world->open(); }, end);
  if (!status.ok())
    return status;
  return std::unique_ptr<World>(std::move(world));
}

Status MpiWorld::open() {
  if (Status status =
          check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
      !status.ok())
    return status;
  if (Status status =
          check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
      !status.ok())
    return status;
  if (Status status = communicators.duplicate(MPI_COMM_WORLD, control);
      !status.ok())
    return status;
  if (Status status = shareCores(); !status.ok())
    return status;
  engine->add(*this);
  isOpen = true;
  heardAt = saidAt = servedAt = std::chrono::steady_clock::now();
  awaitNotice();
  if (size > 1)
    awaitBeat();
  return failures->first();
}

/// The cores that a process may use.
namespace {
struct Seat {
  char machine[64];
  cpu_set_t cores;
};
} // namespace

/// Counts the processes of this machine that may use a core of this one's.
Status MpiWorld::shareCores() {
  struct Seats {
    Seat mine = {};
    std::vector<Seat> all;
  };
  const auto seats = std::make_shared<Seats>();
  Seat &mine = seats->mine;
  const std::string machine = machineId();
  machine.copy(mine.machine, sizeof(mine.machine) - 1);
  // Nothing is known if there are more cores than the set has places.
  if (sched_getaffinity(0, sizeof(mine.cores), &mine.cores) != 0)
    std::memset(&mine.cores, 0xff, sizeof(mine.cores));
  seats->all.resize(size_t(size));
  if (Status status =
          engine->wait("MPI_Iallgather", seats,
                       [&](MPI_Request *request) {
                         return MPI_Iallgather(&mine, sizeof(mine), MPI_BYTE,
                                               seats->all.data(), sizeof(mine),
                                               MPI_BYTE, control, request);
                       });
      !status.ok())
    return status;
  const auto sharers =
      std::count_if(seats->all.begin(), seats->all.end(), [&](const Seat &s) {
        cpu_set_t both;
        CPU_AND(&both, &mine.cores, &s.cores);
        return std::strcmp(mine.machine, s.machine) == 0 &&
               CPU_COUNT(&both) > 0;
      });
  cores = pprt::coreCount() / unsigned(std::max<long>(sharers, 1));
  return {};
}

MpiWorld::~MpiWorld() {
  engine->call([&] {
    if (!isOpen) // others may still wait for this process to come
      return engine->neverFinish();
    // Then all have come, and only MPI waits.
    if (!sayGoodbye())
      engine->neverFinish();
    else if (limits.silenceSeconds > 0)
      engine->finishWithin(std::chrono::seconds(limits.silenceSeconds) +
                           std::min(rank, 2) * kPatience);
    engine->remove(*this, mail);
  });
}

/// MPI's own end waits for others without progress, so that comes afterwards.
bool MpiWorld::sayGoodbye() {
  if (!outOfStep.ok())
    end(outOfStep);
  // Whether there was a failure here, and in any process.
  const auto failed = std::make_shared<std::array<int, 2>>();
  (*failed)[0] = failures->hasAny();
  isWaiting = true;
  waitsAt = std::chrono::steady_clock::now();
  Status status =
      engine->wait("MPI_Iallreduce", failed, [&](MPI_Request *request) {
        return MPI_Iallreduce(&(*failed)[0], &(*failed)[1], 1, MPI_INT, MPI_MAX,
                              control, request);
      });
  const bool isWell = status.ok() && (*failed)[1] == 0;
  if (isWell)
    status = communicators.freeDone(control);
  isWaiting = false;
  if (!status.ok() && (*failed)[0] == 0) // no other process will report it
    printError(status.message());
  return isWell && status.ok();
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

/// Others may send more than there is memory for: on the engine's thread no
/// other code would catch the standard library's exception.
static Status guarded(const std::function<Status()> &work) {
  try {
    return work();
  } catch (const std::exception &) {
    return Status(ExitCode::outOfMemory,
                  "out of memory for data that the processes share");
  }
}

Status MpiWorld::together(const std::function<Status()> &work) {
  Status status;
  engine->call([&] {
    status = outOfStep;
    if (!status.ok())
      return;
    isWaiting = true;
    waitsAt = std::chrono::steady_clock::now();
    status = outOfStep = guarded(work);
    isWaiting = false;
  });
  if (!status.ok())
    fail(status);
  return status;
}

Status MpiWorld::broadcastFrom(int root, std::vector<std::byte> &bytes) {
  const auto count = std::make_shared<uint64_t>(bytes.size());
  const auto shared =
      std::make_shared<std::vector<std::byte>>(std::move(bytes));
  const auto send = [&](Kept memory, void *data, int size) {
    return engine->wait(
        "MPI_Ibcast", std::move(memory), [&](MPI_Request *request) {
          return MPI_Ibcast(data, size, MPI_BYTE, root, control, request);
        });
  };
  if (Status status = send(count, count.get(), sizeof(*count)); !status.ok())
    return status;
  // Fills new memory piece by piece: beats go between.
  shared->reserve(*count);
  for (uint64_t begin = 0; begin < *count; begin += limits.messageBytes) {
    const uint64_t size = std::min(limits.messageBytes, *count - begin);
    shared->resize(std::max<uint64_t>(shared->size(), begin + size));
    if (Status status = send(shared, shared->data() + begin, int(size));
        !status.ok())
      return status;
  }
  shared->resize(*count); // elsewhere it may have been longer
  bytes = std::move(*shared);
  return {};
}

Status MpiWorld::broadcast(std::vector<std::byte> &bytes) {
  return together([&] { return broadcastFrom(0, bytes); });
}

Status MpiWorld::gatherHere(std::vector<std::byte> own,
                            std::vector<std::vector<std::byte>> &all) {
  const auto mine = std::make_shared<std::vector<std::byte>>(std::move(own));
  // Element 0 is this process's, the others are all processes'.
  const auto counts =
      std::make_shared<std::vector<uint64_t>>(size_t(size) + 1, mine->size());
  if (Status status = engine->wait(
          "MPI_Igather", counts,
          [&](MPI_Request *request) {
            return MPI_Igather(counts->data(), sizeof(uint64_t), MPI_BYTE,
                               counts->data() + 1, sizeof(uint64_t), MPI_BYTE,
                               0, control, request);
          });
      !status.ok())
    return status;
  // Splits the exchange into as many messages as necessary.
  const auto exchange =
      [&](const char *call,
          const std::shared_ptr<std::vector<std::byte>> &bytes, uint64_t all,
          auto start) -> Status {
    bytes->reserve(all);
    for (uint64_t begin = 0; begin < all; begin += limits.messageBytes) {
      const uint64_t count = std::min(limits.messageBytes, all - begin);
      bytes->resize(std::max<uint64_t>(bytes->size(), begin + count));
      if (Status status = engine->wait(call, bytes,
                                       [&](MPI_Request *request) {
                                         return start(bytes->data() + begin,
                                                      int(count), request);
                                       });
          !status.ok())
        return status;
    }
    return {};
  };
  if (rank != 0)
    return exchange("MPI_Issend", mine, mine->size(),
                    [&](std::byte *data, int count, MPI_Request *request) {
                      return MPI_Issend(data, count, MPI_BYTE, 0, kGatherTag,
                                        control, request);
                    });
  all.resize(size_t(size));
  all[0] = std::move(*mine);
  for (int source = 1; source < size; ++source) {
    const auto received = std::make_shared<std::vector<std::byte>>();
    if (Status status =
            exchange("MPI_Irecv", received, (*counts)[size_t(source) + 1],
                     [&](std::byte *data, int count, MPI_Request *request) {
                       return MPI_Irecv(data, count, MPI_BYTE, source,
                                        kGatherTag, control, request);
                     });
        !status.ok())
      return status;
    all[size_t(source)] = std::move(*received);
  }
  return {};
}

Expected<std::vector<std::vector<std::byte>>>
MpiWorld::gather(std::vector<std::byte> mine) {
  std::vector<std::vector<std::byte>> all;
  if (Status status =
          together([&] { return gatherHere(std::move(mine), all); });
      !status.ok())
    return status;
  return all;
}

Status MpiWorld::agreeHere(const Status &mine, uint32_t votes,
                           Verdict &verdict) {
  struct Vote {
    int code;
    uint32_t votes;
  };
  // Element 0 is this process's, the others are all processes'.
  const auto all = std::make_shared<std::vector<Vote>>(
      size_t(size) + 1, Vote{int(mine.code()), votes});
  if (Status status = engine->wait("MPI_Iallgather", all,
                                   [&](MPI_Request *request) {
                                     return MPI_Iallgather(
                                         all->data(), sizeof(Vote), MPI_BYTE,
                                         all->data() + 1, sizeof(Vote),
                                         MPI_BYTE, control, request);
                                   });
      !status.ok())
    return status;
  for (const Vote &vote : *all)
    verdict.votes |= vote.votes;
  for (int process = 0; process < size; ++process) {
    if ((*all)[size_t(process) + 1].code == int(ExitCode::ok))
      continue;
    std::vector<std::byte> letter = packLetter(mine, SIZE_MAX);
    if (Status status = broadcastFrom(process, letter); !status.ok())
      return status;
    verdict.first = unpackLetter(letter);
    failures->settle();
    break;
  }
  return {};
}

Verdict MpiWorld::agree(const Status &given, uint32_t votes) {
  Verdict verdict = {};
  // Includes failures that no call has returned yet.
  const Status mine = given.ok() ? failures->first() : given;
  if (Status status = together([&] { return agreeHere(mine, votes, verdict); });
      !status.ok())
    verdict.first = mine.ok() ? status : mine;
  return verdict;
}

std::vector<uint32_t> MpiWorld::homes(uint32_t worldSize) const {
  std::vector<uint32_t> homes;
  for (uint32_t index = 0; index < worldSize; ++index)
    homes.push_back(processOf(index, worldSize));
  return homes;
}

Expected<std::unique_ptr<PolledTransport>>
MpiWorld::transport(uint32_t worldSize) {
  if (worldSize < uint32_t(size))
    return Status(ExitCode::usage,
                  "expects at most as many processes as ranks, " +
                      std::to_string(worldSize) + ", got " +
                      std::to_string(size) + " of mpirun -n");
  std::shared_ptr<Communicator> own;
  if (Status status =
          together([&] { return communicators.make(control, own); });
      !status.ok())
    return status;
  auto made = std::make_unique<MpiTransport>(
      engine, failures, std::move(own), homes(worldSize), process(), limits);
  engine->call([&] { inquiry = made->inquires(); });
  return std::unique_ptr<PolledTransport>(std::move(made));
}

//===----------------------------------------------------------------------===//
// End of all processes
//===----------------------------------------------------------------------===//

[[noreturn]] static void endAll(const Status &status) {
  printError(status.message());
  MPI_Abort(MPI_COMM_WORLD, int(status.code()));
  _exit(int(status.code()));
}

/// Process 0 receives failures: the first one it receives is the cause.
void MpiWorld::awaitNotice() {
  // Elsewhere it keeps MPI progressing while the process waits for nothing.
  std::vector<std::byte> &notice = mail->notice;
  notice.resize(rank == 0 ? kLetterBytes : sizeof(int));
  engine->listen("MPI_Irecv", *this, kNotice, [&](MPI_Request *request) {
    return MPI_Irecv(notice.data(), int(notice.size()), MPI_BYTE,
                     MPI_ANY_SOURCE, kNoticeTag, control, request);
  });
}

void MpiWorld::awaitBeat() {
  engine->listen("MPI_Irecv", *this, kBeat, [&](MPI_Request *request) {
    return MPI_Irecv(&mail->heard, 1, MPI_BYTE, (rank + size - 1) % size,
                     kBeatTag, control, request);
  });
}

void MpiWorld::beat() {
  saidAt = std::chrono::steady_clock::now();
  // So small that it ends at once, without a matching receive.
  if (Status status = engine->leave("MPI_Isend", nullptr,
                                    [&](MPI_Request *request) {
                                      return MPI_Isend(&kThere, 1, MPI_BYTE,
                                                       (rank + 1) % size,
                                                       kBeatTag, control,
                                                       request);
                                    });
      !status.ok())
    fail(status);
}

bool MpiWorld::isSilent() const {
  return size > 1 && limits.silenceSeconds > 0 &&
         std::chrono::steady_clock::now() - heardAt >
             std::chrono::seconds(limits.silenceSeconds);
}

void MpiWorld::completed(uint64_t name) {
  if (name == kBeat) {
    heardAt = std::chrono::steady_clock::now();
    return awaitBeat(); // another follows
  }
  // While this process was stopped, the sender has waited in vain, and reports
  // it itself. serve() may not have noticed the stop yet.
  const auto now = std::chrono::steady_clock::now();
  if (now < wokeAt + kPatience || now > servedAt + kBetweenBeats)
    return awaitNotice(); // another may follow
  endAll(unpackLetter(mail->notice));
}

bool MpiWorld::isLate() {
  if (!isWaiting || !failures->isOpen())
    return false;
  const auto patience =
      failures->first().code() == ExitCode::interrupted ? kComingSoon : kComing;
  return std::chrono::steady_clock::now() >
         std::max(waitsAt, failures->since()) + patience;
}

void MpiWorld::watch(std::function<bool()> asked) {
  std::lock_guard<std::mutex> lock(mutex);
  isInterrupted = std::move(asked);
}

bool MpiWorld::isBlocked() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isWaiting || !isInterrupted || !isInterrupted()) {
    calmAt = servedAt;
    return false;
  }
  return servedAt > calmAt + kBlocked;
}

void MpiWorld::breathe() {
  if (size > 1 && std::chrono::steady_clock::now() > saidAt + kBetweenBeats)
    beat();
}

bool MpiWorld::serve() {
  // Time during which this process itself was stopped, or at long work, does
  // not count as silence.
  const auto now = std::chrono::steady_clock::now();
  if (now > servedAt + kBetweenBeats) {
    heardAt = std::min(now, heardAt + (now - servedAt));
    wokeAt = now;
  }
  servedAt = now;
  breathe();
  if (isBlocked()) {
    calmAt = servedAt; // processes that still wait will repeat it
    // Waits for processes at work in a session.
    if (const std::shared_ptr<Inquiry> asks = inquiry.lock())
      asks->suspect({ExitCode::interrupted, 0,
                     std::chrono::duration<double>(kBlocked).count()});
    else
      fail(Status(ExitCode::interrupted,
                  "interrupted while waiting for another process"));
  }
  if (aborts.load(std::memory_order_acquire)) {
    std::unique_lock<std::mutex> lock(mutex);
    const Status wanted = lastWord;
    lock.unlock();
    end(wanted);
  }
  if (isLate())
    end(failures->first());
  if (!isSilent())
    return false;
  fail(Status(ExitCode::hang,
              "no answer from process " +
                  std::to_string((rank + size - 1) % size) + " within " +
                  std::to_string(limits.silenceSeconds) +
                  " s: it has stopped, or its host cannot be reached"));
  end(failures->first());
}

void MpiWorld::end(const Status &status) {
  if (rank != 0)
    leaveToFirst(status);
  // Processes that waited in vain while this one was stopped may report it.
  if (std::chrono::steady_clock::now() < wokeAt + kPatience)
    std::this_thread::sleep_for(kPatience);
  endAll(status);
}

/// Leaves the end to process 0 while it answers.
void MpiWorld::leaveToFirst(const Status &status) {
  const std::vector<std::byte> letter = packLetter(status);
  MPI_Request request = MPI_REQUEST_NULL;
  int isHopeful = MPI_Isend(letter.data(), int(letter.size()), MPI_BYTE, 0,
                            kNoticeTag, control, &request) == MPI_SUCCESS;
  const std::shared_ptr<Inquiry> asked = inquiry.lock();
  const int turns = std::min(rank, 2) - (asked && asked->isFirstSilent());
  const auto end = std::chrono::steady_clock::now() + turns * kPatience;
  while (isHopeful && std::chrono::steady_clock::now() < end) {
    int isSent = 0;
    isHopeful = MPI_Test(&request, &isSent, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    usleep(500);
  }
  endAll(status);
}

void MpiWorld::abort(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    lastWord = status; // takes precedence over earlier failures
  }
  aborts.store(true, std::memory_order_release);
  engine->wake();
  // A signal that the program handles does not end it: the launcher sends one.
  std::this_thread::sleep_for(kLast);
  // The engine's thread is stuck in MPI.
  printError(status.message());
  _exit(int(status.code()));
}
