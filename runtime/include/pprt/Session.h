//===- Session.h - an artifact, loaded and running --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed checkArtifact(), values of its parameters, and a
// global batch per step. Out: its outputs, the updated parameters, and measured
// times and memory. Tensors go in and out whole, dense and without padding,
// however they are split; the session handles the shards.
//
// Several processes may share a run: each holds some of the ranks and makes the
// same calls with the same values. Calls that create, initialize, begin, step,
// end, read an argument or collect are then collective. Process 0 gets whole
// arguments and outputs; outputs of one element are known to all.
//
// The order of calls: create, initialize or setArgument, setInput, begin, then
// step as often as wanted, end. They come from one thread. After a failure a
// kernel may still run: see isStuck().
//
// A device that runs asynchronously to the host need not stop between two
// steps: instead of step(), submit() begins one, and wait() returns when the
// oldest step under way has ended. Its outputs are then available while the
// next step runs.
//
// Products computed by OpenBLAS set its number of threads in the process to 1
// when a session is created: it must stay so while sessions run.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_SESSION_H
#define PPRT_SESSION_H

#include "pprt/ArgumentParts.h"
#include "pprt/DeviceMemory.h"
#include "pprt/Execution.h"
#include "pprt/Initialize.h"
#include "pprt/Mesh.h"
#include "pprt/Program.h"
#include "pprt/Rows.h"
#include "pprt/TransportModel.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

class World;

/// Returns the number of cores that this process may use, at least one: a
/// taskset limits them, and in a container the number is the whole cores whose
/// time it may use.
unsigned coreCount();

/// Returns the devices that programs can run on: "cpu", "cuda", an NVIDIA GPU,
/// and "null", which computes nothing and counts.
std::vector<std::string> deviceNames();

/// Returns the processor level that compiled kernels may need on such a device
/// (pprt/Processor.h), or fails with what this machine lacks.
Expected<std::string> deviceProcessor(const std::string &name);
/// Returns the transport model of ranks with such a device each, in a world of
/// that model; a session may need less (Session::transportModel()).
TransportModel deviceModel(const std::string &name, TransportModel ofWorld);

struct SessionOptions {
  /// One of deviceNames().
  std::string device = "cpu";
  /// Finds compiled kernels; if empty, they come from the artifact's object.
  KernelResolver resolver;
  /// Threads per rank on processors; 0: the artifact's number, or if it has
  /// none, the cores divided by the ranks.
  unsigned threadsPerRank = 0;
  /// Without progress on any rank for this long, step() fails and reports which
  /// ranks wait for which. A running kernel is progress. 0: waits forever.
  double hangTimeoutSeconds = 30;
  /// Called a few times a second while a section runs. Once it returns true, a
  /// section in which nothing happens for two seconds fails (interrupted).
  std::function<bool()> isInterrupted;
  /// Whether to record the first step on devices that can, and replay it from
  /// then on, which costs less host time. Recorded instructions have no times.
  bool graph = true;
  /// Processes that share the run; if empty, this one runs all ranks.
  std::shared_ptr<World> world;
  /// Whether process 0 alone makes the calls, while the others repeat them in
  /// followSessions().
  bool leads = false;
};

/// Makes the calls that process 0 makes to sessions that lead, until it calls
/// endFollowing(). Compiled kernels come from the artifact's object, unless
/// `resolver` finds them.
Status followSessions(std::shared_ptr<World> world,
                      const KernelResolver &resolver = {});
Status endFollowing(World &world);

class Session {
public:
  static Expected<std::unique_ptr<Session>>
  create(std::shared_ptr<const ppx::ArtifactT> artifact,
         const SessionOptions &options = {});
  ~Session();

  const ppx::ArtifactT &artifact() const;
  const Mesh &mesh() const;
  /// One of deviceNames(), followed by " (emulated)" for an emulated GPU.
  const std::string &device() const;
  /// Returns the model of the transport between its ranks.
  const TransportModel &transportModel() const;
  /// 0 if the host runs no kernels, as with a GPU.
  unsigned threadsPerRank() const;
  /// Whether the ranks' threads exceed the cores: times then measure the
  /// machine's scheduler, not the program. Never on a GPU, which measures its
  /// own times.
  bool oversubscribed() const;

  /// Sets every parameter and state to its initializer's values, except the
  /// arguments, by index, whose entry in `keeps` is not 0; missing entries are
  /// 0. Fails (ranksDisagree) unless all processes pass the same.
  Status initialize(uint64_t seed, const std::vector<uint8_t> &keeps = {});

  std::optional<uint32_t> findArgument(const std::string &name) const;
  // Setters refuse an unknown argument number (badParameters). Getters return
  // no bytes, null or NaN for an unknown output number.

  /// Returns the bytes of the whole argument or output.
  uint64_t argumentBytes(uint32_t argument) const;
  uint64_t outputBytes(uint32_t output) const;

