//===- World.cpp - the processes that mpirun started ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "World.h"
#include "Transport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace pprt;
using namespace pprt::mpi;

/// Messages of the control communicator.
static constexpr int kGatherTag = 1, kNoticeTag = 2, kBeatTag = 3;
/// The names of requests.
static constexpr uint64_t kNotice = 0, kBeat = 1, kSaid = 2;
static constexpr std::chrono::milliseconds kBetweenBeats(500);
/// A failure's text, to process 0; what is longer is cut.
static constexpr size_t kNoticeBytes = size_t(1) << 16;
/// How long process 0 has to end all processes, before process 1 does, and so
/// on.
static constexpr std::chrono::milliseconds kPatience(1500);
/// How long after a failure others are waited for.
static constexpr std::chrono::milliseconds kComing(4000);
/// The same where a user wants the end.
static constexpr std::chrono::milliseconds kComingSoon(500);
/// How long others are waited for after a user has asked for the end.
static constexpr std::chrono::milliseconds kBlocked(1500);
/// How long the engine's thread has.
static constexpr unsigned kLastSeconds = 8;

Expected<std::unique_ptr<World>> MpiWorld::create(const Limits &limits) {
  Expected<std::unique_ptr<Engine>> engine = Engine::start();
  if (!engine)
    return engine.status();
  std::unique_ptr<MpiWorld> world(new MpiWorld(std::move(*engine), limits));
  Status status;
  world->engine->call([&] { status = world->open(); });
  if (!status.ok())
    return status;
  return std::unique_ptr<World>(std::move(world));
}

Status MpiWorld::open() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request request;
  if (Status status = check(MPI_Comm_idup(MPI_COMM_WORLD, &control, &request),
                            "MPI_Comm_idup");
      !status.ok())
    return status;
  if (Status status = engine->wait(request); !status.ok())
    return status;
  MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN);
  if (Status status = shareCores(); !status.ok())
    return status;
  engine->add(*this);
  listen();
  heardAt = saidAt = servedAt = std::chrono::steady_clock::now();
  if (size > 1)
    listenForBeats();
  return {};
}

/// Where a process may run.
namespace {
struct Seat {
  char host[64];
  cpu_set_t cores;
};
} // namespace

/// Counts the processes of this host that may use a core of this one's.
Status MpiWorld::shareCores() {
  Seat mine = {};
  gethostname(mine.host, sizeof(mine.host) - 1);
  sched_getaffinity(0, sizeof(mine.cores), &mine.cores);
  std::vector<Seat> seats(static_cast<size_t>(size));
  MPI_Request request;
  MPI_Iallgather(&mine, sizeof(mine), MPI_BYTE, seats.data(), sizeof(mine),
                 MPI_BYTE, control, &request);
  if (Status status = engine->wait(request); !status.ok())
    return status;
  const auto sharers =
      std::count_if(seats.begin(), seats.end(), [&](const Seat &other) {
        cpu_set_t both;
        CPU_AND(&both, &mine.cores, &other.cores);
        return std::strcmp(mine.host, other.host) == 0 && CPU_COUNT(&both) > 0;
      });
  cores = pprt::coreCount() / unsigned(sharers);
  return {};
}

