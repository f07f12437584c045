//===- Emulator.h - what a test tells the emulated libcuda ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1 of test/gpu does what the driver does, on the processor, and is
// found by its name as the driver is. Who finds the symbol `ppEmulator` in it
// talks to an emulated library. Settings are lines of text, which a test hands
// over, or which the file named by the environment variable PP_EMULATED has.
// Each has a line of its own; the last one of a name holds:
//
//   seed N             which of the orders that CUDA leaves open; 0: all as
//                      late as can be, 1: all as early, others: drawn
//   fail CALL K CODE   the K-th call of that name, from 1 on, returns the
//   error.
//                      Names are those that the library exports: cuMemAlloc_v2.
//                      What only tells a name or a version never fails
//   fault CALL K CODE  it succeeds, and what it gave a stream fails there
//   devices N          1 unless told, 256 at most
//   other N            of them, numbered from 0, that one is of another model
//   memory BYTES       of a device
//   capability N       of all devices: 90, unless told, is sm_90
//   version N          of CUDA: 13000 is 13.0
//   errors N           of .approx, within their bounds; orders in which NCCL
//                      adds
//   algorithm N        which one cublasLt's heuristic names first
//   refuse N           has cublasLt no algorithm for this cublasLtEpilogue_t;
//                      65535: for none but the default one, 1
//   places N           for collectives on a device at a time, 3 unless told
//   drivers N          threads that give streams work: once so many wait or
//                      have ended and nothing can run, it is a fault
//   counts FILE        in which stands at the end how often each call was made
//   processes FOLDER   in which processes leave what NCCL carries between them;
//                      each has one rank. Without it all ranks are of one
//                      process. Runs do not mix in it, and nobody empties it.
//
// What is no such line, or no file, ends the process with code 2, and one line
// that says what was expected.
//
// Devices are seen as CUDA_VISIBLE_DEVICES has them: in the order of its
// entries, which are indices, up to the first one that is none.
//
// A fault is what a GPU would hide, or show on some days: two accesses without
// an order between them, the host in memory that a copy still uses. It is
// printed and ends the process, unless a test takes it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_STANDIN_H
#define PP_TEST_GPU_CUDA_STANDIN_H

#include <cstdint>

namespace emulated {

/// The symbol `ppEmulator`.
struct Control {
  /// As in a new process, with these settings, or if null those of PP_EMULATED.
  /// Handles and memory are gone.
  void (*reset)(const char *settings);
  /// Who takes faults; null: they end the process.
  void (*takeFaults)(void (*taker)(const char *fault));
  /// How many objects of which kind are still there; empty for none.
  const char *(*leaks)();
  /// How often the call was made.
  uint64_t (*count)(const char *call);
};

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_STANDIN_H
