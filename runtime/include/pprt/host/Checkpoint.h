//===- Checkpoint.h - the state of a run, on disk ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint is a folder `step-N`, after N steps:
//
//   rank-R.safetensors   the parts that rank R gives (argumentParts())
//   metrics.jsonl        the lines of --metrics of all steps so far
//   index.json           names the parts of each tensor; written last, so that
//                        it exists only if everything else is complete
//
// A part is a box of a tensor, so a run on another mesh reads what its ranks
// hold, whoever wrote it. Nothing in a checkpoint is trusted: parts must tile
// their tensors, and files must have the index's id, and tensors their digests.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_CHECKPOINT_H
#define PPRT_HOST_CHECKPOINT_H

#include "pprt/Session.h"
#include "pprt/host/SafeTensors.h"

#include <map>
#include <set>
#include <tuple>

#pragma GCC visibility push(default)
namespace pprt::host {

struct CheckpointTensor {
  ppx::ElementType element = ppx::ElementType_f32;
  std::vector<uint64_t> shape;
  /// Whether it is a parameter or state of the model.
  bool isModels = false;
  /// They tile the tensor. `rank` says which file; `argument` is not used.
  std::vector<ArgumentPart> parts;
};

/// What index.json says.
struct CheckpointIndex {
  uint64_t step = 0; ///< steps done
  uint64_t seed = 0;
  std::string id;    ///< the same in all files of a checkpoint
  std::string plan;  ///< `#pp.plan<...>` of the run
  std::string model; ///< a digest of what it computes; may be empty
  std::string data;  ///< --data
  uint32_t dataFingerprint = 0;
  std::string metricsDigest; ///< of metrics.jsonl
  /// Shapes of the batch by input: a step is a place in the data by them.
  std::map<std::string, std::vector<uint64_t>> inputs;
  std::map<std::string, CheckpointTensor> tensors;
};

/// Returns the index of the session's state.
CheckpointIndex indexOf(const Session &session);
std::string printIndex(const CheckpointIndex &index);
/// Fails (badParameters) if `text`, the content of file `name`, is no index.
Expected<CheckpointIndex> parseIndex(const std::string &name,
                                     const std::string &text);

class Checkpoint {
public:
  /// Opens a checkpoint, or the newest one of a folder of them. Fails
  /// (badParameters) if there is none.
  static Expected<Checkpoint> open(const std::string &path);
  /// The same of those whose files checkFiles() takes: if the newest one of a
  /// folder is damaged, an earlier one. `warning` says so, or is empty.
  static Expected<Checkpoint> openWhole(const std::string &path,
                                        std::string &warning);
  /// Fails (badParameters) if a file is missing or damaged, as far as that is
  /// visible without reading its tensors.
  Status checkFiles() const;

  const CheckpointIndex &index() const { return its; }
  /// The folder `step-N`.
  const std::string &path() const { return folder; }
  /// Lines of --metrics of all steps so far. Fails (badParameters) if they are
  /// not those that were written.
  Expected<std::string> metrics() const;

  /// Checks that load() would find what it needs: fails (badParameters) unless
  /// the checkpoint has the parameters and states of the artifact, and no
  /// others; or, of the model alone, the parameters.
  Status expect(const ppx::ArtifactT &artifact, bool ofModelAlone) const;
  /// Sets the session's parameters and states, or those of the model alone.
  /// Each process reads the parts that its ranks hold. Fails (badParameters) if
  /// a digest differs.
  Status load(Session &session, bool ofModelAlone);

private:
  Checkpoint(std::string folder, CheckpointIndex index)
      : folder(std::move(folder)), its(std::move(index)) {}
  /// Opens the file of a rank and checks that it is of this checkpoint.
  Expected<SafeTensors> openFile(uint32_t rank) const;
  /// The same for load(), which keeps some open.
  Expected<const SafeTensors *> fileOf(uint32_t rank);
  /// Reads runs of a part. Each of its pieces is compared with its digest when
  /// it is read first.
  Status readPart(const SafeTensors &file, const ArgumentPart &part,
                  const std::string &name, ppx::ElementType element,
                  const std::vector<ElementRun> &runs);
  Status readPiece(const SafeTensors &file, const std::string &name,
                   uint64_t piece, const std::vector<ElementRun> &runs,
                   uint64_t width, size_t thread);
  Status read(const std::string &name, const std::vector<ElementRun> &runs);

