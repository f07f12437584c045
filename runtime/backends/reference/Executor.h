//===- Executor.h - the judge of programs and of their checks ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs an artifact as slowly and as plainly as possible: in one thread, one
// instruction at a time, nothing buffered, picking at random among all queue
// heads that may start: evenly, or by priorities that are drawn once, so that
// some queues starve for as long as they can. It stalls exactly if no head may
// start while some remain, so that a deadlock needs no timeout. In: an artifact
// of sound structure. Out: how the run ended, the races and clobbered reads
// that its own detectors saw, and the final bytes of every arena, for
// comparison between interleavings and with other backends. It shares no code
// with the static checks, which it judges.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_EXECUTOR_H
#define PPRT_BACKENDS_REFERENCE_EXECUTOR_H

#include "pprt/Program.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace pprt::reference {

/// One launch of a kernel. `scalars` are those of a compiled kernel: the rank's
/// coordinate on every mesh axis, the micro-batch, the step.
struct KernelCall {
  const ppx::KernelT &kernel;
  std::vector<uint8_t *> arguments;
  std::vector<int64_t> scalars;
};

/// A request for a rank's shard of an argument, to be written to `bytes`; for a
/// parameter or state before the setup, for an input at each load.
struct LoadCall {
  uint32_t rank;
  uint32_t argument;
  int64_t step, microBatch;
  uint8_t *bytes;
  uint64_t size;
};

/// How a device takes the instructions issued to it (pprt/IssueOrder.h).
enum class DeviceModel { channels, ordered, shared };

/// A place in the order of issue, compared as a pair.
using IssuePlace = std::pair<uint32_t, uint32_t>;

struct Options {
  DeviceModel model = DeviceModel::channels;
  /// For `ordered` and `shared`: the place of an instruction in the order of
  /// issue, given a rank, a section and an index into the rank's list.
  std::function<IssuePlace(uint32_t, Section, uint32_t)> place;
  /// Even seeds pick evenly, odd ones by priorities.
  uint64_t seed = 0;
  uint32_t steps = 2;
  bool watchMemory = true;
  /// Both may be empty: kernels and loads then leave memory as it is.
  std::function<void(const KernelCall &)> runKernel;
  std::function<void(const LoadCall &)> load;
};

enum class End {
  finished,  ///< all ranks ran their teardowns
  stalled,   ///< instructions remain and none may start
  mismatched ///< two sides of a comm op expected different things, or a shared
             ///< device was given instructions that do not meet as one
};

/// Identifies an emit in any interleaving: rank, output, step and micro-batch.
using EmitKey = std::tuple<uint32_t, uint32_t, int64_t, int64_t>;

struct Result {
  End end = End::finished;
  /// For a stall, every waiting head and what it waits for; for a mismatch,
  /// both sides.
  std::string reason;
  std::vector<std::string> races;
  /// Reads of bytes that were never written, or last through another slot; and
  /// writes to bytes that the same instruction reads through another argument.
  std::vector<std::string> clobbers;
  std::vector<std::vector<uint8_t>> arenas; ///< per rank
  std::map<EmitKey, std::vector<uint8_t>> emitted;
};

Result execute(const ppx::ArtifactT &artifact, const Options &options);

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_EXECUTOR_H