  /// Writes a parameter or state into every shard here that holds a part of it.
  /// Fails (badParameters) unless `bytes` is argumentBytes().
  Status setArgument(uint32_t argument, const void *values, uint64_t bytes);
  /// The same with a function that fills parts of it, in ascending order: the
  /// parts held by ranks of this process, each once; all of it if the session
  /// leads. Returns the function's failure.
  using ElementReader = std::function<Status(const std::vector<ElementRun> &)>;
  Status readArgument(uint32_t argument, const ElementReader &read);
  /// Reads it back in process 0, each part from its first holder. Other
  /// processes do not write `values`, which may be null.
  Status getArgument(uint32_t argument, void *values, uint64_t bytes) const;

  /// Reads a part whose rank is in this process; `values` holds its elements,
  /// row-major. Not collective.
  Status getPart(const ArgumentPart &part, std::byte *values) const;

  /// Sets every parameter and state to the value of the same name in another
  /// session of the same processes, ranks and kind of device: each rank copies
  /// its part if both sessions have the same part there, else the whole goes
  /// through process 0. Collective; for sessions that do not lead. Fails
  /// (badParameters) unless `other` has each in the same type and shape.
  Status copyArguments(const Session &other);

  /// Sets the global batch of an input or label for the following steps; keeps
  /// a copy. Fails (badParameters) unless `bytes` is argumentBytes() and all
  /// integers are below the argument's bound.
  Status setInput(uint32_t argument, const void *values, uint64_t bytes);

  /// The same without a copy: begin() and step() read `values`, which stay as
  /// they are until the input is given anew or the session ends; if it is
  /// stuck, as long as the process. For sessions whose stepsAhead() is 1.
  Status lendInput(uint32_t argument, const void *values, uint64_t bytes);

  /// The same for some rows, packed, which include inputRows(). Not for a
  /// session that leads.
  Status setInputRows(uint32_t argument, const Rows &rows, const void *values,
                      uint64_t bytes);
  /// Returns the rows that ranks of this process load.
  const Rows &inputRows(uint32_t argument) const;

  /// These fail (usage) if called out of order, or if a parameter or state has
  /// no value or a loaded input no batch, and then change nothing; but if one
  /// process of several lacks a batch, the session fails. After any other
  /// failure they return it again.
  /// Runs the setup. `steps` were done before, by another session.
  Status begin(uint64_t steps = 0);
  Status step(); ///< runs the body: submit() and wait()
  Status end();  ///< runs the teardown
  /// Number of steps that may be under way; if it is 1, submit() runs the step.
  unsigned stepsAhead() const;
  /// Begins a step with the current inputs, which may be set anew once this
  /// returns. Arguments cannot be set or read until all steps are waited for.
  Status submit();
  Status wait();
  /// Returns whether wait() would return without waiting for a device of this
  /// process. Not collective.
  bool hasEnded() const;
  /// The failure that all calls return again; ok if none has failed.
  const Status &failure() const;

  /// Whether a failure left a thread inside a kernel. It may still write to
  /// everything below: arguments are refused, and the rest must not be read. It
  /// uses the session's memory and code, which therefore stay until the process
  /// ends: by _exit(), since a normal exit would destroy them.
  bool isStuck() const;

  /// Whether there are values at all: "null" has none, so its outputs stay
  /// zeros and its arguments cannot be read.
  bool keepsValues() const;
  /// Output of the last step that was waited for; not to be called between
  /// submit() and wait() if stepsAhead() is 1.
  const void *output(uint32_t output) const;
  /// Returns the value of an output with one element.
  double scalar(uint32_t output) const;

  /// Collects the measurements of all ranks in process 0: before this, and in
  /// other processes, only those of a process's own ranks are known.
  Status collect();
  /// Largest error of times of one device against those of another, in seconds,
  /// in the last step: all are converted to the clock of process 0. 0 for one
  /// device.
  double clockError() const;
  /// By instruction of the section's list, from the section's last run.
  const std::vector<InstructionTime> &times(uint32_t rank,
                                            Section section) const;
  /// The highest arena byte ever written, plus the most heap memory that the
  /// rank's threads held while they ran (if that is counted). 0 if it is not
  /// measured, as on GPUs.
  uint64_t measuredPeakBytes(uint32_t rank) const;
  /// Counts of the device since the session was made, for the ranks here.
  /// "null" counts launches, copies, flags, the comm ops of each rank, and the
  /// bytes that it would have sent in them; "cpu" counts nothing.
  std::vector<NamedCount> counters() const;
  /// Returns the products of this process's devices whose epilogues a library
  /// has refused, each once.
  std::vector<UnfusedProduct> unfusedProducts() const;
  /// Returns the memory taken on the devices of this process, by name, and on
  /// other devices as far as collected. Only "cuda" reports it; other devices
  /// have nothing but arenas.
  std::vector<DeviceMemory> deviceMemory() const;
  /// Number of heap allocations by the rank's threads while they ran.
  uint64_t allocationCount(uint32_t rank) const;

private:
  struct [[gnu::visibility("hidden")]] State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_SESSION_H
