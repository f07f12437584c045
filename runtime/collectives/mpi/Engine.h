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
// MPI has no wait that rests, so the engine's thread asks again and again: at
// once while something happens, after sleeps that grow when nothing does.
// Whoever hands it work wakes it. No call of it blocks inside MPI: what may
// take long is a request that wait() polls.
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
  /// The request that was watched under `name` is complete.
  virtual void completed(uint64_t name) = 0;
  /// Something failed, of which the engine knows no more than this.
  virtual void failed(const Status &status) = 0;
};

/// Success, or MPI's own words.
Status check(int code, const char *call);

class Engine {
public:
  /// Starts MPI. Fails (usage) where it offers too little.
  static Expected<std::unique_ptr<Engine>> start();
  /// Finishes the MPI that it started, unless something failed: then others may
  /// never come, and sends cannot be cancelled.
  ~Engine();

  /// From any thread but the engine's: runs `work` on it, and returns when that
  /// has ended.
  void call(std::function<void()> work);
  /// From any thread: serve() will be called soon.
  void wake();
  /// From any thread: calls serve() here if nobody drives now. False otherwise.
  bool serveNow();
  /// From any thread: drives until `ends` says so, the engine's thread is
  /// needed, or what is awaited takes long.
  void help(const std::function<bool()> &ends);

  // While driving only.
  void add(Client &client);
  /// Forgets the client's requests. Returns whether there were any but those
  /// that listen: MPI may still use their memory.
  bool remove(Client &client);
  void watch(MPI_Request request, Client &client, uint64_t name);
  /// The same of one that may never complete: it alone keeps nobody awake.
  void listen(MPI_Request request, Client &client, uint64_t name);
  /// Until the request is complete; serves clients meanwhile.
  Status wait(MPI_Request request);
  /// Something failed: MPI will not be finished.
  void neverFinish() { finishes = false; }

private:
  Engine() = default;
  struct Watch {
    Client *client;
    uint64_t name;
    bool listens;
  };

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
  std::vector<Client *> clients;
  std::vector<MPI_Request> requests;
  std::vector<Watch> watches; ///< of each request
  size_t listening = 0;       ///< requests that listen
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::chrono::steady_clock::time_point lastWork; ///< of the engine's thread

  std::mutex mutex;
  std::condition_variable changed; ///< there is a call, or its end
  std::condition_variable wakened; ///< the engine's thread has work
  std::function<void()> pendingCall;
  bool calls = false, quits = false;
  std::atomic<bool> woken{false}, sleeps{false};
  std::atomic<bool> claimed{false}; ///< the engine's thread wants to drive
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_ENGINE_H
