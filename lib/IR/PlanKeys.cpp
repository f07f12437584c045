//===- PlanKeys.cpp - the keys of a plan ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/PlanKeys.h"
#include "pp/Schedule/Topology.h"
#include "pprt/Bytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace pp;

using Place = PlanKeyInfo::Place;
using Type = PlanKeyInfo::Type;

static const PlanKeyInfo table[] = {
#define PP_PLAN_AXIS(id, key, axis, kind, help)                                \
  {PlanKey::id, key,  Place::Axis,                                             \
   Type::Int,   axis, AxisKind::kind,                                          \
   "1",         1,    PlanKeyInfo::kMaxDegree,                                 \
   "",          "",   help,                                                    \
   ""},
#define PP_PLAN_INT(id, key, place, def, least, most, with, help, pass)        \
  {                                                                            \
      PlanKey::id, key,   Place::place, Type::Int, "",   AxisKind::Space,      \
      def,         least, most,         "",        with, help,                 \
      pass},
#define PP_PLAN_REAL(id, key, place, def, with, help, pass)                    \
  {PlanKey::id, key, Place::place, Type::Real, "",  AxisKind::Space, def, 0,   \
   0,           "",  with,         help,       pass},
#define PP_PLAN_WORD(id, key, place, def, words, with, help, pass)             \
  {PlanKey::id, key,   Place::place, Type::Word, "",  AxisKind::Space, def, 0, \
   0,           words, with,         help,       pass},
#define PP_PLAN_PAIR(id, key, place, def, with, help, pass)                    \
  {PlanKey::id, key, Place::place, Type::Pair, "",  AxisKind::Space, def, 0,   \
   0,           "",  with,         help,       pass},
#define PP_PLAN_LINKS(id, key, place, def, with, help, pass)                   \
  {PlanKey::id, key, Place::place, Type::Links, "",  AxisKind::Space, def, 0,  \
   0,           "",  with,         help,        pass},
#define PP_PLAN_RATES(id, key, place, def, with, help, pass)                   \
  {PlanKey::id, key, Place::place, Type::Rates, "",  AxisKind::Space, def, 0,  \
   0,           "",  with,         help,        pass},
#define PP_PLAN_BYTES(id, key, place, def, with, help, pass)                   \
  {PlanKey::id, key, Place::place, Type::Bytes, "",  AxisKind::Space, def, 0,  \
   0,           "",  with,         help,        pass},
#define PP_PLAN_NAMES(id, key, place, def, with, help, pass)                   \
  {PlanKey::id, key, Place::place, Type::Names, "",  AxisKind::Space, def, 0,  \
   0,           "",  with,         help,        pass},
#define PP_PLAN_REALS(id, key, place, def, with, help, pass)                   \
  {PlanKey::id, key, Place::place, Type::Reals, "",  AxisKind::Space, def, 0,  \
   0,           "",  with,         help,        pass},
#include "pp/IR/PlanKeys.def"
};

ArrayRef<PlanKeyInfo> pp::getPlanKeys() { return table; }

const PlanKeyInfo &pp::getInfo(PlanKey key) {
  return table[static_cast<unsigned>(key)];
}

const PlanKeyInfo *pp::lookupPlanKey(StringRef name) {
  const PlanKeyInfo *info = llvm::find_if(
      table, [&](const PlanKeyInfo &info) { return info.name == name; });
  return info == std::end(table) ? nullptr : info;
}

bool PlanKeyInfo::isOfTraining() const {
  return llvm::is_contained(
      {"pp-lower-precision", "pp-differentiate", "pp-add-optimizer"}, obeyedBy);
}

