//===- PlanAttributes.cpp - initializers, optimizers, plans, schedules ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Spelling and small queries of the attributes that say how to train; meshes
// and shardings are in Attributes.cpp.
//
//===----------------------------------------------------------------------===//
#include "AttributeText.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/PlanText.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace pp;

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               InitKind, Real a, Real b) {
  for (double number : {a, b})
    if (!std::isfinite(number))
      return emitError() << "expects finite numbers to start from, got "
                         << number;
  return success();
}
Attribute InitAttr::parse(AsmParser &parser, Type) {
  InitKind kind;
  double a = 0, b = 0;
  if (parser.parseLess() ||
      parseKeyword<InitKind>(parser, kind, "zeros, constant, normal or uniform",
                             symbolizeInitKind))
    return {};
  if (kind != InitKind::Zeros && (parser.parseComma() || parser.parseFloat(a)))
    return {};
  if ((kind == InitKind::Normal || kind == InitKind::Uniform) &&
      (parser.parseComma() || parser.parseFloat(b)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<InitAttr>(parser.getContext(), kind, Real(a),
                                     Real(b));
}
void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyInitKind(getKind());
  if (getKind() != InitKind::Zeros) {
    printer << ", ";
    printReal(printer, getA());
  }
  if (getKind() == InitKind::Normal || getKind() == InitKind::Uniform) {
    printer << ", ";
    printReal(printer, getB());
  }
  printer << ">";
}

OptimizerAttr OptimizerAttr::getDefault(MLIRContext *context,
                                        OptimizerKind kind) {
  return get(context, kind, /*lr=*/1e-3,
             /*weightDecay=*/kind == OptimizerKind::AdamW ? 1e-2 : 0.0,
             /*momentum=*/kind == OptimizerKind::Momentum ? 0.9 : 0.0,
             /*beta1=*/0.9,
             /*beta2=*/0.999, /*eps=*/1e-8, /*clip=*/0.0, /*warmup=*/0,
             Decay::Constant,
             /*steps=*/0, /*minLr=*/0.0);
}

OptimizerAttr OptimizerAttr::withRates(double lr, double weightDecay) const {
  const double share = getLr() > 0 ? getMinLr() / getLr() : 0;
  return get(getContext(), getKind(), Real(lr), Real(weightDecay),
             getMomentum(), getBeta1(), getBeta2(), getEps(), getClip(),
             getWarmup(), getDecay(), getSteps(), Real(share * lr));
}

double OptimizerAttr::getRate(int64_t step) const {
  double rate = getLr();
  if (getWarmup() > 0)
    rate *= std::min(1.0, double(step) / getWarmup());
  if (getDecay() == Decay::Constant)
    return rate;
  const double share = std::clamp(
      double(step - getWarmup()) / (getSteps() - getWarmup()), 0.0, 1.0);
  const double left = getDecay() == Decay::Linear
                          ? 1 - share
                          : 0.5 * (1 + std::cos(M_PI * share));
  const double least = getLr() > 0 ? getMinLr() / getLr() : 0;
  return rate * (least + (1 - least) * left);
}

LogicalResult
OptimizerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      OptimizerKind, Real lr, Real weightDecay, Real momentum,
                      Real beta1, Real beta2, Real eps, Real clip,
                      int64_t warmup, Decay decay, int64_t steps, Real minLr) {
  for (double number :
       {lr, weightDecay, momentum, beta1, beta2, eps, clip, minLr})
    if (!(number >= 0 && std::isfinite(number)))
      return emitError() << "expects finite hyperparameters of at least 0, got "
                         << number;
  for (double beta : {beta1, beta2})
    if (beta >= 1)
      return emitError() << "expects betas below 1, got " << beta;
  if (warmup < 0 || steps < 0)
    return emitError() << "expects warmup and steps of at least 0, got "
                       << warmup << " and " << steps;
  if (minLr > lr || (minLr > 0 && decay == Decay::Constant))
    return emitError() << "expects a min_lr of at most lr, with a decay, got "
                       << double(minLr);
  return success();
}

