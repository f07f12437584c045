//===- Device.h - what an engine asks of a kind of device -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A device has memory, makes kernels ready, and does what its streams are given
// in the order in which they are given it. It knows nothing of queues, waits
// and steps: those are an executor's. Nor of other devices: those are its
// transport's, which comes from here because the two agree about memory.
//
// The order of calls: load() the artifact, prepare() its kernels, allocate()
// memory, make streams, then bind() and write for what is launched every step.
// Addresses are the device's: the host reaches what is behind them itself only
// where Memory::host() says so, else by copies.
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
  /// As kernels take it.
  virtual std::byte *address() const = 0;
  virtual uint64_t size() const = 0;
  /// Where the host finds the same bytes; null where it cannot.
  virtual std::byte *host() const = 0;
  /// Whether what is written can be read again: a device that only counts keeps
  /// nothing.
  virtual bool keepsValues() const { return host() != nullptr; }
  /// Copies `bytes` from `offset` on, behind all that streams have returned
  /// from. Assumes that values are kept.
  virtual Status read(std::byte *to, uint64_t offset, uint64_t bytes) const {
    std::memcpy(to, host() + offset, bytes);
    return {};
  }
  virtual Status write(uint64_t offset, const std::byte *from, uint64_t bytes) {
    std::memcpy(host() + offset, from, bytes);
    return {};
  }
  /// Gives `visit` the bytes from `offset` on; not if no values are kept.
  Status visit(uint64_t offset, uint64_t bytes,
               const std::function<void(const std::byte *)> &visit) const;
  /// Has `fill` write all of them.
  Status fill(uint64_t offset, uint64_t bytes,
              const std::function<void(std::byte *)> &fill);
  /// The end of the highest byte that was ever written; 0 if nobody measures.
  virtual uint64_t writtenBytes() const = 0;
};

/// A kernel of an artifact, ready: the device's own, as is what follows.
class Kernel {
public:
  virtual ~Kernel() = default;
};

/// A kernel with all it is launched with: what bind() made of a Binding. Only
/// the streams of the device that made it are given it, and cast it back.
class Launch {
public:
  virtual ~Launch() = default;
};

/// What a kernel is launched with.
struct Binding {
  const Kernel *kernel = nullptr;
  std::vector<std::byte *> arguments; ///< its parameters
  /// The row of a launch's scalars; read when the kernel runs.
  const std::byte *scalars = nullptr;
  /// An i32 that is read before the kernel runs: unless 0, it does not. Null if
  /// it always does.
  const std::byte *gate = nullptr;
};

/// Elements to look through.
struct Values {
  const std::byte *address = nullptr;
  uint64_t bytes = 0;
  ppx::ElementType element = ppx::ElementType_f32;
};

/// Does what it is given in that order.
class Stream {
public:
  virtual ~Stream() = default;
  virtual Status launch(const Launch &launch) = 0;
  virtual Status copy(std::byte *to, const std::byte *from, uint64_t bytes) = 0;
  /// Sets an i32 to 0 if all values are finite, else to 1.
  virtual Status flag(const std::vector<Values> &values, std::byte *flag) = 0;
  /// From the host, whose bytes may change once this has returned.
  virtual Status write(std::byte *to, const void *from, uint64_t bytes) = 0;
};

/// Memory that arenas of several processes may share.
struct MemoryPool {
  std::string id;        ///< the same for all who share it, and for nobody else
  std::string name;      ///< "the memory of ..."
  uint64_t capacity = 0; ///< bytes that all their arenas may have
  /// In use by whoever; nothing if the device does not say.
  std::optional<uint64_t> used = {};
  /// Larger ones that hold its arenas as well, and others besides.
  std::vector<MemoryPool> around = {};
};

/// What both kinds of device have: one whose streams return when they have done
/// what they were given, which is a PolledDevice, and one whose streams run
/// behind the host (pprt/StreamDevice.h). Each kind has an executor of its own.
class Device {
public:
  virtual ~Device() = default;

  /// As reports name it, and where it is only emulated, that.
  virtual std::string name() const = 0;
  /// Where its arenas are, as long as the device answers.
  virtual Expected<MemoryPool> pool() const = 0;

  /// Makes the code of an artifact ready. Fails (device) if it is for another
  /// processor.
  virtual Status load(const ppx::ArtifactT &artifact) = 0;
  /// One kernel of it. Fails (badArtifact) if it cannot be computed here.
  virtual Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &kernel) = 0;

  /// Of the kernels that are prepared; none where no library may refuse any.
  virtual std::vector<UnfusedProduct> unfusedProducts() const { return {}; }

  /// Fails (outOfMemory) if there is not so much. Nothing may be read before it
  /// is written.
  virtual Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) = 0;
  /// The same, for what comm ops read and write: transports may want it of a
  /// kind of its own.
  virtual Expected<std::unique_ptr<Memory>> allocateArena(uint64_t bytes) {
    return allocate(bytes);
  }
  /// Before any step: all that a launch needs is looked up and kept here, so
  /// that launch() does none of it. As long as the device lives, this can be
  /// launched on any of its streams, in each step again.
  virtual std::unique_ptr<const Launch> bind(Binding binding) = 0;

  /// What it has counted, between sections; most count nothing.
  virtual std::vector<NamedCount> counters() const { return {}; }
};

/// Whatever a stream of it is given is done when the call returns.
class PolledDevice : public Device {
public:
  /// For a rank with this arena, on the thread that will use it. What its
  /// threads allocate from the heap counts in `heap`.
  virtual Expected<std::unique_ptr<Stream>> stream(Memory &arena,
                                                   AllocationCounter &heap) = 0;
  /// How ranks on such devices meet, in a world. Collective, as the world's
  /// calls.
  virtual Expected<std::unique_ptr<PolledTransport>>
  transport(World &world, uint32_t ranks) = 0;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_DEVICE_H
