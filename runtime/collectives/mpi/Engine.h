//===- Engine.h - who calls MPI, one at a time ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: work to do and requests to wait for. Out: MPI started and finished, calls
// when requests complete. One thread at a time drives MPI, so that
// MPI_THREAD_SERIALIZED is enough: the engine's own, or one that would wait for
// a message otherwise and has a core to do so on. Between the end of a message
// and such a thread there is no other to be woken.
//
// Memory: who starts a request owns what MPI reads and writes by it until the
// request has ended. Whoever may go before that, a client that is removed or a
// wait that fails, hands a share of it (Kept) to the engine, which keeps it
// until MPI has ended the request, or for ever. So MPI never has memory that is
// freed, whatever fails, and no active request is freed.
//
// MPI has no wait that rests, so the engine's thread asks again and again: at
// once while something happens, after sleeps that grow when nothing does.
// Whoever hands it work wakes it. No call of it blocks inside MPI but the first
// and the last, which start and finish it: what else may take long is a request
// that wait() polls.
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

/// Who has requests of the engine, and is called by whoever drives it.
class Client {
public:
  virtual ~Client() = default;
  /// Starts what was handed in meanwhile. True if that was something.
  virtual bool serve() = 0;
  /// The engine is at long work of another: does what cannot wait for its end.
  virtual void breathe() {}
  /// The request that was watched under `name` is complete.
  virtual void completed(uint64_t name) = 0;
  /// One of its requests has failed, or could not be started, or MPI itself
  /// has failed.
  virtual void failed(const Status &status) = 0;
};

/// Success, or the name of the call and MPI's own words.
Status check(int code, const char *call);

/// A share of what MPI uses.
using Kept = std::shared_ptr<const void>;

class Engine {
public:
  /// Starts MPI. Fails (usage) where it offers too little.
  /// Others that do not come by then end the process (hang).
  static Expected<std::unique_ptr<Engine>>
  start(std::chrono::steady_clock::time_point end);
  /// Finishes the MPI that it started, unless something failed: then others may
  /// never come, and sends cannot be cancelled. Not on its own thread.
  ~Engine();

  /// From any thread but the engine's: runs `work` on it, and returns when that
  /// has ended.
  void call(std::function<void()> work);
  /// The same, but false if that has not ended by then.
  bool callUntil(std::function<void()> work,
                 std::chrono::steady_clock::time_point end);
  /// As long as nobody listens for others: they may never come, and then this
  /// ends the process (hang).
  void callAtStart(std::function<void()> work,
                   std::chrono::steady_clock::time_point end);
  /// From any thread: serve() will be called soon.
  void wake();
  /// From any thread: calls serve() here if nobody drives now. False otherwise.
  bool serveNow();
  /// From any thread: drives until `ends` says so, the engine's thread is
  /// needed, or what is awaited takes long.
  void help(const std::function<bool()> &ends);

  // While driving only. `start` starts one request: it gets a place for it, and
  // returns the code of `call`, which is the name of what it calls.
  void add(Client &client);
  /// By a client, between two parts of long work.
  void breathe() {
    for (Client *client : clients)
      client->breathe();
  }
  /// Ends what listens, and calls the client no more; `memory` is all that its
  /// requests use.
  void remove(Client &client, Kept memory);
  template <typename Start>
  void watch(const char *call, Client &client, uint64_t name, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    enter(call, code, request, {&client, name, false});
  }
  /// The same of a receive that may never complete: it alone keeps nobody
  /// awake.
  template <typename Start>
  void listen(const char *call, Client &client, uint64_t name, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    enter(call, code, request, {&client, name, true});
  }
  /// The same of a message whose end nobody awaits.
  template <typename Start>
  Status leave(const char *call, Kept memory, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    return enterLeft(call, code, request, std::move(memory));
  }
  /// Until the request is complete; serves clients meanwhile.
  template <typename Start>
  Status wait(const char *call, Kept memory, Start start);
  /// For how long a wait() that serves clients now has waited; negative if
  /// there is none. On the engine's thread.
  double waitedFor() const {
    return waits ? std::chrono::duration<double>(
                       std::chrono::steady_clock::now() - waitsSince)
                       .count()
                 : -1;
  }
  /// Something failed: MPI will not be finished.
  void neverFinish() { finishes = false; }
  /// How long MPI's end may take, before that ends the process (hang).
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
  /// Unless that is ok, MPI itself has failed.
  void breakDown(const Status &status);
  /// Lets go of what MPI has ended.
  void testLeft();

  Status initialize();
  void run();
  /// Does all there is to do now. False if that was nothing.
  bool turn();
  bool test();
  bool isBusy() const { return requests.size() > listening; }
  /// Sleeps, or does not, after a turn that did nothing. Busy: messages are on
  /// their way.
  void rest(bool busy);

  Thread thread;
  bool runs = false;     ///< the thread, unless the system refused it
  std::mutex driving;    ///< of who calls MPI, and has what follows
  bool finishes = false; ///< MPI, which this engine has started
  std::chrono::milliseconds finishTime = std::chrono::hours(24);
  std::vector<Client *> clients;
  std::vector<MPI_Request> requests;
  std::vector<Watch> watches; ///< of each request
  size_t listening = 0;       ///< requests that listen
  std::vector<Left> left;     ///< requests of nobody any more
  Status brokenBy; ///< if not ok, MPI itself has failed, and is asked no more
  int tagLimit = 32767; ///< at least
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::vector<std::pair<Watch, int>> complete;    ///< and their codes
  std::chrono::steady_clock::time_point lastWork; ///< of the engine's thread
  bool waits = false;
  std::chrono::steady_clock::time_point waitsSince;

  std::mutex mutex;
  std::condition_variable changed; ///< there is a call, or its end
  std::condition_variable wakened; ///< the engine's thread has work
  std::function<void()> pendingCall;
  bool calls = false, quits = false;
  std::atomic<bool> woken{false}, sleeps{false};
  std::atomic<bool> claimed{false}; ///< the engine's thread wants to drive
};

/// Requests that are waited for together, while driving. What has not ended is
/// left to the engine with its memory.
class Together final : private Client {
public:
  Together(Engine &engine, Kept memory);
  ~Together() override;

  template <typename Start> void add(const char *call, Start start) {
    ++open;
    engine.watch(call, *this, 0, start);
  }
  /// Until all are complete, or one has failed; serves clients meanwhile.
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