Attribute OptimizerAttr::parse(AsmParser &parser, Type) {
  OptimizerKind kind;
  if (parser.parseLess() ||
      parseKeyword<OptimizerKind>(parser, kind, "sgd, momentum, adam or adamw",
                                  symbolizeOptimizerKind))
    return {};
  OptimizerAttr base = getDefault(parser.getContext(), kind);
  double lr = base.getLr(), weightDecay = base.getWeightDecay(),
         momentum = base.getMomentum(), beta1 = base.getBeta1(),
         beta2 = base.getBeta2(), eps = base.getEps(), clip = base.getClip(),
         minLr = 0;
  int64_t warmup = 0, steps = 0;
  Decay decay = Decay::Constant;
  auto parseValue = [&](StringRef key, SMLoc loc) -> ParseResult {
    double *number = llvm::StringSwitch<double *>(key)
                         .Case("lr", &lr)
                         .Case("weight_decay", &weightDecay)
                         .Case("momentum", &momentum)
                         .Case("beta1", &beta1)
                         .Case("beta2", &beta2)
                         .Case("eps", &eps)
                         .Case("clip", &clip)
                         .Case("min_lr", &minLr)
                         .Default(nullptr);
    if (number)
      return parser.parseFloat(*number);
    if (key == "warmup")
      return parser.parseInteger(warmup);
    if (key == "steps")
      return parser.parseInteger(steps);
    if (key == "decay")
      return parseKeyword<Decay>(parser, decay, "constant, linear or cosine",
                                 symbolizeDecay);
    return parser.emitError(loc) << "expects a hyperparameter, got " << key;
  };
  if (parseEntries(parser, parseValue))
    return {};
  return parser.getChecked<OptimizerAttr>(
      parser.getContext(), kind, Real(lr), Real(weightDecay), Real(momentum),
      Real(beta1), Real(beta2), Real(eps), Real(clip), warmup, decay, steps,
      Real(minLr));
}
/// With the fewest digits that are read back to the same bits.
static void printShortest(llvm::raw_ostream &os, double value) {
  SmallString<32> text;
  for (unsigned digits = 1; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_svector_ostream(text) << llvm::format("%.*e", digits, value);
    double read;
    if (!text.str().getAsDouble(read) && read == value)
      break;
  }
  os << text;
}

/// Prints everything that the optimizer reads, or only what differs from
/// defaults.
static void print(OptimizerAttr optimizer, llvm::raw_ostream &os,
                  bool withDefaults) {
  MLIRContext *context = optimizer.getContext();
  const OptimizerKind kind = optimizer.getKind();
  const OptimizerAttr base = OptimizerAttr::getDefault(context, kind);
  os << "<" << stringifyOptimizerKind(kind);
  auto number = [&](StringRef key, double value, double byDefault,
                    bool isRead = true) {
    if (withDefaults ? !isRead : value == byDefault)
      return;
    os << ", " << key << " = ";
    if (withDefaults)
      printShortest(os, value);
    else
      FloatAttr::get(Float64Type::get(context), value)
          .print(os, /*elideType=*/true);
  };
  const bool isAdam =
      kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW;
  number("lr", optimizer.getLr(), /*byDefault=*/-1); // always
  number("weight_decay", optimizer.getWeightDecay(), base.getWeightDecay());
  number("momentum", optimizer.getMomentum(), base.getMomentum(),
         kind == OptimizerKind::Momentum);
  number("beta1", optimizer.getBeta1(), base.getBeta1(), isAdam);
  number("beta2", optimizer.getBeta2(), base.getBeta2(), isAdam);
  number("eps", optimizer.getEps(), base.getEps(), isAdam);
  number("clip", optimizer.getClip(), base.getClip());
  if (withDefaults || optimizer.getWarmup())
    os << ", warmup = " << optimizer.getWarmup();
  if (withDefaults || optimizer.getDecay() != Decay::Constant)
    os << ", decay = " << stringifyDecay(optimizer.getDecay());
  if (optimizer.getSteps())
    os << ", steps = " << optimizer.getSteps();
  if (optimizer.getDecay() != Decay::Constant)
    number("min_lr", optimizer.getMinLr(), 0);
  os << ">";
}
void OptimizerAttr::print(AsmPrinter &printer) const {
  ::print(*this, printer.getStream(), /*withDefaults=*/false);
}

