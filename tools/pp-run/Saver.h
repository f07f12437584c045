//===- Saver.h - checkpoints of a training run ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Between two steps the processes agree whether to save (Vote). Then each
// copies what its ranks give and writes it in the background. Once all have
// written, process 0 adds the index, in the background, too.
//
// A save that fails is told, and training goes on: the next one may succeed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SAVER_H
#define PP_RUN_SAVER_H

#include "Options.h"
#include "pprt/World.h"
#include "pprt/host/Background.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Checkpoint.h"
#include "pprt/host/Report.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace pp::run {

/// What a process votes for between two steps.
enum Vote : uint32_t {
  stops = 1,  ///< a signal has arrived
  saves = 2,  ///< it is time for a checkpoint
  writes = 4, ///< is still writing one
  fails = 8   ///< could not write it
};

/// The vote, if it holds.
inline uint32_t voteIf(bool holds, Vote vote) {
  return holds ? uint32_t(vote) : 0;
}

class Saver {
public:
  /// Sets the parameters and states with which the run began.
  using Restart = std::function<pprt::Status()>;

  /// Collective, as are all calls but votes(). Locks the folder. `step` is the
  /// number of steps done, and `resumed` the checkpoint after them; empty:
  /// none. Fails (usage) if the folder has checkpoints of another run, or a
  /// running process writes to it; (io) if it cannot be written, or if a
  /// process sees another folder. Later checkpoints than the resumed one are
  /// set aside.
  static pprt::Expected<std::unique_ptr<Saver>>
  open(const Options &options, pprt::Session &session,
       const pprt::host::Batches &batches, pprt::World &world, uint64_t step,
       const std::string &resumed, Restart restart);

  /// Returns this process's votes after so many steps.
  uint32_t votes(uint64_t step) const;
  /// The same between steps, where no save begins.
  uint32_t votes() const {
    return voteIf(underWay && task.isBusy(), Vote::writes);
  }
  /// Goes on with the save under way, unless a process is still writing.
  void settle(uint32_t votes);
  /// Begins to save the state after `step` steps, with none in flight.
  /// `lines` are those of --metrics of all of them.
  void save(uint64_t step, const std::string &lines);
  /// Saves the last state, unless it is saved, and waits. Fails if it is not
  /// saved then.
  pprt::Status saveLast(uint64_t step, const std::string &lines);
  /// Goes back to this run's newest checkpoint of at most `most` steps, or to
  /// its beginning. Returns the number of steps done. The next save removes
  /// later checkpoints.
  pprt::Expected<uint64_t> goBack(uint64_t most);
  /// Whether goBack() would throw away all that is saved.
  bool lacks(uint64_t most) const { return !own.empty() && own.front() > most; }

  /// The newest checkpoint of this run; empty: none.
  std::string file() const;
  /// Says where the run can go on; empty: nowhere.
  std::string advice() const;
  /// Ends a save under way, as far as this process can, and tells of all.
  std::vector<pprt::host::CheckpointReport> endReports();

private:
  Saver(const Options &options, pprt::Session &session, pprt::World &world,
        Restart restart);
  bool isFirst() const { return world.process() == 0; }
  pprt::Status agree(const pprt::Status &mine) const {
    return world.agree(mine).first;
  }
  /// Waits for the save under way in all processes.
  void finish();
  /// The same for its part that runs.
  void advance();
  /// The end of a save, of which all know whether it succeeded; `mine` says why
  /// this process did not.
  void close(bool isSaved, const pprt::Status &mine);
  /// Whether all have succeeded. A save that fails ends no run, so it is no
  /// failure to agree on.
  bool haveAll(const pprt::Status &mine) const;

  const Options &options;
  pprt::Session &session;
  pprt::World &world;
  const Restart restart;
  std::optional<pprt::host::CheckpointFolder> folder; ///< in process 0
  std::string run;                                    ///< that no other run has
  pprt::host::CheckpointIndex index;
  pprt::host::CheckpointCopy copy;
  std::string metrics; ///< of the save under way
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  std::optional<uint64_t> underWay; ///< step
  std::vector<uint64_t> own; ///< steps of this run's checkpoints, ascending
  bool tells = true;         ///< of failures, which are not returned
  bool isWritten = false; ///< whether the save under way lacks the index alone
  uint64_t begun = 0;     ///< steps done when the run began
  pprt::Status failure;   ///< of the last save
  pprt::Status cleaned;   ///< whether older checkpoints went behind it
  std::vector<pprt::host::CheckpointReport> done;
  pprt::host::Background task; ///< uses the rest
};

} // namespace pp::run

#endif // PP_RUN_SAVER_H