  std::string folder;
  CheckpointIndex its;
  std::map<uint32_t, SafeTensors> files; ///< by rank, while load() runs
  /// Rank, tensor and piece of what was compared.
  std::set<std::tuple<uint32_t, std::string, uint64_t>> checked;
  std::vector<std::vector<std::byte>> buffers; ///< each for a piece
};

/// A folder of checkpoints that this process alone writes to.
class CheckpointFolder {
public:
  /// Creates and locks it. Fails (io) if that is impossible, or (usage) if a
  /// running process has it.
  static Expected<CheckpointFolder> lock(const std::string &path);
  CheckpointFolder(CheckpointFolder &&other) noexcept;
  CheckpointFolder &operator=(CheckpointFolder &&) = delete;
  ~CheckpointFolder();

  const std::string &path() const { return name; }

  /// Removes checkpoints behind step `newest`, all but `keep` of the others,
  /// and what unfinished saves have left. Goes on behind a failure, and returns
  /// the first.
  Status clean(uint64_t newest, uint64_t keep) const;
  /// Renames a checkpoint, so that it is none of this folder.
  Status setAside(uint64_t step) const;
  /// Makes an empty folder for the files of a step.
  Status prepare(uint64_t step) const;
  /// Adds `metrics`, the lines of all steps, and the index, with which the
  /// checkpoint exists.
  Status commit(CheckpointIndex index, const std::string &metrics) const;
  Status remove(uint64_t step) const;

private:
  CheckpointFolder(std::string name, int descriptor)
      : name(std::move(name)), descriptor(descriptor) {}

  std::string name;
  int descriptor;
};

/// Whether a folder is a checkpoint.
bool isCheckpoint(const std::string &folder);
/// Returns the steps of a folder's checkpoints, ascending; none if there is no
/// such folder. Fails (io) if the system does not say.
Expected<std::vector<uint64_t>> stepsOf(const std::string &folder);
std::string stepFolder(const std::string &folder, uint64_t step);
/// The index of a step's checkpoint, whose time is that of the checkpoint.
std::string indexFile(const std::string &folder, uint64_t step);
/// The file that lock() locks.
std::string lockFile(const std::string &folder);
/// Whether a running process has the folder. Fails (io) if the system does not
/// say.
Expected<bool> isLocked(const std::string &folder);
/// A file by which processes see whether they share the folder; clean() removes
/// it.
std::string probeFile(const std::string &folder, const std::string &run);

/// What this process gives to a checkpoint.
class CheckpointCopy {
public:
  CheckpointCopy(const Session &session, RankRange ranks);
  ~CheckpointCopy();
  CheckpointCopy(const CheckpointCopy &) = delete;
  CheckpointCopy &operator=(const CheckpointCopy &) = delete;

  uint64_t bytes() const;
  /// Copies the parts of the ranks. The copy's memory is kept.
  Status take(const Session &session);
  /// Writes the copies of ranks to a step's folder. Fails (io), or (nonFinite)
  /// if a parameter is not finite. May run beside the session.
  Status write(const std::string &folder, const std::string &id) const;

private:
  struct [[gnu::visibility("hidden")]] Part;
  static Status writeRank(const std::string &path, const std::string &id,
                          const std::vector<Part> &its);

  std::map<uint32_t, std::vector<Part>> parts; ///< by rank
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_CHECKPOINT_H