Attribute SeedAttr::parse(AsmParser &parser, Type) {
  StringAttr pattern;
  SmallVector<DimShardingAttr> dims;
  int64_t priority;
  if (parser.parseLess() || parseName(parser, pattern) || parser.parseComma() ||
      parseDims(parser, dims) || parser.parseComma() ||
      parser.parseInteger(priority))
    return {};
  const bool isBarrier = succeeded(parser.parseOptionalComma());
  if ((isBarrier && parser.parseKeyword("barrier")) || parser.parseGreater())
    return {};
  return get(parser.getContext(), pattern, dims, priority, isBarrier);
}
void SeedAttr::print(AsmPrinter &printer) const {
  printer << "<" << getPattern() << ", ";
  printDims(printer, getDims());
  printer << ", " << getPriority() << (getIsBarrier() ? ", barrier>" : ">");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// A setting as users spell it; empty for an attribute of no setting's type.
static std::string spellSetting(Attribute value) {
  if (auto word = dyn_cast<StringAttr>(value))
    return word.str();
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64)
             ? std::to_string(number.getInt())
             : "";
}

/// Whether `mesh` has the axis of a key. Stages and micro-batches go by their
/// kind, as a file may call their axes otherwise.
static bool hasAxisOf(const PlanKeyInfo &info, MeshAttr mesh) {
  if (info.kind == AxisKind::Space)
    return !mesh.partsOf(info.axis).empty();
  return llvm::any_of(mesh.getAxes(), [&](MeshAxisAttr axis) {
    return axis.getKind() == info.kind;
  });
}

/// The axes without one of which a setting has no effect, `"dp" or "ep"`, if
/// `mesh` has none of them.
static std::string listMissingAxes(const PlanKeyInfo &info, MeshAttr mesh) {
  if (info.needsDevices())
    return llvm::all_of(mesh.getAxes(),
                        [](MeshAxisAttr axis) {
                          return axis.getKind() == AxisKind::Time;
                        })
               ? "of devices"
               : "";
  std::string text;
  for (PlanKey key : info.getNeeded()) {
    const PlanKeyInfo &other = getInfo(key);
    if (other.place != PlanKeyInfo::Place::Axis || hasAxisOf(other, mesh))
      return "";
    text += (text.empty() ? "\"" : " or \"") + other.axis.str() + "\"";
  }
  return text;
}

