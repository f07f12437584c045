//===- Session.h - an artifact, loaded and running --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed checkArtifact(), values of its parameters, and a
// global batch per step. Out: what it emits, the updated parameters, and what
// was measured: times and memory. Tensors go in and out whole,
// dense and without padding, however they are split; shards are the session's
// business.
//
// A run may be shared by several processes, each of which holds some of the
// ranks and makes the same calls with the same values. Those that create,
// initialize, begin, step, end, read an argument or collect are then
// collective. What is read whole is whole in process 0; outputs of one element
// are known to all.
//
// The order of calls: create, initialize or setArgument, setInput, begin, then
// step as often as wanted, end. They come from one thread. After a failure a
// kernel may still run: see isStuck().
//
// A device that runs behind the host need not wait for it between two steps:
// instead of step(), submit() begins one, and wait() returns when the oldest
// that was begun has ended. Then its outputs are there, while the next one
// runs.
//
// Products that OpenBLAS computes set the process's number of its threads to 1
// when a session is created: it stays so while sessions run.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_SESSION_H
#define PPRT_SESSION_H

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

/// The cores that this process may use: of a taskset fewer than the machine
/// has, of a container as many whole ones as it may use the time of; at least
/// one.
unsigned coreCount();

/// What programs can run on: "cpu", "cuda", which is a GPU of NVIDIA, and
/// "null", which computes nothing and counts.
std::vector<std::string> deviceNames();

/// What compiled kernels may need of such a device (pprt/Processor.h), or what
/// is missing here for there to be one.
Expected<std::string> deviceProcessor(const std::string &name);
/// What ranks on such devices need to meet, each on one of its own, in a world
/// of that model; that of a session may be less (Session::transportModel()).
TransportModel deviceModel(const std::string &name, TransportModel ofWorld);

struct SessionOptions {
  /// One of deviceNames().
  std::string device = "cpu";
  /// Finds compiled kernels; if empty they come from the artifact's object.
  KernelResolver resolver;
  /// Threads inside a rank, of processors; 0 takes the artifact's, or if it has
  /// none, the cores divided by the ranks.
  unsigned threadsPerRank = 0;
  /// Without progress on any rank for this long, step() fails with a report of
  /// who waits on whom. A kernel that runs is progress. 0 waits forever.
  double hangTimeoutSeconds = 30;
  /// Asked a few times a second while a section runs. Once it says so, a
  /// section in which nothing happens for two seconds fails (interrupted).
  std::function<bool()> isInterrupted;
  /// Whether a device that can records the first step, and plays it from then
  /// on: that costs less of the host's time. Of instructions that were recorded
  /// there are no times.
  bool graph = true;
  /// The processes that share the run; if empty, this one runs all ranks.
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
  /// One of deviceNames(); emulated of a GPU, with " (emulated)".
  const std::string &device() const;
  /// How its ranks meet.
  const TransportModel &transportModel() const;
  /// 0 where kernels are none of the host's: on a GPU.
  unsigned threadsPerRank() const;
  /// Whether the ranks' threads exceed the cores: times then measure the
  /// machine's scheduler, not the program. Never on a GPU, whose times are its
  /// own.
  bool oversubscribed() const;

  /// Gives every parameter and state the values of its initializer, but those
  /// arguments for which `keeps` says otherwise, by index: the rest is 0. Fails
  /// (ranksDisagree) unless all processes give the same.
  Status initialize(uint64_t seed, const std::vector<uint8_t> &keeps = {});

  std::optional<uint32_t> findArgument(const std::string &name) const;
  // A number that no argument has is refused (badParameters), and one that no
  // output has is of nothing: no bytes, null, NaN.

  /// Bytes of the whole argument or output.
  uint64_t argumentBytes(uint32_t argument) const;
  uint64_t outputBytes(uint32_t output) const;

