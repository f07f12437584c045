//===- Ptx.h - runs GPU code on the processor -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For tests on machines without a GPU. In: the text of a PTX module, as the
// compiler wrote it. A launch runs all of its threads, one block after another,
// and reports what a GPU would do silently, or only sometimes: an access
// outside of an allocation or not aligned, a byte that was never written and
// decides something, two threads that touch a byte without an order between
// them, a barrier or a shuffle that not all threads reach, an instruction that
// is not known here.
//
// Where the architecture leaves something open (which of diverged threads goes
// first, what an approximate function returns within its documented error) a
// seed decides.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_PTX_H
#define PP_TEST_GPU_PTX_PTX_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

/// Global memory, as whoever allocates it knows it.
class Memory {
public:
  virtual ~Memory() = default;
  /// Where the bytes [address, address + size) lie for the host, all in one
  /// allocation; null, and `error`, if they do not.
  virtual std::byte *find(uint64_t address, uint64_t size,
                          std::string &error) = 0;
  /// One byte each, beside these: not 0 once the byte was written.
  virtual std::byte *isWritten(uint64_t address) = 0;
};

struct KernelParameter {
  uint32_t offset = 0, bytes = 0; ///< in the parameters of a launch
};

struct Entry {
  std::string name;
  std::vector<KernelParameter> parameters;
  uint32_t block = 0;       ///< threads that .reqntid asks for; 0: any number
  uint32_t sharedBytes = 0; ///< what the module itself declares
};

/// Of a grid or a block, which have one dimension here.
struct Dimensions {
  uint32_t x = 1;
};

/// What one instruction asks of global memory, for lanes of a warp.
struct WarpAccess {
  bool writes;
  uint32_t bytes; ///< for each lane
  std::vector<uint64_t> addresses;
};

struct Launch {
  std::string entry;
  Dimensions grid, block;
  /// The only blocks that run; none: all.
  std::vector<uint32_t> blocks;
  /// Hears of every access, if somebody listens.
  std::function<void(const WarpAccess &)> observe;
  std::vector<std::byte> parameters;
  uint64_t seed = 0;
  /// Draws how far results of .approx are off, within their bounds: of one
  /// number and one input always as far.
  uint64_t errors = 0;
};

/// What a launch did with global memory: ranges that do not touch each other.
struct Accesses {
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> read, written;
};

struct Counters {
  uint64_t laneInstructions = 0;
};

class Program; // Program.h

class Module {
public:
  /// Null, and `error`, for text that is not understood.
  static std::unique_ptr<Module> parse(const std::string &text,
                                       std::string &error);
  ~Module();

  const Entry *find(const std::string &name) const;

  /// Runs it to its end. False, and `error` with the place, for the first
  /// fault.
  bool run(const Launch &launch, Memory &memory, std::string &error,
           Accesses *accesses = nullptr, Counters *counters = nullptr) const;

private:
  Module();
  std::unique_ptr<Program> program;
};

} // namespace ptx

#endif // PP_TEST_GPU_PTX_PTX_H
