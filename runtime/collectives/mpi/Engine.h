//===- Engine.h - the threads that call MPI, one at a time ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: work to do and requests to wait for. Out: MPI started and finished, calls
// when requests complete. One thread at a time drives MPI, so that
// MPI_THREAD_SERIALIZED is enough: the engine's own, or one that waits for a
// message and has a core to poll on. Such a thread sees the end of its message
// itself, without being woken.
//
// Memory: the starter of a request owns the memory that MPI reads and writes
// for it until the request has ended. A client that is removed before that, or
// a wait that fails, hands a share of the memory (Kept) to the engine, which
// keeps it until MPI has ended the request, or for ever. So MPI never accesses
// freed memory, whatever fails, and no active request is freed.
//
// MPI has no blocking wait that sleeps, so the engine's thread polls: without a
// pause while something happens, else after growing sleeps. Threads that hand
// it work wake it. None of its calls block inside MPI except the first and the
// last, which start and finish it: anything else that may take long is a
// request that wait() polls.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_ENGINE_H
#define PPRT_COLLECTIVES_MPI_ENGINE_H

#include "../../engine/Thread.h"
#include "pprt/Status.h"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace pprt::mpi {

/// The owner of requests of the engine, called by the thread that drives it.
class Client {
public:
  virtual ~Client() = default;
  /// Starts work that was handed in meanwhile. Returns true if there was any.
  virtual bool serve() = 0;
  /// Called during another client's long work: does what cannot wait.
  virtual void breathe() {}
  /// The request that was watched under `name` is complete.
  virtual void completed(uint64_t name) = 0;
  /// One of its requests has failed or could not be started, or MPI itself has
  /// failed.
  virtual void failed(const Status &status) = 0;
};

/// Returns success, or the name of the call and MPI's message.
Status check(int code, const char *call);

/// A share of memory that MPI uses.
using Kept = std::shared_ptr<const void>;

class Engine {
public:
  /// Starts MPI. Fails (usage) if it offers too little. If other processes do
  /// not come before `end`, ends the process (hang).
  static Expected<std::unique_ptr<Engine>>
  start(std::chrono::steady_clock::time_point end);
  /// Finishes the MPI that it started, unless something failed: then others may
  /// never come, and sends cannot be cancelled. Not on its own thread.
  ~Engine();

  /// From any thread but the engine's: runs `work` on it, and returns when it
  /// has ended.
  void call(std::function<void()> work);
  /// The same, but returns false if the work has not ended by `end`.
  bool callUntil(std::function<void()> work,
                 std::chrono::steady_clock::time_point end);
  /// For use while no client listens for other processes: they may never come,
  /// and then this ends the process (hang).
  void callAtStart(std::function<void()> work,
                   std::chrono::steady_clock::time_point end);
  /// From any thread: makes the engine call serve() soon.
  void wake();
  /// From any thread: calls serve() unless a thread drives; then returns false.
  bool serveNow();
  /// From any thread: drives until `ends` returns true, the engine's thread is
  /// needed, or the wait takes long.
  void help(const std::function<bool()> &ends);

  // Only while driving. `start` starts one request: it is passed a place for
  // it, and returns the code of the MPI function named `call`.
  void add(Client &client);
  /// Called by a client between two parts of long work.
  void breathe() {
    for (Client *client : clients)
      client->breathe();
  }
  /// Ends the client's listening requests, and no longer calls it; `memory` is
  /// all that its requests use.
  void remove(Client &client, Kept memory);
  template <typename Start>
  void watch(const char *call, Client &client, uint64_t name, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    enter(call, code, request, {&client, name, false});
  }
  /// The same for a receive that may never complete: it alone does not keep the
  /// engine polling.
  template <typename Start>
  void listen(const char *call, Client &client, uint64_t name, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    enter(call, code, request, {&client, name, true});
  }
  /// The same for a message that no caller waits for.
  template <typename Start>
  Status leave(const char *call, Kept memory, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    return enterLeft(call, code, request, std::move(memory));
  }
  /// Waits until the request is complete; serves clients meanwhile.
  template <typename Start>
  Status wait(const char *call, Kept memory, Start start);
  /// Seconds for which a wait() that serves clients now has waited; negative if
  /// there is none. On the engine's thread.
  double waitedFor() const {
    return waits ? std::chrono::duration<double>(
                       std::chrono::steady_clock::now() - waitsSince)
                       .count()
                 : -1;
  }
  /// Called after a failure: MPI will not be finished.
  void neverFinish() { finishes = false; }
  /// Time for MPI's end, after which this ends the process (hang).
  void finishWithin(std::chrono::milliseconds time) { finishTime = time; }
  /// The highest tag of a message.
  int highestTag() const { return tagLimit; }

private:
  friend class Together;
  Engine() = default;
  struct Watch {
    Client *client;
    uint64_t name;
    bool listens;
  };
  struct Left {
    MPI_Request request;
    Kept memory;
  };

  void enter(const char *call, int code, MPI_Request request, Watch watch);
  Status enterLeft(const char *call, int code, MPI_Request request,
                   Kept memory);
  /// Fails all clients unless `status` is ok: MPI itself has failed.
  void breakDown(const Status &status);
  /// Releases the memory of requests that MPI has ended.
  void testLeft();

  Status initialize();
  void run();
  /// Does all work there is now. Returns false if there was none.
  bool turn();
  bool test();
  bool isBusy() const { return requests.size() > listening; }
  /// Sleeps, if at all, after a turn without work. `busy`: messages are in
  /// transit.
  void rest(bool busy);

  Thread thread;
  bool runs = false;     ///< unless the system refused the thread
  std::mutex driving;    ///< held while calling MPI or using what follows
  bool finishes = false; ///< whether to finish MPI, which this engine started
  std::chrono::milliseconds finishTime = std::chrono::hours(24);
  std::vector<Client *> clients;
  std::vector<MPI_Request> requests;
  std::vector<Watch> watches; ///< by request
  size_t listening = 0;       ///< requests that listen
  std::vector<Left> left;     ///< requests without an owner
  Status brokenBy;      ///< if not ok, MPI itself has failed: do not call it
  int tagLimit = 32767; ///< the least that MPI guarantees
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::vector<std::pair<Watch, int>> complete;    ///< with their codes
  std::chrono::steady_clock::time_point lastWork; ///< by the engine's thread
  bool waits = false;
  std::chrono::steady_clock::time_point waitsSince;

  std::mutex mutex;
  std::condition_variable changed; ///< a call has come or ended
  std::condition_variable wakened; ///< the engine's thread has work
  std::function<void()> pendingCall;
  bool calls = false, quits = false;
  std::atomic<bool> woken{false}, sleeps{false};
  std::atomic<bool> claimed{false}; ///< the engine's thread wants to drive
};

/// Requests that are waited for together, while driving. Requests that have not
/// ended are left to the engine with their memory.
class Together final : private Client {
public:
  Together(Engine &engine, Kept memory);
  ~Together() override;

  template <typename Start> void add(const char *call, Start start) {
    ++open;
    engine.watch(call, *this, 0, start);
  }
  /// Waits until all are complete, or one has failed; serves clients meanwhile.
  Status wait();

private:
  bool serve() override { return false; }
  void completed(uint64_t) override { --open; }
  void failed(const Status &status) override { failure = status; }

  Engine &engine;
  Kept memory;
  size_t open = 0;
  Status failure;
};

template <typename Start>
Status Engine::wait(const char *call, Kept memory, Start start) {
  Together request(*this, std::move(memory));
  request.add(call, start);
  return request.wait();
}

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_ENGINE_H