  /// Writes a parameter or state into every shard here that holds a part of it.
  /// Fails (badParameters) unless `bytes` is argumentBytes().
  Status setArgument(uint32_t argument, const void *values, uint64_t bytes);
  /// The same by a function that fills parts of it, in ascending order: those
  /// that the ranks of this process hold, each once; where the session leads,
  /// all of it. The function's failure is returned.
  using ElementReader = std::function<Status(const std::vector<ElementRun> &)>;
  Status readArgument(uint32_t argument, const ElementReader &read);
  /// Reads it back, each part from its first holder, in process 0. Others leave
  /// `values` alone, which may be null.
  Status getArgument(uint32_t argument, void *values, uint64_t bytes) const;

  /// The global batch of an input or label for the following steps; a copy is
  /// kept. Fails (badParameters) unless `bytes` is argumentBytes(), and all
  /// integers are below the argument's bound.
  Status setInput(uint32_t argument, const void *values, uint64_t bytes);

  /// The same of some rows of it, packed: at least of inputRows(). Not for a
  /// session that leads.
  Status setInputRows(uint32_t argument, const Rows &rows, const void *values,
                      uint64_t bytes);
  /// Those that ranks of this process load.
  const Rows &inputRows(uint32_t argument) const;

  /// These fail (usage) in another order, or if a parameter or state has no
  /// value or an input that is loaded no batch, and change nothing then; but
  /// where one process of several lacks a batch the session fails. After any
  /// other failure they return it again.
  Status begin(); ///< runs the setup
  Status step();  ///< runs the body: submit() and wait()
  Status end();   ///< runs the teardown
  /// So many steps may be under way; if it is one, submit() runs it.
  unsigned stepsAhead() const;
  /// With the inputs that are set now; they may be set anew once this returns.
  /// Arguments can be neither set nor read before all steps are waited for.
  Status submit();
  Status wait();
  /// Whether wait() need not wait for any device of this process. Not a
  /// collective call.
  bool hasEnded() const;
  /// What they return again; ok while they have not failed.
  const Status &failure() const;

  /// Whether a failure left a thread inside a kernel. It may still write to
  /// everything below: arguments are refused, the rest must not be read. It
  /// uses the session's memory and code, which therefore stay, until the
  /// process ends: by _exit(), since a proper end would destroy them.
  bool isStuck() const;

  /// Whether there are values at all: "null" has none, so that outputs stay
  /// zeros and arguments cannot be read.
  bool keepsValues() const;
  /// What the last step emitted that was waited for; not to be asked between
  /// submit() and wait() where stepsAhead() is one.
  const void *output(uint32_t output) const;
  /// The same of an output with one element.
  double scalar(uint32_t output) const;

  /// Brings what was measured of the ranks of all processes to process 0: until
  /// then, and in others, only that of a process's own ranks is known.
  Status collect();
  /// The most by which times of one device may be wrong against those of
  /// another one, in seconds: all are brought to the clock of process 0. Of the
  /// last step; 0 of one device.
  double clockError() const;
  /// By instruction of the section's list; of the section's last run.
  const std::vector<InstructionTime> &times(uint32_t rank,
                                            Section section) const;
  /// The highest arena byte that was ever written, plus the most that the
  /// rank's threads held from the heap while they ran (if that is counted). 0
  /// where nobody measures: of GPUs.
  uint64_t measuredPeakBytes(uint32_t rank) const;
  /// What the device counted since the session was made, for the ranks here. Of
  /// "null": launches, copies, flags, the comm ops of each rank, and the bytes
  /// that it would have sent in them; of "cpu" nothing.
  std::vector<NamedCount> counters() const;
  /// Products of this process's devices whose epilogues a library has refused,
  /// each once.
  std::vector<UnfusedProduct> unfusedProducts() const;
  /// What this process takes of its devices, those that the session's device
  /// has, by name, and others as far as collected: "cuda" tells, the rest have
  /// nothing but arenas.
  std::vector<DeviceMemory> deviceMemory() const;
  /// Heap allocations made by the rank's threads while they ran.
  uint64_t allocationCount(uint32_t rank) const;

private:
  struct [[gnu::visibility("hidden")]] State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_SESSION_H
