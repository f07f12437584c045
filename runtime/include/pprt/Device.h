//===- Device.h - what an engine asks of a kind of device -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A device has memory, prepares kernels, and executes the commands of its
// streams in order. It knows no queues, waits and steps, which the executor
// handles, and no other devices, which its transport handles; the device makes
// the transport because the two agree about memory.
//
// The order of calls: load() the artifact, prepare() its kernels, allocate()
// memory, make streams, then bind() and write for what is launched every step.
// Addresses are the device's: the host accesses the memory behind them directly
// only where Memory::host() says so, else by copies.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_DEVICE_H
#define PPRT_DEVICE_H

#include "pprt/AllocationCounter.h"
#include "pprt/Execution.h"
#include "pprt/Transport.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

class World;

/// One block of a device's memory.
class Memory {
public:
  virtual ~Memory() = default;
  /// Address that kernels are given.
  virtual std::byte *address() const = 0;
  virtual uint64_t size() const = 0;
  /// Host address of the same bytes; null if there is none.
  virtual std::byte *host() const = 0;
  /// Whether written values can be read again: a device that only counts keeps
  /// none.
  virtual bool keepsValues() const { return host() != nullptr; }
  /// Copies `bytes` from `offset` on, after all commands from which streams
  /// have returned. Assumes that values are kept.
  virtual Status read(std::byte *to, uint64_t offset, uint64_t bytes) const {
    std::memcpy(to, host() + offset, bytes);
    return {};
  }
  virtual Status write(uint64_t offset, const std::byte *from, uint64_t bytes) {
    std::memcpy(host() + offset, from, bytes);
    return {};
  }
  /// Calls `visit` on the bytes from `offset` on, unless no values are kept.
  Status visit(uint64_t offset, uint64_t bytes,
               const std::function<void(const std::byte *)> &visit) const;
  /// Calls `fill` to write all of those bytes.
  Status fill(uint64_t offset, uint64_t bytes,
              const std::function<void(std::byte *)> &fill);
  /// End of the highest byte ever written; 0 if it is not measured.
  virtual uint64_t writtenBytes() const = 0;
};

/// A prepared kernel of an artifact. Its type is the device's own.
class Kernel {
public:
  virtual ~Kernel() = default;
};

/// A kernel with all its operands: what bind() made of a Binding. Only streams
/// of the device that made it receive it, and cast it back.
class Launch {
public:
  virtual ~Launch() = default;
};

/// The operands of a kernel launch.
struct Binding {
  const Kernel *kernel = nullptr;
  std::vector<std::byte *> arguments; ///< one per parameter
  /// Row of a launch's scalars; read when the kernel runs.
  const std::byte *scalars = nullptr;
  /// An i32 that is read before the kernel runs: unless it is 0, the kernel
  /// does not run. Null: it always runs.
  const std::byte *gate = nullptr;
};

/// Elements to check.
struct Values {
  const std::byte *address = nullptr;
  uint64_t bytes = 0;
  ppx::ElementType element = ppx::ElementType_f32;
};

/// Executes commands in the order in which they are given.
class Stream {
public:
  virtual ~Stream() = default;
  virtual Status launch(const Launch &launch) = 0;
  virtual Status copy(std::byte *to, const std::byte *from, uint64_t bytes) = 0;
  /// Sets an i32 to 0 if all values are finite, else to 1.
  virtual Status flag(const std::vector<Values> &values, std::byte *flag) = 0;
  /// Writes from host memory, which may change once this has returned.
  virtual Status write(std::byte *to, const void *from, uint64_t bytes) = 0;
};

/// Memory that arenas of several processes may share.
struct MemoryPool {
  std::string id;        ///< the same for all processes that share it only
  std::string name;      ///< "the memory of ..."
  uint64_t capacity = 0; ///< bytes for all their arenas
  /// Bytes in use by any process; nothing if the device does not say.
  std::optional<uint64_t> used = {};
  /// Larger pools that contain this one, and other memory besides.
  std::vector<MemoryPool> around = {};
};

/// The common part of both kinds of device: a PolledDevice, whose streams
/// return when their commands are done, and a StreamDevice, whose streams run
/// asynchronously to the host (pprt/StreamDevice.h). Each has its own executor.
class Device {
public:
  virtual ~Device() = default;

  /// Name in reports, which says so if the device is only emulated.
  virtual std::string name() const = 0;
  /// Pool that its arenas come from. Fails if the device no longer answers.
  virtual Expected<MemoryPool> pool() const = 0;

  /// Loads the code of an artifact. Fails (device) if it is for another
  /// processor.
  virtual Status load(const ppx::ArtifactT &artifact) = 0;
  /// Prepares one kernel. Fails (badArtifact) if it cannot be computed here.
  virtual Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &kernel) = 0;

  /// Unfused ones of the prepared kernels; none if no library may refuse any.
  virtual std::vector<UnfusedProduct> unfusedProducts() const { return {}; }

  /// Fails (outOfMemory) if there is not enough. Memory must be written before
  /// it is read.
  virtual Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) = 0;
  /// The same for memory that comm ops read and write: transports may need a
  /// special kind.
  virtual Expected<std::unique_ptr<Memory>> allocateArena(uint64_t bytes) {
    return allocate(bytes);
  }
  /// Called before any step: looks up and keeps everything a launch needs, so
  /// that launch() does not. The result can be launched in every step, on any
  /// of the device's streams, as long as the device lives.
  virtual std::unique_ptr<const Launch> bind(Binding binding) = 0;

  /// Counts since the start, read between sections; most devices count nothing.
  virtual std::vector<NamedCount> counters() const { return {}; }
};

/// A device whose stream calls return when their work is done.
class PolledDevice : public Device {
public:
  /// Makes a stream for the rank with this arena, on the thread that will use
  /// it. Heap allocations of its threads count in `heap`.
  virtual Expected<std::unique_ptr<Stream>> stream(Memory &arena,
                                                   AllocationCounter &heap) = 0;
  /// Makes the transport between ranks on such devices, in a world. Collective,
  /// like the world's calls.
  virtual Expected<std::unique_ptr<PolledTransport>>
  transport(World &world, uint32_t ranks) = 0;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_DEVICE_H
