//===- MemoryFit.h - plans that need less memory ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model and the keys of a plan. Out: plans with other keys, each compiled
// and predicted, so that a user sees what each key saves and costs.
//
//===----------------------------------------------------------------------===//
#ifndef PP_EXPLAIN_MEMORYFIT_H
#define PP_EXPLAIN_MEMORYFIT_H

#include "pp/Explain/Explain.h"
#include "pp/Transforms/Pipelines.h"

#include <functional>
#include <map>

namespace pp {

/// A plan with other keys, with its outcome or the reason why it is refused.
struct KeyTrial {
  /// The keys that differ: `zero=1 remat=full`.
  std::string change;
  /// All keys.
  std::string keys;
  std::optional<Outcome> outcome;
  std::string refusal;
};

class MemoryFit {
public:
  /// Makes options of keys that parseParallelize() accepts, for the same
  /// machine as the user's.
  using ReadKeys = std::function<PipelineOptions(const std::string &keys)>;

  /// `keys` are the user's; they name no plan file. A rank may have `limit`
  /// bytes, with those beside its arena.
  MemoryFit(mlir::ModuleOp model, std::string keys, uint64_t limit,
            ReadKeys read, MeasureBeside measureBeside);

  /// Tries each step of each key alone: stronger remat and ZeRO, bf16, more
  /// micro-batches, pp and tp instead of dp, sequence. Leaves out stronger
  /// steps that are refused. Where recomputation fits, remat=auto is tried,
  /// too. Of a searched order only its limit is tried, if it can be kept.
  std::vector<KeyTrial> tryAlone();

  /// Finds a plan for as many devices whose ranks fit: of those that change the
  /// fewest keys the fastest. Precision, which changes results, is changed if
  /// nothing else helps.
  std::optional<KeyTrial> find();

private:
  /// A key with stronger and stronger settings.
  struct Lever {
    std::vector<std::function<void(PlanOptions &)>> steps;
    bool changesResults = false;
    /// The step that uses up the limit of arenas, tried where another step
    /// fits.
    std::optional<size_t> toTheLimit;
  };
  /// Levers with the step of each.
  using Setting = std::map<size_t, size_t>;
  /// The lever of an order that is searched without a limit.
  static constexpr size_t kOrder = 0;

  void addLevers();
  std::optional<KeyTrial> tryOrder();
  std::string spell(const PlanOptions &changed, std::string &change) const;
  std::vector<const KeyTrial *> runAll(const std::vector<Setting> &settings);
  const KeyTrial *run(const Setting &setting) {
    return runAll({setting}).front();
  }
  std::optional<Setting> findAmong(const std::vector<size_t> &levers);
  std::optional<Setting> useUpLimit(const Setting &setting);
  Setting weaken(Setting setting);
  bool isPossible(const Setting &setting);
  bool isFaster(const Setting &setting, const std::optional<Setting> &best);

  mlir::ModuleOp model;
  std::string keys;
  uint64_t limit;
  ReadKeys read;
  MeasureBeside measureBeside;
  PlanOptions given;
  std::vector<Lever> levers;
  uint64_t limitOfArena; ///< beside a plan that fits
  /// What was tried, by setting.
  std::map<Setting, KeyTrial> trials;
};

} // namespace pp

#endif // PP_EXPLAIN_MEMORYFIT_H
