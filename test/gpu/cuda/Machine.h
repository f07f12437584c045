//===- Machine.h - what is behind the emulated libcuda ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing here runs by itself: an operation that is given to a stream waits
// until a call needs it (synchronise, query), or until the seed lets some run
// in the middle of any call. Among what may run, the seed chooses: heads of
// streams whose events have come, and of graphs what has no predecessor left. A
// copy runs in pieces, others in between. One lock is held in every call. What
// meets operations of other devices (Rendezvous.cpp) may have to wait for a
// call of another thread; then whoever waits for it leaves the lock.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_MACHINE_H
#define PP_TEST_GPU_CUDA_MACHINE_H

#include "Guest.h"
#include "Memory.h"
#include "Order.h"
#include "Ptx.h"

#include <cuda.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>

namespace emulated {

// Settings.cpp
struct Settings {
  uint64_t seed = 0, devices = 1, other = UINT64_MAX, version = 13000;
  uint64_t capability = 90, memory = uint64_t(16) << 30;
  uint64_t algorithm = 0, refused = 0, errors = 0, places = 3, drivers = 0;
  std::string processes; ///< folder of what they leave for each other
  std::string counts;    ///< file for how often each call was made
  struct Failure {
    uint64_t number = 0;
    CUresult result = CUDA_SUCCESS;
    bool isLate = false; ///< in the stream
  };
  std::multimap<std::string, Failure> failures; ///< by call
};

/// Of a text, which messages call by this name.
Settings parseSettings(const std::string &text, const std::string &name);
/// Of the file that PP_EMULATED names.
Settings readSettings();

/// Those of so many devices that are seen, as CUDA_VISIBLE_DEVICES has them;
/// all where it is null.
std::vector<int> findVisible(uint64_t devices, const char *list);

struct Operation;

/// What an operation does, as often as it is asked to: a graph runs it again.
struct Work {
  std::string what; ///< for messages
  uint32_t pieces = 1;
  /// One piece. An error is the device's from then on.
  std::function<CUresult(Operation &, uint32_t piece)> run;
  /// What it is known to do with pinned memory.
  struct Loan {
    uint64_t begin, end;
    bool isWrite;
  };
  std::vector<Loan> loans;
  /// Instead of `run`, of what meets others (Guest.h).
  std::function<Attendance()> attend;
  const void *lane = nullptr;
  CUresult failure = CUDA_SUCCESS; ///< injected, in a capture: of each launch
};

struct Operation : std::enable_shared_from_this<Operation> {
  Work work;
  History::By by;
  int device = 0;
  /// What must have ended, beside what is ahead in its stream.
  std::vector<std::shared_ptr<Operation>> after;
  uint32_t ran = 0; ///< pieces
  bool hasEnded = false;
  uint64_t endedAt = 0;            ///< in pieces that the machine has run
  CUresult failure = CUDA_SUCCESS; ///< injected
  /// Of what meets others.
  std::unique_ptr<Attendance> attendance;
  bool hasPlace = false, isAborted = false;
};
using OperationPtr = std::shared_ptr<Operation>;

struct Capture;

struct Stream {
  uint32_t component = 0;
  uint32_t number = 0; ///< for messages
  int device = 0;
  Clock clock; ///< of what was given last
  std::deque<OperationPtr> queue;
  OperationPtr last;
  uint32_t patience = 0; ///< queries until one is answered by running something
  std::shared_ptr<Capture> capture; ///< null: none
  std::vector<uint32_t> ends; ///< of a capture: what the next node depends on
};

struct Event {
  bool isTimed = false;
  OperationPtr record; ///< null: never recorded
  uint32_t patience = 0;
  std::shared_ptr<Capture> capture; ///< recorded in this one last
  std::vector<uint32_t> ends;
};

struct Node {
  Work work;
  uint32_t stream = 0; ///< the capture's number of it
  std::vector<uint32_t> after;
};

struct Graph {
  std::vector<Node> nodes;
  int device = 0;
};

/// An instantiated graph.
struct Execution {
  Graph graph;
  std::vector<uint32_t> components; ///< one for each stream of the capture
  Clock clock;                      ///< of the last launch
  OperationPtr last;                ///< end of the last launch
};

struct Device {
  int ordinal = 0;
  int number = 0; ///< of all that there are, seen or not
  uint64_t retained = 0;
  CUresult failure = CUDA_SUCCESS; ///< of an operation: every call says it
  /// What meets others and has not ended, in the order in which it was given.
  std::vector<OperationPtr> attending;
  std::map<const void *, History::By> lastOf; ///< by lane
};

struct Module {
  std::unique_ptr<ptx::Module> code;
  int device = 0;
};

struct Function {
  Module *module = nullptr;
  const ptx::Entry *entry = nullptr;
};

class Waits;

class Machine {
public:
  explicit Machine(Settings settings);
  ~Machine();