/// A setting may need some values of another key: the plan's value of that key
/// if it is another one, such as `zero=2`.
static std::string findUnfitWord(const PlanKeyInfo &info,
                                 DictionaryAttr settings) {
  const StringRef words = StringRef(info.onlyWith).split('=').second;
  if (words.empty())
    return "";
  SmallVector<StringRef> fitting;
  words.split(fitting, '|');
  std::string first;
  for (PlanKey key : info.getNeeded()) {
    const PlanKeyInfo &other = getInfo(key);
    const Attribute given = settings.get(other.name);
    const std::string word =
        given ? spellSetting(given) : other.byDefault.str();
    if (llvm::is_contained(fitting, word))
      return "";
    if (first.empty())
      first = other.name.str() + "=" + word;
  }
  return first;
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               MeshAttr mesh, ArrayRef<SeedAttr> seeds,
                               ArrayRef<int64_t>, OptimizerAttr,
                               DictionaryAttr settings) {
  for (NamedAttribute setting : settings) {
    const PlanKeyInfo *info = lookupPlanKey(setting.getName());
    if (!info || !info->isSetting())
      return emitError() << "expects settings of a plan, got "
                         << setting.getName();
    const std::string value = spellSetting(setting.getValue());
    std::string expected = explainMisfit(*info, value);
    if (!expected.empty())
      return emitError() << "'" << info->name << "' expects " << expected
                         << ", got " << value;
    if (std::string axes = listMissingAxes(*info, mesh);
        !axes.empty() && value != info->byDefault)
      return emitError() << "'" << info->name << "' expects an axis " << axes
                         << " in the mesh for " << value << ", got " << mesh;
    // The word of a key that chose the seeds is no longer known.
    const bool isKnown =
        seeds.empty() || info->getNeeded().empty() ||
        getInfo(info->getNeeded().front()).place != PlanKeyInfo::Place::Seeds;
    if (std::string word = findUnfitWord(*info, settings);
        isKnown && !word.empty())
      return emitError() << explainIdle(*info, word);
    if (info->place == PlanKeyInfo::Place::Seeds && !seeds.empty())
      return emitError() << "expects no '" << info->name
                         << "' beside seeds, which it would choose, got "
                         << value
                         << "; edit the seeds, or remove them to have them "
                            "chosen";
  }
  if (settings.get(getInfo(PlanKey::Remat).name) ==
          StringAttr::get(mesh.getContext(), "auto") &&
      !settings.contains(getInfo(PlanKey::MemoryLimit).name))
    return emitError() << "remat = \"auto\" expects a memory-limit of a rank "
                          "beside it, got none";
  return success();
}

/// Reports a value that does not fit; the plan's verifier checks the rest.
static ParseResult parseSetting(AsmParser &parser, const PlanKeyInfo &info,
                                NamedAttrList &settings) {
  SMLoc loc = parser.getCurrentLocation();
  if (info.type != PlanKeyInfo::Type::Int) {
    StringAttr word;
    if (parseName(parser, word))
      return failure();
    settings.set(info.name, word);
  } else {
    int64_t number;
    if (parser.parseInteger(number))
      return failure();
    settings.set(info.name, parser.getBuilder().getI64IntegerAttr(number));
  }
  const std::string value = spellSetting(settings.get(info.name));
  if (std::string expected = explainMisfit(info, value); !expected.empty())
    return parser.emitError(loc)
           << "'" << info.name << "' expects " << expected << ", got " << value;
  return success();
}

/// `mesh, schedule, ... or optimizer`
static std::string listPlanKeys() {
  std::string text = "mesh";
  for (const PlanKeyInfo &info : getPlanKeys())
    if (info.isSetting())
      text += ", " + info.name.str();
  return text + ", seeds or optimizer";
}

Attribute PlanAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh = MeshAttr::get(parser.getContext(), {});
  SmallVector<SeedAttr> seeds;
  SmallVector<int64_t> cuts;
  OptimizerAttr optimizer;
  NamedAttrList settings;
  StringRef first;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseKey(parser, first))
    return {};
  auto parseValue = [&](StringRef key, SMLoc keyLoc) -> ParseResult {
    if (key == "mesh") {
      mesh = dyn_cast_or_null<MeshAttr>(MeshAttr::parse(parser, {}));
      return failure(!mesh);
    }
    if (key == "seeds")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseAttribute(seeds.emplace_back());
      });
    // Numbers of ops, or their names.
    if (key == "cuts" && succeeded(parser.parseOptionalLSquare()))
      return failure(parser.parseCommaSeparatedList([&] {
        return parser.parseInteger(cuts.emplace_back());
      }) || parser.parseRSquare());
    if (key == "optimizer")
      return parser.parseAttribute(optimizer);
    const PlanKeyInfo *info = lookupPlanKey(key);
    if (info && info->isSetting())
      return parseSetting(parser, *info, settings);
    return parser.emitError(keyLoc)
           << "expects " << listPlanKeys() << ", got " << key;
  };
  if (parseValue(first, loc) || parseEntries(parser, parseValue, first))
    return {};
  return parser.getChecked<PlanAttr>(
      parser.getContext(), mesh, ArrayRef<SeedAttr>(seeds),
      ArrayRef<int64_t>(cuts), optimizer,
      settings.getDictionary(parser.getContext()));
}
namespace {
/// The text around the decisions of a plan.
struct PlanFormat {
  StringRef begin, between, end;                ///< decisions
  StringRef beginSeeds, betweenSeeds, endSeeds; ///< seeds
  bool hasDefaults;                             ///< of the optimizer
};
} // namespace

