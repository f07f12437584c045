//===- PlanKeys.h - the keys of a plan --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rows of PlanKeys.def and values for them: `dp=2 zero=1`, as text that
// fits its key. No other code knows a key by name.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PLANKEYS_H
#define PP_IR_PLANKEYS_H

#include "pp/IR/Enums.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace pp {

enum class PlanKey : unsigned {
#define PP_PLAN_AXIS(id, ...) id,
#define PP_PLAN_INT(id, ...) id,
#define PP_PLAN_REAL(id, ...) id,
#define PP_PLAN_WORD(id, ...) id,
#define PP_PLAN_PAIR(id, ...) id,
#define PP_PLAN_LINKS(id, ...) id,
#define PP_PLAN_RATES(id, ...) id,
#define PP_PLAN_BYTES(id, ...) id,
#define PP_PLAN_NAMES(id, ...) id,
#define PP_PLAN_REALS(id, ...) id,
#include "pp/IR/PlanKeys.def"
};

/// A row of the table.
struct PlanKeyInfo {
  enum class Place { Axis, Setting, Seeds, Optimizer };
  enum class Type { Int, Real, Word, Pair, Links, Rates, Bytes, Names, Reals };

  PlanKey key;
  llvm::StringLiteral name;
  Place place;
  Type type;
  /// For an axis: its name in the mesh, and the kind of its coordinates.
  llvm::StringLiteral axis = "";
  AxisKind kind = AxisKind::Space;
  llvm::StringLiteral byDefault = "";
  /// For an Int: its range.
  int64_t least = 0, most = 0;
  /// For a Word: its values, separated by '|'.
  llvm::StringLiteral words = "";
  /// `key`, `key|other` or `key=a|b`: the keys (one suffices) without which
  /// this one has no effect. Or `devices`, of which it needs several.
  llvm::StringLiteral onlyWith = "";
  llvm::StringLiteral help = "";
  /// The pass that obeys the key; all passes obey an axis.
  llvm::StringLiteral obeyedBy = "";

  /// The keys of `onlyWith`, one of which suffices.
  llvm::SmallVector<PlanKey, 3> getNeeded() const;

  /// Whether a pass obeys it that makes gradients or the update of a model, so
  /// that it says nothing of a step that has these.
  bool isOfTraining() const;

  bool needsDevices() const { return onlyWith == "devices"; }

  /// True if the plan stores it under its key.
  bool isSetting() const {
    return place == Place::Setting || place == Place::Seeds;
  }

  /// More shards than any tensor has: a typing error.
  static constexpr int64_t kMaxDegree = 1 << 24;
};

/// All rows, by PlanKey.
llvm::ArrayRef<PlanKeyInfo> getPlanKeys();
const PlanKeyInfo &getInfo(PlanKey key);
/// The row of the key that a user spells `name`, or null.
const PlanKeyInfo *lookupPlanKey(llvm::StringRef name);

/// What `value` should be, such as "a number from 1 to 1024"; empty if it fits.
std::string explainMisfit(const PlanKeyInfo &info, llvm::StringRef value);

/// Why `info` has no effect beside `got`: "remat=none", "none" of the keys that
/// it needs, or "one" device.
std::string explainIdle(const PlanKeyInfo &info, llvm::StringRef got);

/// A number for all names that a pattern matches.
struct RealOf {
  std::string pattern;
  double number;
};
/// Reads `wte.*:1e-4, *.bias:0`; nothing if it is no such list.
std::optional<llvm::SmallVector<RealOf>> parseReals(llvm::StringRef text);

/// One line per key: its name, help, words and default.
std::string describePlanKeys();

/// Values for some keys, as users spell them.
class PlanOptions {
public:
  PlanOptions() = default;
  PlanOptions(
      std::initializer_list<std::pair<const PlanKey, std::string>> values)
      : values(values) {}

  /// `value` need not fit; check() finds it.
  void set(PlanKey key, llvm::StringRef value) { values[key] = value.str(); }
  void set(PlanKey key, int64_t value) { values[key] = std::to_string(value); }
  void unset(PlanKey key) { values.erase(key); }
  bool isSet(PlanKey key) const { return values.count(key) != 0; }
  /// The same, but false for an axis of one device.
  bool isPresent(PlanKey key) const;
  bool empty() const { return values.empty(); }

  /// The value of `key`, or its default; check() has found nothing.
  llvm::StringRef getWord(PlanKey key) const;
  int64_t getInt(PlanKey key) const;
  /// Nothing if absent, since the default depends on other keys.
  std::optional<double> getReal(PlanKey key) const;
  std::optional<std::pair<double, double>> getPair(PlanKey key) const;

  /// What was set.
  const std::map<PlanKey, std::string> &getValues() const { return values; }

  /// Devices: the product of all axes except time, saturated at the largest
  /// number.
  int64_t getRanks() const;

  /// True if `key` has an effect beside the other keys.
  bool hasEffect(PlanKey key) const;
  /// Whether a key without effect is no mistake.
  bool isMeantIdle(PlanKey key) const;

  /// The first error that does not depend on the module: a value that does not
  /// fit its key, or has no effect beside the others. Empty if there is none.
  std::string check() const;

private:
  std::map<PlanKey, std::string> values;
};

} // namespace pp

#endif // PP_IR_PLANKEYS_H
