//===- Guest.h - what other emulators give to streams -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// cublasLt gives a stream of the driver what it does there. So do emulated
// libraries: libcuda's takes their operations, in the order of its scheduler,
// and looks at what they access as at its own. Calls of other libraries fail as
// the same settings say (Emulator.h), their objects are among its leaks.
//
// An operation of NCCL's takes part in what others do with it, on other
// devices. It begins where its stream has come to it and its device has a place
// for it, keeps that, and ends when all that it takes part in has been done. So
// operations can wait for each other for ever, which is told.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_GUEST_H
#define PP_TEST_GPU_CUDA_GUEST_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace emulated {

/// Device memory, for an operation that runs.
class Access {
public:
  virtual ~Access() = default;
  /// Bytes to read. Null, after a fault, if they are not there, on another
  /// device, or were never written.
  virtual const std::byte *read(uint64_t address, uint64_t size) = 0;
  /// Bytes that are all written.
  virtual std::byte *write(uint64_t address, uint64_t size) = 0;
  /// Writes all of them over with what is no number, and takes them for never
  /// written.
  virtual bool spoil(uint64_t address, uint64_t size) = 0;
};

struct Operation;

/// What operations of several streams do together: all at once, when each of
/// them has its place.
struct Rendezvous {
  struct Member {
    std::string name;               ///< for messages
    int device = 0;                 ///< that it will come on
    const void *lane = nullptr;     ///< in which it will come
    Operation *operation = nullptr; ///< null: not given yet, or ended without
  };
  std::string what;            ///< for messages
  std::vector<Member> members; ///< of this process
  /// Whether those of other processes are there; empty: there are none.
  std::function<bool()> isThere;
  /// With the members' memory. False after a fault.
  std::function<bool(const std::vector<Access *> &)> run;
  bool hasRun = false;
};

/// What one operation takes part in.
struct Attendance {
  struct Part {
    std::shared_ptr<Rendezvous> with;
    uint32_t member = 0;
  };
  std::vector<Part> parts;
  /// When it begins: leaves what other processes read. May be empty.
  std::function<void(Access &)> leave;
  /// What its error is for: it begins, and never gets on. Empty: it has none.
  std::function<void()> onBegin;
};

/// An operation of another library.
struct Guest {
  std::string what;
  std::function<bool(Access &)> run; ///< false after a fault
  int failure = 0;                   ///< of the driver, injected
  /// Instead of `run`: asked once for each operation, so of a graph in each
  /// launch.
  std::function<Attendance()> attend;
  /// Of those that attend: operations of a lane begin one after another, in the
  /// order in which they were given.
  const void *lane = nullptr;
};

/// What a call begins with.
struct Begin {
  int failure = 0; ///< injected, in the library's own numbers
  int late = 0;    ///< injected, for the operation
  int state = 0;   ///< of the driver: no context, or a device that failed
  uint64_t algorithm = 0; ///< the setting
  uint64_t refused = 0;   ///< the setting
  uint64_t machine = 0;   ///< which one: another after a reset
  int device = -1;        ///< of the calling thread's context
};

/// The symbol `ppEmulatorHost`.
struct Host {
  Begin (*begin)(const char *call, bool needsContext);
  /// Takes an operation. A result of the driver.
  int (*submit)(void *stream, Guest guest);
  /// Of objects of a kind there is one more, or one less.
  void (*hold)(const char *kind, int change);
  void (*fault)(const char *what);
  void (*notModelled)(const char *what);

  /// Held in every call, and while operations of guests run.
  std::recursive_mutex *lock;
  /// A number below the given one, of the seed; 0 of a seed that is 0 or 1.
  uint64_t (*draw)(uint64_t below);
  uint64_t (*seed)();
  uint64_t (*errors)();
  /// The device of a stream; -1 if there is no such stream.
  int (*deviceOf)(void *stream);
  /// Whether what a stream is given is recorded.
  bool (*isRecording)(void *stream);
  /// Lets all operations of a lane end that have not.
  void (*abort)(const void *lane);
  /// Whether a graph has operations of the lane.
  bool (*isCaptured)(const void *lane);
  /// What other lanes that were not aborted have at work on the device, in
  /// words; empty: nothing.
  const char *(*besides)(int device);
  /// Whether a lane has operations that have not ended; lets some run.
  bool (*isBusy)(const void *lane);
  /// What the calling thread asked for is not yet so. False if it never will
  /// be: nothing can change any more.
  bool (*await)(const char *what);
  /// Something has changed for which others may ask.
  void (*progress)();
  /// Device memory of the calling thread's context. Results of the driver.
  int (*allocate)(uint64_t *address, uint64_t size);
  int (*release)(uint64_t address);
  /// The setting; empty: there are no other processes.
  const char *(*processes)();
};

// Host.cpp, a part of each such library:
/// libcuda's emulated library, or null: then there is nothing to work on.
const Host *host();
/// Says what no program may do, and ends the process unless a test takes it.
void fault(const std::string &what);
/// What this emulated library does not do, it says, and ends the process.
[[noreturn]] void notModelled(const std::string &what);

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_GUEST_H