static void print(PlanAttr plan, llvm::raw_ostream &os,
                  const PlanFormat &layout) {
  os << layout.begin << "mesh = <";
  printAxes(os, plan.getMesh().getAxes());
  os << ">";
  for (const PlanKeyInfo &info : getPlanKeys())
    if (Attribute value = plan.getSettings().get(info.name)) {
      os << layout.between << info.name << " = ";
      value.print(os, /*elideType=*/true);
    }
  if (!plan.getSeeds().empty()) {
    os << layout.between << "seeds = " << layout.beginSeeds;
    llvm::interleave(plan.getSeeds(), os, layout.betweenSeeds);
    os << layout.endSeeds;
  }
  if (!plan.getCuts().empty()) {
    os << layout.between << "cuts = [";
    llvm::interleaveComma(plan.getCuts(), os);
    os << "]";
  }
  if (plan.getOptimizer()) {
    os << layout.between << "optimizer = #pp.optimizer";
    ::print(plan.getOptimizer(), os, layout.hasDefaults);
  }
  os << layout.end;
}

void PlanAttr::print(AsmPrinter &printer) const {
  ::print(*this, printer.getStream(),
          {"<", ", ", ">", "[", ", ", "]", /*hasDefaults=*/false});
}
void pp::printLines(PlanAttr plan, llvm::raw_ostream &os) {
  ::print(plan, os,
          {"#pp.plan<\n  ", ",\n  ", "\n>\n", "[\n    ", ",\n    ", "\n  ]",
           /*hasDefaults=*/true});
}

/// Whether a setting that the plan leaves out could change anything.
static bool hasEffect(PlanAttr plan, const PlanKeyInfo &info) {
  if (info.place == PlanKeyInfo::Place::Seeds && !plan.getSeeds().empty())
    return false;
  return listMissingAxes(info, plan.getMesh()).empty() &&
         findUnfitWord(info, plan.getSettings()).empty();
}

PlanAttr pp::withoutIdleSettings(PlanAttr plan) {
  NamedAttrList settings(plan.getSettings());
  for (const PlanKeyInfo &info : getPlanKeys())
    if (info.isSetting() && !hasEffect(plan, info))
      settings.erase(info.name);
  return PlanAttr::get(plan.getContext(), plan.getMesh(), plan.getSeeds(),
                       plan.getCuts(), plan.getOptimizer(),
                       settings.getDictionary(plan.getContext()));
}

PlanAttr pp::withDefaults(PlanAttr plan) {
  for (const PlanKeyInfo &info : getPlanKeys())
    if (info.isSetting() && !info.byDefault.empty() &&
        !plan.getSettings().get(info.name) && hasEffect(plan, info))
      plan = plan.withSetting(info.key, info.byDefault);
  return plan;
}