  Settings settings;
  std::vector<Device> devices;
  bool isInitialised = false;
  Memory memory;
  History history;
  Clock host; ///< what the host knows to have ended
  std::map<std::string, uint64_t> calls;
  std::map<std::string, int64_t> held; ///< objects of other libraries
  CUresult lateFailure = CUDA_SUCCESS; ///< of the call being made

  // Live objects, by handle.
  std::map<CUstream, std::shared_ptr<Stream>> streams;
  std::map<CUevent, std::unique_ptr<Event>> events;
  std::map<CUmodule, std::unique_ptr<Module>> modules;
  std::map<CUfunction, std::unique_ptr<Function>> functions;
  std::map<CUgraph, std::unique_ptr<Graph>> graphs;
  std::map<CUgraphExec, std::unique_ptr<Execution>> executions;
  std::set<std::shared_ptr<Capture>> captures; ///< that have not ended

  uint32_t makeComponent() { return nextComponent++; }
  std::shared_ptr<Stream> makeStream(int device);
  /// A stream's handle is gone; what it was given still runs.
  void retire(const std::shared_ptr<Stream> &stream);

  /// Gives a stream work, or notes it as a node of the stream's capture.
  CUresult submit(Stream &stream, Work work);
  /// Makes what the stream is given from now on wait for `operation`.
  void wait(Stream &stream, const OperationPtr &operation);
  CUresult launch(Execution &execution, Stream &stream);

  /// Runs until it has ended, and lets the host know.
  void finish(const OperationPtr &operation);
  /// Runs everything that the device was given.
  void finishAll(int device);
  /// A call that a driver may let wait for all that devices of the process were
  /// given, which it does not promise: nobody learns from it what has ended.
  void waitForDevices();
  /// Lets the host know that it has ended; it has.
  void learn(const Operation &operation);
  /// What a query runs: enough of them end every wait.
  void answer(uint32_t &patience, const OperationPtr &operation);
  /// What the seed lets run in the middle of a call.
  void drift();

  /// Notes an access of an operation that runs, and whether it has an order.
  void touch(const Operation &operation, uint64_t begin, uint64_t end,
             bool isWrite);
  uint64_t draw(uint64_t below) { return random() % below; }

  // Rendezvous.cpp
  void abort(const void *lane);
  bool isCaptured(const void *lane) const;
  const char *besides(int device) const;
  /// Whether a lane has operations that have not ended. Runs one of what they
  /// need to.
  bool isBusy(const void *lane);
  /// The calling thread waits, or asked in vain: says so if nothing can change
  /// any more, and then lets all devices fail. False in that case.
  bool waitForChange();
  bool askInVain(const std::string &what);
  /// Something has changed for which threads may ask.
  void progress();
  /// The calling thread will make no more calls.
  void leave();

  const uint64_t number; ///< of all machines of the process

private:
  OperationPtr make(int device, Work work, uint32_t component, Clock &clock,
                    std::vector<OperationPtr> after);
  void enqueue(Stream &stream, const OperationPtr &operation);
  bool isReady(const Operation &operation) const;
  std::vector<OperationPtr> findReady();
  /// What must run next for `operation` to end; null if nothing can.
  OperationPtr findNext(const OperationPtr &operation);
  OperationPtr findNext(const OperationPtr &operation,
                        std::set<const Operation *> &seen);
  void runPiece(const OperationPtr &operation);
  void end(const OperationPtr &operation);
  /// Runs something until it has ended.
  void runUntil(const std::function<OperationPtr()> &findOpen);

