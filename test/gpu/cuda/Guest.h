//===- Guest.h - what stand-ins of other libraries ask for ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// cublasLt gives a stream of the driver what it does there. So do stand-ins:
// libcuda's takes their operations, in the order of its scheduler, and looks at
// what they access as at its own. Calls of other libraries fail as the same
// settings say (StandIn.h), their objects are among its leaks.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_GUEST_H
#define PP_TEST_GPU_CUDA_GUEST_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace standin {

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

/// An operation of another library.
struct Guest {
  std::string what;
  std::function<bool(Access &)> run; ///< false after a fault
  int failure = 0;                   ///< of the driver, injected
};

/// What a call begins with.
struct Begin {
  int failure = 0; ///< injected, in the library's own numbers
  int late = 0;    ///< injected, for the operation
  int state = 0;   ///< of the driver: no context, or a device that failed
  uint64_t algorithm = 0; ///< the setting
};

/// The symbol `ppStandInHost`.
struct Host {
  Begin (*begin)(const char *call, bool needsContext);
  /// Takes an operation. A result of the driver.
  int (*submit)(void *stream, Guest guest);
  /// Of objects of a kind there is one more, or one less.
  void (*hold)(const char *kind, int change);
  void (*fault)(const char *what);
  void (*notModelled)(const char *what);
};

} // namespace standin

#endif // PP_TEST_GPU_CUDA_GUEST_H