PlanAttr PlanAttr::withMesh(MeshAttr mesh) const {
  return get(getContext(), mesh, getSeeds(), getCuts(), getOptimizer(),
             getSettings());
}
PlanAttr PlanAttr::withSeeds(ArrayRef<SeedAttr> seeds) const {
  NamedAttrList settings(getSettings());
  for (const PlanKeyInfo &info : getPlanKeys())
    if (info.place == PlanKeyInfo::Place::Seeds)
      settings.erase(info.name);
  return get(getContext(), getMesh(), seeds, getCuts(), getOptimizer(),
             settings.getDictionary(getContext()));
}
PlanAttr PlanAttr::withCuts(ArrayRef<int64_t> cuts) const {
  NamedAttrList settings(getSettings());
  settings.erase(getInfo(PlanKey::Cuts).name);
  return get(getContext(), getMesh(), getSeeds(), cuts, getOptimizer(),
             settings.getDictionary(getContext()));
}
PlanAttr PlanAttr::withOptimizer(OptimizerAttr optimizer) const {
  return get(getContext(), getMesh(), getSeeds(), getCuts(), optimizer,
             getSettings());
}
PlanAttr PlanAttr::withSetting(PlanKey key, StringRef value) const {
  const PlanKeyInfo &info = getInfo(key);
  Builder builder(getContext());
  NamedAttrList settings(getSettings());
  int64_t number = 0;
  if (info.type == PlanKeyInfo::Type::Int && !value.getAsInteger(10, number))
    settings.set(info.name, builder.getI64IntegerAttr(number));
  else
    settings.set(info.name, builder.getStringAttr(value));
  return get(getContext(), getMesh(), getSeeds(), getCuts(), getOptimizer(),
             settings.getDictionary(getContext()));
}

int64_t PlanAttr::getThreads() const { return getInt(PlanKey::Threads); }

StringRef PlanAttr::getSchedule() const { return getWord(PlanKey::Schedule); }

int64_t PlanAttr::getInt(PlanKey key) const {
  const PlanKeyInfo &info = getInfo(key);
  if (auto number = getSettings().getAs<IntegerAttr>(info.name))
    return number.getInt();
  int64_t byDefault = 0;
  info.byDefault.getAsInteger(10, byDefault);
  return byDefault;
}
StringRef PlanAttr::getWord(PlanKey key) const {
  const PlanKeyInfo &info = getInfo(key);
  auto word = getSettings().getAs<StringAttr>(info.name);
  return word ? word.getValue() : StringRef(info.byDefault);
}

/// Calls use(position, word) for all of them.
static void forEachWord(ArrayRef<StringAttr> positions,
                        function_ref<void(size_t, StringRef)> use) {
  for (auto [position, text] : llvm::enumerate(positions))
    for (StringRef rest = text.getValue().ltrim(' '); !rest.empty();) {
      auto [word, after] = rest.split(' ');
      use(position, word);
      rest = after.ltrim(' ');
    }
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringAttr, ArrayRef<StringAttr> positions) {
  std::string wrong;
  forEachWord(positions, [&](size_t, StringRef word) {
    if (wrong.empty() && !schedule::parseAction(word.str()))
      wrong = word.str();
  });
  if (!wrong.empty())
    return emitError() << "expects actions of a stage, F, B or W, and a "
                          "micro-batch, such as 0F3, got "
                       << wrong;
  return success();
}

schedule::Schedule ScheduleAttr::getTable() const {
  schedule::Schedule table;
  table.name = getName().str();
  table.ranks.resize(getRanks().size());
  forEachWord(getRanks(), [&](size_t position, StringRef word) {
    const schedule::Action action = *schedule::parseAction(word.str());
    table.stages = std::max(table.stages, action.stage + 1);
    table.microBatches = std::max(table.microBatches, action.microBatch + 1);
    table.ranks[position].push_back(action);
  });
  return table;
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  StringAttr name;
  SmallVector<StringAttr> ranks;
  if (parser.parseLess() || parseName(parser, name) || parser.parseComma() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parseName(parser, ranks.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ScheduleAttr>(parser.getContext(), name,
                                         ArrayRef<StringAttr>(ranks));
}
void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName() << ", [";
  llvm::interleaveComma(getRanks(), printer);
  printer << "]>";
}