  // Rendezvous.cpp
  void arrive(const OperationPtr &operation);
  bool canAttend(const Operation &operation) const;
  /// A step of what meets others. Whether it has ended.
  bool attend(Operation &operation, CUresult &result);
  void depart(Operation &operation);
  OperationPtr findMissing(const OperationPtr &operation,
                           std::set<const Operation *> &seen);
  void giveUp(const std::string &why, const std::set<const Operation *> &stuck);
  bool isQuiet();
  bool hasOthers() const { return !settings.processes.empty(); }

  friend class Waits;

  std::mt19937_64 random;
  uint32_t nextComponent = 0, nextStream = 0;
  uint64_t piecesRun = 0, operations = 0;
  std::vector<std::shared_ptr<Stream>> queues; ///< with work, or with a handle
  std::vector<OperationPtr> loose; ///< of graphs: in no stream's queue
  std::map<const Operation *, Stream *> streamOf;

  /// A thread of the host, as far as it is known from its calls.
  struct Thread {
    bool waits = false, isGone = false;
    uint64_t since = 0; ///< so many changes it waits, or asks in vain
    uint64_t vain = 0;  ///< questions
    std::string what;   ///< it asked for
  };
  std::map<std::thread::id, Thread> threads;
  uint64_t changes = 0;
  bool hasAborted = false;
  bool isOver = false; ///< nothing can change any more, and somebody knows
  std::condition_variable_any changed;
};

/// The one there is, and its lock.
extern std::unique_ptr<Machine> machine;
extern std::recursive_mutex lock;

/// Says what no program may do, and ends the process unless a test takes it.
void fault(const std::string &what);
/// What this emulated library does not do, it says, and ends the process.
[[noreturn]] void notModelled(const std::string &what);

/// What each call begins with: counts it, and fails where the settings or the
/// state of the device say so.
class Call {
public:
  enum Needs { nothing, initialised, context };
  Call(const char *name, Needs needs);
  CUresult result = CUDA_SUCCESS;

private:
  std::lock_guard<std::recursive_mutex> guard;
};

/// Memory as an operation reaches it; it must outlive that.
std::unique_ptr<Access> makeAccess(const Operation &operation);
/// What a handle stands for. Others end the process: no driver promises to
/// notice them.
Stream &streamOf(CUstream handle);
Event &eventOf(CUevent handle);
/// The device of the calling thread's context; null without one.
Device *currentDevice();
void setCurrentDevice(Device *device);

// Capture.cpp: a stream in a capture gives its work to it as nodes. A wait for
// an event that was recorded in the capture brings another stream in; a wait of
// the stream in which it began brings it back. What may not be done meanwhile
// invalidates the capture, which then says so at its end.

struct Capture {
  Stream *origin = nullptr;
  std::thread::id thread; ///< that began it
  bool isInvalid = false;
  Graph graph;
  std::vector<Stream *> members; ///< a node's `stream` is an index of these
};

CUresult beginCapture(Stream &stream);
CUresult endCapture(Stream &stream, std::unique_ptr<Graph> &graph);
/// Adds a node behind what the stream has given to its capture.
CUresult addNode(Stream &stream, Work work);
/// A record or a wait in which a capture takes part.
CUresult recordCaptured(Stream &stream, Event &event);
CUresult waitCaptured(Stream &stream, Event &event);
/// A call that waits for the stream, or asks whether it has ended.
CUresult refuseWhileCaptured(Stream &stream);
/// A call that a thread may not make while it captures.
CUresult refuseUnsafe();
/// Whatever waits for a whole device.
CUresult refuseWhileAnyCaptured();

#define PP_BEGIN(needs)                                                        \
  ::emulated::Call call(__func__, needs);                                      \
  if (call.result != CUDA_SUCCESS)                                             \
    return call.result;

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_MACHINE_H
