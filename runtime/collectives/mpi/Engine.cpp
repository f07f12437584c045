//===- Engine.cpp - the threads that call MPI, one at a time --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Engine.h"
#include "Letter.h"

#include <algorithm>
#include <string>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

using namespace pprt;
using namespace pprt::mpi;
using Clock = std::chrono::steady_clock;

/// Time after the last work during which the thread polls without a pause.
static constexpr std::chrono::microseconds kAlert(20);
/// Afterwards it sleeps for this part of the idle time, which delays messages
/// by as much. A sleep costs some 12 us of a core.
static constexpr unsigned kPart = 4;
static constexpr std::chrono::microseconds kShortest(50);
/// Also while no message is in transit.
static constexpr std::chrono::microseconds kLongest(1000);
/// Time during which a helper polls without a pause, its sleep between polls
/// afterwards, and when it leaves them to the engine's thread.
static constexpr std::chrono::microseconds kEager(50), kNap(20);
static constexpr std::chrono::milliseconds kHelping(100);
/// Time at the end for requests that no caller waits for.
static constexpr std::chrono::milliseconds kDraining(200);

Status mpi::check(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return {};
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Status(ExitCode::device,
                std::string(call) + ": " + std::string(text, size_t(length)));
}

Status Engine::initialize() {
  int isInitialized = 0;
  if (Status status = check(MPI_Initialized(&isInitialized), "MPI_Initialized");
      !status.ok())
    return status;
  if (isInitialized)
    return Status(ExitCode::usage,
                  "MPI is already initialized in this process");
  int provided = MPI_THREAD_SINGLE;
  if (Status status = check(
          MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
          "MPI_Init_thread");
      !status.ok())
    return status;
  if (provided < MPI_THREAD_SERIALIZED) {
    finishes = true; // as all processes do then
    return Status(ExitCode::usage, "expects an MPI that threads may call "
                                   "(MPI_THREAD_SERIALIZED), got level " +
                                       std::to_string(provided));
  }
  if (Status status =
          check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler");
      !status.ok())
    return status;
  int *limit = nullptr, isSet = 0;
  if (Status status =
          check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &isSet),
                "MPI_Comm_get_attr");
      !status.ok())
    return status;
  if (isSet)
    tagLimit = *limit;
  finishes = true;
  return {};
}

Expected<std::unique_ptr<Engine>> Engine::start(Clock::time_point end) {
  std::unique_ptr<Engine> engine(new Engine());
  engine->runs = engine->thread.start([raw = engine.get()] { raw->run(); });
  if (!engine->runs)
    return Status(ExitCode::device, "cannot start a thread for MPI");
  Status status;
  engine->callAtStart([&] { status = engine->initialize(); }, end);
  if (!status.ok())
    return status;
  return engine;
}

Engine::~Engine() {
  if (!runs)
    return;
  const auto finish = [this] {
    // Cancelled requests end soon.
    const auto end = Clock::now() + kDraining;
    for (testLeft(); !left.empty() && Clock::now() < end; testLeft())
      std::this_thread::sleep_for(kShortest);
    if (finishes && brokenBy.ok() && requests.empty() && left.empty())
      MPI_Finalize();
    else // the system may still copy their messages
      for (Left &its : left)
        (void)new Kept(std::move(its.memory));
  };
  if (!callUntil(finish, Clock::now() + finishTime)) {
    printError("MPI_Finalize did not return within " +
               std::to_string(finishTime.count() / 1000) +
               " s: a process has stopped, or its host cannot be reached");
    _exit(int(ExitCode::hang));
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    quits = true;
  }
  wake();
  thread.join();
}

void Engine::call(std::function<void()> work) {
  (void)callUntil(std::move(work), Clock::time_point::max());
}

void Engine::callAtStart(std::function<void()> work, Clock::time_point end) {
  if (callUntil(std::move(work), end))
    return;
  // This process was stopped itself and wakes up: others report it and end it.
  if (Clock::now() > end + kDraining)
    std::this_thread::sleep_for(10 * kDraining);
  printError("not all processes joined while MPI started: one has stopped, or "
             "its host cannot be reached");
  _exit(int(ExitCode::hang));
}

bool Engine::callUntil(std::function<void()> work, Clock::time_point end) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !calls; });
  pendingCall = std::move(work);
  calls = true;
  lock.unlock();
  wake();
  lock.lock();
  const auto isOver = [&] { return !pendingCall; };
  if (end == Clock::time_point::max())
    changed.wait(lock, isOver);
  else if (!changed.wait_until(lock, end, isOver))
    return false;
  calls = false;
  lock.unlock();
  changed.notify_all();
  return true;
}

void Engine::wake() {
  woken.store(true, std::memory_order_seq_cst);
  if (!sleeps.load(std::memory_order_seq_cst))
    return;
  // Cannot happen between the thread's check and its sleep.
  {
    std::lock_guard<std::mutex> lock(mutex);
  }
  wakened.notify_one();
}

void Engine::run() {
  // Keeps sleeps of 50 us from becoming 100.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  lastWork = Clock::now();
  while (true) {
    woken.store(false, std::memory_order_seq_cst);
    std::function<void()> work;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (quits)
        return;
      work = pendingCall;
    }
    if (work) {
      claimed.store(true, std::memory_order_relaxed);
      std::unique_lock<std::mutex> drive(driving);
      claimed.store(false, std::memory_order_relaxed);
      work();
      drive.unlock();
      {
        std::lock_guard<std::mutex> lock(mutex);
        pendingCall = nullptr;
      }
      changed.notify_all();
      lastWork = Clock::now();
    }
    std::unique_lock<std::mutex> drive(driving, std::try_to_lock);
    const bool worked = drive && turn(), busy = drive && isBusy();
    if (drive)
      drive.unlock();
    if (worked)
      lastWork = Clock::now();
    else
      rest(busy);
  }
}