SmallVector<PlanKey, 3> PlanKeyInfo::getNeeded() const {
  SmallVector<PlanKey, 3> keys;
  if (needsDevices())
    return keys;
  SmallVector<StringRef, 3> names;
  StringRef(onlyWith).split('=').first.split(names, '|', /*MaxSplit=*/-1,
                                             /*KeepEmpty=*/false);
  for (StringRef name : names)
    keys.push_back(lookupPlanKey(name)->key);
  return keys;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::optional<double> parseReal(StringRef text) {
  double number;
  // LLVM reads "1e" as 1, which is likely the rest of something else.
  bool isWhole = !text.empty() && (isDigit(text.back()) || text.back() == '.');
  bool isReal = isWhole && !text.getAsDouble(number) && std::isfinite(number) &&
                number >= 0;
  return isReal ? std::optional(number) : std::nullopt;
}

static std::optional<std::pair<double, double>> parsePair(StringRef text) {
  auto [first, second] = text.split(',');
  std::optional<double> a = parseReal(first), b = parseReal(second);
  if (!a || !b || *a >= 1 || *b >= 1)
    return std::nullopt;
  return std::pair(*a, *b);
}

std::optional<SmallVector<RealOf>> pp::parseReals(StringRef text) {
  SmallVector<StringRef> entries;
  text.split(entries, ',');
  SmallVector<RealOf> reals;
  for (StringRef entry : entries) {
    const auto [pattern, number] = entry.rsplit(':');
    const std::optional<double> real = parseReal(number.trim());
    if (pattern.trim().empty() || !real)
      return std::nullopt;
    reals.push_back({pattern.trim().str(), *real});
  }
  return reals;
}

/// `a, b or c`
static std::string listWords(StringRef words) {
  SmallVector<StringRef> all;
  words.split(all, '|');
  std::string text;
  for (auto [index, word] : enumerate(all)) {
    if (index)
      text += index + 1 == all.size() ? " or " : ", ";
    text += word;
  }
  return text;
}

constexpr StringLiteral kCsvFile = "FILE.csv";

static bool isOneOf(StringRef words, StringRef word) {
  SmallVector<StringRef> all;
  words.split(all, '|');
  return is_contained(all, word) ||
         (is_contained(all, kCsvFile) && word.ends_with(".csv"));
}

std::string pp::explainMisfit(const PlanKeyInfo &info, StringRef value) {
  switch (info.type) {
  case Type::Int: {
    int64_t number;
    if (!value.getAsInteger(10, number) && number >= info.least &&
        number <= info.most)
      return "";
    std::string range = "a number from " + std::to_string(info.least);
    return info.most == INT64_MAX ? range + " on"
                                  : range + " to " + std::to_string(info.most);
  }
  case Type::Real:
    return parseReal(value) ? "" : "a finite number from 0 on";
  case Type::Word:
    return isOneOf(info.words, value) ? "" : listWords(info.words);
  case Type::Pair:
    return parsePair(value) ? ""
                            : "two numbers below 1, as " + info.byDefault.str();
  case Type::Links:
    return schedule::parseLinks(value)
               ? ""
               : "BYTES_PER_SECOND:LATENCY, separated by commas, as "
                 "3e11:1e-6,5e10:1e-5";
  case Type::Rates:
    return schedule::parseRates(value)
               ? ""
               : "OPERATIONS_PER_SECOND:BYTES_PER_SECOND:SECONDS_OF_A_LAUNCH, "
                 "as 3e14:3e12:3e-6";
  case Type::Bytes:
    return pprt::parseBytes(value.str()) ? "" : pprt::kBytesSyntax;
  case Type::Names:
    return value.trim(" ,").empty() ? "names, separated by commas" : "";
  case Type::Reals:
    return parseReals(value) ? ""
                             : "PATTERN:NUMBER, separated by commas, as "
                               "*.bias:0,wte.*:1e-4";
  }
  llvm_unreachable("every type is listed");
}

std::string pp::explainIdle(const PlanKeyInfo &info, StringRef got) {
  const auto [names, words] = info.onlyWith.split('=');
  std::string with = listWords(names);
  if (info.needsDevices())
    with = "several devices";
  else if (!words.empty() && names.contains('|'))
    with = listWords(
        llvm::join(llvm::map_range(llvm::split(names, '|'),
                                   [&](StringRef name) {
                                     return (name + "=" + words).str();
                                   }),
                   "|"));
  else if (!words.empty())
    with += "=" + listWords(words);
  else if (getInfo(info.getNeeded().front()).place == Place::Axis)
    with += " above 1";
  const std::string own = info.name.str();
  return "'" + own + "' has an effect with " + with + " only, got " +
         got.str() + ": choose that, or leave " + own + " out";
}

std::string pp::describePlanKeys() {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const PlanKeyInfo &info : table) {
    os << "  " << llvm::left_justify(info.name.str() + "=", 17) << info.help;
    if (!info.words.empty())
      os << ": " << listWords(info.words);
    if (!info.byDefault.empty())
      os << " (default " << info.byDefault << ")";
    os << "\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

StringRef PlanOptions::getWord(PlanKey key) const {
  auto it = values.find(key);
  return it == values.end() ? StringRef(getInfo(key).byDefault)
                            : StringRef(it->second);
}

int64_t PlanOptions::getInt(PlanKey key) const {
  int64_t number = 0;
  getWord(key).getAsInteger(10, number);
  return number;
}

std::optional<double> PlanOptions::getReal(PlanKey key) const {
  auto it = values.find(key);
  return it == values.end() ? std::nullopt : parseReal(it->second);
}

std::optional<std::pair<double, double>>
PlanOptions::getPair(PlanKey key) const {
  auto it = values.find(key);
  return it == values.end() ? std::nullopt : parsePair(it->second);
}

int64_t PlanOptions::getRanks() const {
  int64_t ranks = 1;
  for (const PlanKeyInfo &info : table)
    if (info.place == Place::Axis && info.kind != AxisKind::Time &&
        MulOverflow(ranks, getInt(info.key), ranks))
      return INT64_MAX;
  return ranks;
}

bool PlanOptions::isPresent(PlanKey key) const {
  return getInfo(key).place == Place::Axis ? getInt(key) > 1 : isSet(key);
}

bool PlanOptions::hasEffect(PlanKey key) const {
  const PlanKeyInfo &info = getInfo(key);
  if (info.needsDevices())
    return getRanks() > 1;
  const SmallVector<PlanKey, 3> needed = info.getNeeded();
  StringRef words = StringRef(info.onlyWith).split('=').second;
  if (!words.empty())
    return any_of(needed, [&](PlanKey other) {
      return isOneOf(words, getWord(other)) &&
             (!isSet(other) || hasEffect(other));
    });
  return needed.empty() ||
         any_of(needed, [&](PlanKey other) { return isPresent(other); });
}

/// A sweep over a key says what would happen anyway, or dp=1 beside zero=1. The
/// momentum that one optimizer has by default is none of another's.
bool PlanOptions::isMeantIdle(PlanKey key) const {
  const PlanKeyInfo &info = getInfo(key);
  const auto isGivenAxis = [&](PlanKey other) {
    return getInfo(other).place == Place::Axis && isSet(other);
  };
  if (info.needsDevices() && any_of(table, [&](const PlanKeyInfo &other) {
        return other.kind != AxisKind::Time && isGivenAxis(other.key);
      }))
    return true;
  return (getWord(key) == info.byDefault && info.place != Place::Optimizer) ||
         any_of(info.getNeeded(), [&](PlanKey other) {
           return isGivenAxis(other) ||
                  (isSet(other) && !hasEffect(other) && isMeantIdle(other));
         });
}

std::string PlanOptions::check() const {
  for (const auto &[key, value] : values) {
    const PlanKeyInfo &info = getInfo(key);
    if (std::string expected = explainMisfit(info, value); !expected.empty())
      return "'" + info.name.str() + "' expects " + expected + ", got '" +
             value + "'";
  }
  for (const auto &[key, value] : values) {
    const PlanKeyInfo &info = getInfo(key);
    if (hasEffect(key) || isMeantIdle(key))
      continue;
    if (!info.onlyWith.contains('='))
      return explainIdle(info, info.needsDevices() ? "one" : "none");
    const PlanKeyInfo &other = getInfo(info.getNeeded().front());
    return explainIdle(info, (other.name + "=" + getWord(other.key)).str());
  }
  if (getWord(PlanKey::Remat) == "auto" && !isSet(PlanKey::MemoryLimit))
    return "'remat=auto' expects memory-limit=BYTES of a rank beside it, got "
           "none; pp-run's --memory-limit only checks";
  if (getWord(PlanKey::Decay) != "constant" &&
      getInt(PlanKey::DecaySteps) <= getInt(PlanKey::Warmup))
    return "'decay' expects steps above warmup, got " +
           getWord(PlanKey::DecaySteps).str() + " and " +
           getWord(PlanKey::Warmup).str();
  return "";
}