MpiWorld::~MpiWorld() {
  engine->call([&] {
    if (size > 1)
      beat(/*leaves=*/true);
    engine->remove(*this);
  });
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

void MpiWorld::together(const std::function<void()> &work) {
  engine->call([&] {
    isWaiting = true;
    work();
    isWaiting = false;
  });
}

Status MpiWorld::broadcastFrom(int root, std::vector<std::byte> &bytes) {
  uint64_t count = bytes.size();
  MPI_Request request;
  MPI_Ibcast(&count, sizeof(count), MPI_BYTE, root, control, &request);
  if (Status status = engine->wait(request); !status.ok())
    return status;
  bytes.resize(count);
  for (uint64_t begin = 0; begin < count; begin += limits.messageBytes) {
    MPI_Ibcast(bytes.data() + begin,
               int(std::min(limits.messageBytes, count - begin)), MPI_BYTE,
               root, control, &request);
    if (Status status = engine->wait(request); !status.ok())
      return status;
  }
  return {};
}

Status MpiWorld::broadcast(std::vector<std::byte> &bytes) {
  Status status;
  together([&] { status = broadcastFrom(0, bytes); });
  return status;
}

Status MpiWorld::gatherHere(const std::vector<std::byte> &mine,
                            std::vector<std::vector<std::byte>> &all) {
  uint64_t count = mine.size();
  std::vector<uint64_t> counts(static_cast<size_t>(size));
  MPI_Request request;
  MPI_Igather(&count, sizeof(count), MPI_BYTE, counts.data(), sizeof(count),
              MPI_BYTE, 0, control, &request);
  if (Status status = engine->wait(request); !status.ok())
    return status;
  const auto forEachPiece = [&](uint64_t bytes, auto post) -> Status {
    for (uint64_t begin = 0; begin < bytes; begin += limits.messageBytes) {
      post(begin, int(std::min(limits.messageBytes, bytes - begin)));
      if (Status status = engine->wait(request); !status.ok())
        return status;
    }
    return {};
  };
  if (rank != 0)
    return forEachPiece(count, [&](uint64_t begin, int bytes) {
      MPI_Issend(mine.data() + begin, bytes, MPI_BYTE, 0, kGatherTag, control,
                 &request);
    });
  all.resize(static_cast<size_t>(size));
  all[0] = mine;
  for (int source = 1; source < size; ++source) {
    std::vector<std::byte> &received = all[size_t(source)];
    received.resize(counts[size_t(source)]);
    if (Status status = forEachPiece(received.size(),
                                     [&](uint64_t begin, int bytes) {
                                       MPI_Irecv(received.data() + begin, bytes,
                                                 MPI_BYTE, source, kGatherTag,
                                                 control, &request);
                                     });
        !status.ok())
      return status;
  }
  return {};
}

Expected<std::vector<std::vector<std::byte>>>
MpiWorld::gather(const std::vector<std::byte> &mine) {
  std::vector<std::vector<std::byte>> all;
  Status status;
  together([&] { status = gatherHere(mine, all); });
  if (!status.ok())
    return status;
  return all;
}

static std::vector<std::byte> bytesOf(const std::string &text) {
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  return {begin, begin + text.size()};
}

Status MpiWorld::agreeHere(const Status &mine, bool interrupted,
                           Verdict &verdict) {
  struct Vote {
    int code, interrupted;
  };
  const Vote vote = {int(mine.code()), interrupted};
  std::vector<Vote> votes(static_cast<size_t>(size));
  MPI_Request request;
  MPI_Iallgather(&vote, sizeof(vote), MPI_BYTE, votes.data(), sizeof(vote),
                 MPI_BYTE, control, &request);
  if (Status status = engine->wait(request); !status.ok())
    return status;
  verdict.interrupted =
      std::any_of(votes.begin(), votes.end(),
                  [](const Vote &vote) { return vote.interrupted != 0; });
  for (int process = 0; process < size; ++process) {
    const int code = votes[size_t(process)].code;
    if (code == int(ExitCode::ok))
      continue;
    std::vector<std::byte> text = bytesOf(mine.message());
    if (Status status = broadcastFrom(process, text); !status.ok())
      return status;
    verdict.first = Status(
        ExitCode(code),
        std::string(reinterpret_cast<const char *>(text.data()), text.size()));
    break;
  }
  return {};
}

Verdict MpiWorld::agree(const Status &mine, bool interrupted) {
  Verdict verdict = {};
  Status status;
  together([&] { status = agreeHere(mine, interrupted, verdict); });
  if (!status.ok())
    verdict.first = mine.ok() ? status : mine;
  return verdict;
}

std::vector<uint32_t> MpiWorld::homes(uint32_t worldSize) const {
  std::vector<uint32_t> homes;
  for (uint32_t index = 0; index < worldSize; ++index)
    homes.push_back(processOf(index, worldSize));
  return homes;
}

Expected<std::unique_ptr<Transport>> MpiWorld::transport(uint32_t worldSize) {
  if (worldSize < uint32_t(size))
    return Status(ExitCode::usage,
                  "expects at most as many processes as ranks, " +
                      std::to_string(worldSize) + ", got " +
                      std::to_string(size) + " of mpirun -n");
  MPI_Comm own = MPI_COMM_NULL;
  Status status;
  engine->call([&] {
    MPI_Request request;
    status = check(MPI_Comm_idup(control, &own, &request), "MPI_Comm_idup");
    if (status.ok())
      status = engine->wait(request);
    if (status.ok())
      MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  });
  if (!status.ok())
    return status;
  return std::unique_ptr<Transport>(std::make_unique<MpiTransport>(
      *engine, own, homes(worldSize), process(), limits,
      [this](const Status &status) { noteFailure(status); }));
}

//===----------------------------------------------------------------------===//
// The end of all processes
//===----------------------------------------------------------------------===//

/// Prints as the tools do, in one write.
[[noreturn]] static void endAll(int code, const std::string &message) {
  const std::string line =
      std::string(program_invocation_short_name) + ": error: " + message + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

/// Process 0 hears of failures: whatever it hears of first is the cause.
void MpiWorld::listen() {
  notice.resize(sizeof(int) + kNoticeBytes);
  if (rank != 0) {
    // Keeps MPI at work here while this process waits for nothing.
    notice.resize(sizeof(int));
  }
  MPI_Request request;
  MPI_Irecv(notice.data(), int(notice.size()), MPI_BYTE, MPI_ANY_SOURCE,
            kNoticeTag, control, &request);
  engine->listen(request, *this, kNotice);
}

void MpiWorld::listenForBeats() {
  MPI_Request request;
  MPI_Irecv(&heard, 1, MPI_BYTE, (rank + size - 1) % size, kBeatTag, control,
            &request);
  engine->listen(request, *this, kBeat);
}

void MpiWorld::beat(bool leaves) {
  // So small that nobody needs to take it: this ends at once.
  MPI_Request request;
  MPI_Isend(&said[leaves], 1, MPI_BYTE, (rank + 1) % size, kBeatTag, control,
            &request);
  engine->listen(request, *this, kSaid);
  saidAt = std::chrono::steady_clock::now();
}

bool MpiWorld::isSilent() const {
  return size > 1 && heard == 0 && limits.silenceSeconds > 0 &&
         std::chrono::steady_clock::now() - heardAt >
             std::chrono::seconds(limits.silenceSeconds);
}

void MpiWorld::completed(uint64_t name) {
  if (name == kSaid)
    return;
  if (name == kBeat) {
    heardAt = std::chrono::steady_clock::now();
    if (heard == 0) // another follows
      listenForBeats();
    return;
  }
  // While this process was stopped, whoever told has waited in vain, and says
  // it itself. serve() may not have noticed yet.
  const auto now = std::chrono::steady_clock::now();
  if (now < wokeAt + kPatience || now > servedAt + kBetweenBeats)
    return;
  // Its length is in the text: the rest is zero.
  int code;
  std::memcpy(&code, notice.data(), sizeof(code));
  endAll(code, notice.data() + sizeof(code));
}

void MpiWorld::noteFailure(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!cause.ok())
    return;
  cause = status;
  failedAt = std::chrono::steady_clock::now();
  hasFailed.store(true, std::memory_order_release);
}

std::chrono::steady_clock::time_point MpiWorld::waitsUntil() {
  std::lock_guard<std::mutex> lock(mutex);
  return failedAt +
         (cause.code() == ExitCode::interrupted ? kComingSoon : kComing);
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

bool MpiWorld::serve() {
  // What was not heard while this process itself was stopped is no silence.
  const auto now = std::chrono::steady_clock::now();
  if (now > servedAt + kBetweenBeats)
    heardAt = wokeAt = now;
  servedAt = now;
  if (size > 1 && now > saidAt + kBetweenBeats)
    beat(/*leaves=*/false);
  if (isBlocked())
    noteFailure(Status(ExitCode::interrupted,
                       "interrupted while it waited for another process, "
                       "which did not come"));
  const bool isLate = hasFailed.load(std::memory_order_acquire) && isWaiting &&
                      now > waitsUntil();
  if (isSilent())
    noteFailure(Status(
        ExitCode::hang,
        "expects an answer of process " +
            std::to_string((rank + size - 1) % size) + " within " +
            std::to_string(limits.silenceSeconds) +
            " s, got none: it has stopped, or its host cannot be reached"));
  else if (!isLate && !aborts.load(std::memory_order_acquire))
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  const Status first = cause;
  lock.unlock();
  if (rank != 0)
    tellFirst(first);
  // Who waited in vain while this process was stopped may be telling it.
  if (now < wokeAt + kPatience)
    std::this_thread::sleep_for(kPatience);
  endAll(int(first.code()), first.message());
}

/// Leaves the end to process 0, as long as that answers.
void MpiWorld::tellFirst(const Status &status) {
  const int code = int(status.code());
  std::vector<char> message(sizeof(int) + kNoticeBytes);
  std::memcpy(message.data(), &code, sizeof(code));
  const size_t length = std::min(status.message().size(), kNoticeBytes - 1);
  std::memcpy(message.data() + sizeof(code), status.message().data(), length);
  MPI_Request request;
  MPI_Isend(message.data(), int(message.size()), MPI_BYTE, 0, kNoticeTag,
            control, &request);
  const auto end =
      std::chrono::steady_clock::now() + std::min(rank, 2) * kPatience;
  while (std::chrono::steady_clock::now() < end) {
    int isSent = 0;
    MPI_Test(&request, &isSent, MPI_STATUS_IGNORE);
    usleep(500);
  }
  endAll(code, status.message());
}

void MpiWorld::abort(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (cause.ok())
      cause = status;
  }
  aborts.store(true, std::memory_order_release);
  engine->wake();
  sleep(kLastSeconds);
  // The engine's thread is stuck in MPI.
  const std::string line = std::string(program_invocation_short_name) +
                           ": error: " + status.message() + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(int(status.code()));
}