bool Engine::turn() {
  bool worked = false;
  // Clients are added and removed only by calls, and thus not here.
  for (Client *client : clients)
    worked |= client->serve();
  return test() || worked;
}

bool Engine::serveNow() {
  std::unique_lock<std::mutex> drive(driving, std::try_to_lock);
  if (!drive)
    return false;
  for (Client *client : clients)
    client->serve();
  return true;
}

void Engine::help(const std::function<bool()> &ends) {
  const auto began = Clock::now();
  // Keeps sleeps of 20 us from becoming 70.
  static thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1000UL);
  (void)slack;
  while (!ends() && !claimed.load(std::memory_order_relaxed)) {
    bool worked = false;
    if (std::unique_lock<std::mutex> drive(driving, std::try_to_lock); drive)
      worked = turn();
    const Clock::duration idle = Clock::now() - began;
    if (idle > kHelping)
      return;
    if (!worked && idle > kEager)
      std::this_thread::sleep_for(kNap);
  }
}

bool Engine::test() {
  if (!left.empty())
    testLeft();
  if (requests.empty() || !brokenBy.ok())
    return false;
  int count = 0;
  indices.resize(requests.size());
  statuses.resize(requests.size());
  const int code = MPI_Testsome(int(requests.size()), requests.data(), &count,
                                indices.data(), statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    breakDown(check(code, "MPI_Testsome"));
    return true;
  }
  if (count <= 0) // MPI_UNDEFINED is negative
    return false;
  complete.clear();
  for (int i = 0; i < count; ++i) {
    const int error =
        code == MPI_SUCCESS ? MPI_SUCCESS : statuses[size_t(i)].MPI_ERROR;
    complete.push_back({watches[size_t(indices[size_t(i)])], error});
  }
  // Complete requests have become null.
  size_t kept = 0;
  for (size_t i = 0; i < requests.size(); ++i)
    if (requests[i] != MPI_REQUEST_NULL) {
      requests[kept] = requests[i];
      watches[kept++] = watches[i];
    }
  requests.resize(kept);
  watches.resize(kept);
  for (const auto &[watch, error] : complete) {
    listening -= watch.listens;
    if (error == MPI_SUCCESS) {
      watch.client->completed(watch.name);
      continue;
    }
    neverFinish();
    watch.client->failed(check(error, "a message between processes"));
  }
  return true;
}

void Engine::breakDown(const Status &status) {
  if (status.ok())
    return;
  brokenBy = status;
  for (Client *client : clients)
    client->failed(status);
  if (clients.empty()) // no client can report it
    printError(status.message());
}

void Engine::testLeft() {
  size_t kept = 0;
  for (Left &its : left) {
    int isOver = 0;
    if (brokenBy.ok())
      breakDown(check(MPI_Test(&its.request, &isOver, MPI_STATUS_IGNORE),
                      "MPI_Test"));
    if (!isOver)
      left[kept++] = std::move(its);
  }
  left.resize(kept);
}

void Engine::rest(bool busy) {
  const Clock::duration idle = Clock::now() - lastWork;
  if (idle < kAlert)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  sleeps.store(true, std::memory_order_seq_cst);
  const Clock::duration longest = kLongest;
  if (!woken.load(std::memory_order_seq_cst))
    wakened.wait_for(lock, busy ? std::clamp<Clock::duration>(
                                      idle / kPart, kShortest, longest)
                                : longest);
  sleeps.store(false, std::memory_order_seq_cst);
}

void Engine::add(Client &client) { clients.push_back(&client); }

void Engine::remove(Client &client, Kept memory) {
  for (size_t i = 0; i < clients.size(); ++i)
    if (clients[i] == &client)
      clients.erase(clients.begin() + long(i));
  size_t kept = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (watches[i].client != &client) {
      requests[kept] = requests[i];
      watches[kept++] = watches[i];
      continue;
    }
    listening -= watches[i].listens;
    // Sends cannot be cancelled, nor can matched receives.
    if (watches[i].listens && brokenBy.ok())
      breakDown(check(MPI_Cancel(&requests[i]), "MPI_Cancel"));
    left.push_back({requests[i], memory});
  }
  requests.resize(kept);
  watches.resize(kept);
  testLeft();
}

void Engine::enter(const char *call, int code, MPI_Request request,
                   Watch watch) {
  if (code != MPI_SUCCESS) {
    neverFinish();
    return watch.client->failed(check(code, call));
  }
  requests.push_back(request);
  watches.push_back(watch);
  listening += watch.listens;
}

Status Engine::enterLeft(const char *call, int code, MPI_Request request,
                         Kept memory) {
  if (code == MPI_SUCCESS)
    left.push_back({request, std::move(memory)});
  else
    neverFinish();
  return check(code, call);
}

Together::Together(Engine &engine, Kept memory)
    : engine(engine), memory(std::move(memory)) {
  engine.add(*this);
}

Together::~Together() { engine.remove(*this, std::move(memory)); }

Status Together::wait() {
  engine.waitsSince = engine.lastWork = Clock::now();
  engine.waits = true;
  while (open > 0 && failure.ok() && engine.brokenBy.ok()) {
    engine.woken.store(false, std::memory_order_seq_cst);
    if (engine.turn())
      engine.lastWork = Clock::now();
    else
      engine.rest(engine.isBusy());
  }
  engine.waits = false;
  return failure.ok() ? engine.brokenBy : failure;
}
