//===- Attributes.cpp - meshes, shardings and plans -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Spelling, verification and small queries of the dialect's attributes.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/PP.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;

#define GET_ATTRDEF_CLASSES
#include "pp/IR/PPAttributes.cpp.inc"

void PPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pp/IR/PPAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shared spelling
//===----------------------------------------------------------------------===//

namespace {

/// Parses one keyword of an enumeration.
template <typename Enum>
ParseResult parseKeyword(AsmParser &parser, Enum &value, StringRef what,
                         std::optional<Enum> (*symbolize)(StringRef)) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> parsed = symbolize(keyword);
  if (!parsed)
    return parser.emitError(loc) << "expects " << what << ", got " << keyword;
  value = *parsed;
  return success();
}

/// Prints a double so that it parses back to the same bits.
void printReal(AsmPrinter &printer, double value) {
  printer.printFloat(llvm::APFloat(value));
}

ParseResult parseAxisName(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

/// `["a"=2 : time, "b"=4]`
ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<MeshAxisAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        StringAttr name;
        int64_t size = 0;
        AxisKind kind = AxisKind::Space;
        if (parseAxisName(parser, name) || parser.parseEqual() ||
            parser.parseInteger(size))
          return failure();
        if (succeeded(parser.parseOptionalColon()) &&
            parseKeyword<AxisKind>(parser, kind, "space, stage or time",
                                   symbolizeAxisKind))
          return failure();
        axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size, kind));
        return success();
      });
}

void printAxes(AsmPrinter &printer, ArrayRef<MeshAxisAttr> axes) {
  printer << "[";
  llvm::interleaveComma(axes, printer, [&](MeshAxisAttr axis) {
    printer << axis.getName() << "=" << axis.getSize();
    if (axis.getKind() != AxisKind::Space)
      printer << " : " << stringifyAxisKind(axis.getKind());
  });
  printer << "]";
}

/// `[{"dp"}, {"tp", ?}, {}]`
ParseResult parseDims(AsmParser &parser, SmallVectorImpl<DimShardingAttr> &dims) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SmallVector<StringAttr> axes;
        bool isOpen = false;
        if (parser.parseCommaSeparatedList(
                AsmParser::Delimiter::Braces, [&]() -> ParseResult {
                  if (succeeded(parser.parseOptionalQuestion())) {
                    isOpen = true;
                    return success();
                  }
                  return parseAxisName(parser, axes.emplace_back());
                }))
          return failure();
        dims.push_back(DimShardingAttr::get(parser.getContext(), axes, isOpen));
        return success();
      });
}

void printDims(AsmPrinter &printer, ArrayRef<DimShardingAttr> dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer, [&](DimShardingAttr dim) {
    printer << "{";
    llvm::interleaveComma(dim.getAxes(), printer);
    if (dim.getIsOpen())
      printer << (dim.getAxes().empty() ? "?" : ", ?");
    printer << "}";
  });
  printer << "]";
}

/// `, key = ` repeated until `>`; `parseValue` handles one key.
ParseResult parseEntries(AsmParser &parser,
                         llvm::function_ref<ParseResult(StringRef, SMLoc)> parseValue) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual() || parseValue(key, loc))
      return failure();
  }
  return parser.parseGreater();
}

} // namespace

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  if (parser.parseLess() || parseAxes(parser, axes) || parser.parseGreater())
    return {};
  if (axes.size() != 1) {
    parser.emitError(parser.getNameLoc(), "expects one axis, got ") << axes.size();
    return {};
  }
  return axes.front();
}
void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxes(printer, *this);
  printer << ">";
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseAxes(parser, axes) || parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), axes);
}
void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxes(printer, getAxes());
  printer << ">";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  llvm::StringSet<> names;
  int64_t stageAxes = 0, timeAxes = 0;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName().getValue()).second)
      return emitError() << "expects every mesh axis once, got " << axis.getName()
                         << " twice";
    if (axis.getSize() < 1)
      return emitError() << "expects a size of at least 1 for mesh axis "
                         << axis.getName() << ", got " << axis.getSize();
    stageAxes += axis.getKind() == AxisKind::Stage;
    timeAxes += axis.getKind() == AxisKind::Time;
  }
  if (stageAxes > 1 || timeAxes > 1)
    return emitError() << "expects at most one stage axis and one time axis, got "
                       << stageAxes << " and " << timeAxes;
  return success();
}

MeshAxisAttr MeshAttr::lookup(StringRef name) const {
  int64_t index = indexOf(name);
  return index < 0 ? MeshAxisAttr() : getAxes()[index];
}
int64_t MeshAttr::indexOf(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getAxes()))
    if (axis.getName().getValue() == name)
      return index;
  return -1;
}
int64_t MeshAttr::sizeOf(StringRef name) const {
  MeshAxisAttr axis = lookup(name);
  return axis ? axis.getSize() : 1;
}
int64_t MeshAttr::sizeOf(ArrayRef<StringAttr> names) const {
  int64_t size = 1;
  for (StringAttr name : names)
    size *= sizeOf(name.getValue());
  return size;
}
static MeshAxisAttr findKind(MeshAttr mesh, AxisKind kind) {
  for (MeshAxisAttr axis : mesh.getAxes())
    if (axis.getKind() == kind)
      return axis;
  return {};
}
MeshAxisAttr MeshAttr::getStageAxis() const { return findKind(*this, AxisKind::Stage); }
MeshAxisAttr MeshAttr::getTimeAxis() const { return findKind(*this, AxisKind::Time); }
int64_t MeshAttr::getNumDevices() const {
  int64_t devices = 1;
  for (MeshAxisAttr axis : getAxes())
    if (axis.getKind() != AxisKind::Time)
      devices *= axis.getSize();
  return devices;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimShardingAttr> dims;
  if (parser.parseLess() || parseDims(parser, dims) || parser.parseGreater())
    return {};
  if (dims.size() != 1) {
    parser.emitError(parser.getNameLoc(), "expects one dimension, got ") << dims.size();
    return {};
  }
  return dims.front();
}
void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDims(printer, *this);
  printer << ">";
}

/// `"tp"=sum`
static ParseResult parsePartialAxis(AsmParser &parser, PartialAxisAttr &result) {
  StringAttr axis;
  Reduction reduction;
  if (parseAxisName(parser, axis) || parser.parseEqual() ||
      parseKeyword<Reduction>(parser, reduction, "a reduction", symbolizeReduction))
    return failure();
  result = PartialAxisAttr::get(parser.getContext(), axis, reduction);
  return success();
}
static void printPartialAxis(AsmPrinter &printer, PartialAxisAttr partial) {
  printer << partial.getAxis() << "=" << stringifyReduction(partial.getReduction());
}
Attribute PartialAxisAttr::parse(AsmParser &parser, Type) {
  PartialAxisAttr result;
  if (parser.parseLess() || parsePartialAxis(parser, result) || parser.parseGreater())
    return {};
  return result;
}
void PartialAxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printPartialAxis(printer, *this);
  printer << ">";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<PartialAxisAttr> partial;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parseDims(parser, dims))
    return {};
  auto parseValue = [&](StringRef key, SMLoc keyLoc) -> ParseResult {
    if (key != "partial")
      return parser.emitError(keyLoc) << "expects partial, got " << key;
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
      return parsePartialAxis(parser, partial.emplace_back());
    });
  };
  if (parseEntries(parser, parseValue))
    return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, dims, partial);
}
void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", ";
  printDims(printer, getDims());
  if (!getPartial().empty()) {
    printer << ", partial = {";
    llvm::interleaveComma(getPartial(), printer,
                          [&](PartialAxisAttr axis) { printPartialAxis(printer, axis); });
    printer << "}";
  }
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr, ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<PartialAxisAttr> partial) {
  llvm::StringSet<> used;
  auto use = [&](StringAttr axis) -> LogicalResult {
    if (used.insert(axis.getValue()).second)
      return success();
    return emitError() << "expects every axis once in a sharding, got " << axis << " twice";
  };
  for (DimShardingAttr dim : dims)
    for (StringAttr axis : dim.getAxes())
      if (failed(use(axis)))
        return failure();
  for (PartialAxisAttr axis : partial)
    if (failed(use(axis.getAxis())))
      return failure();
  return success();
}

bool ShardingAttr::isFullyReplicated() const {
  return getPartial().empty() &&
         llvm::all_of(getDims(), [](DimShardingAttr dim) { return dim.getAxes().empty(); });
}
ShardingAttr ShardingAttr::fromAxes(FlatSymbolRefAttr mesh,
                                    ArrayRef<SmallVector<StringAttr>> axes, bool open,
                                    ArrayRef<PartialAxisAttr> partial) {
  SmallVector<DimShardingAttr> dims;
  for (const SmallVector<StringAttr> &dim : axes)
    dims.push_back(DimShardingAttr::get(mesh.getContext(), dim, open));
  return get(mesh.getContext(), mesh, dims, partial);
}
ShardingAttr ShardingAttr::getOpen(FlatSymbolRefAttr mesh, int64_t rank) {
  return fromAxes(mesh, SmallVector<SmallVector<StringAttr>>(rank), /*open=*/true);
}
ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  return fromAxes(mesh, SmallVector<SmallVector<StringAttr>>(rank));
}
SmallVector<SmallVector<StringAttr>> ShardingAttr::getAxes() const {
  SmallVector<SmallVector<StringAttr>> axes;
  for (DimShardingAttr dim : getDims())
    axes.emplace_back(dim.getAxes());
  return axes;
}
ShardingAttr ShardingAttr::withPartial(ArrayRef<PartialAxisAttr> partial) const {
  return get(getContext(), getMesh(), getDims(), partial);
}
RankedTensorType ShardingAttr::localType(RankedTensorType global, MeshAttr mesh) const {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, getDims()))
    size /= mesh.sizeOf(dim.getAxes());
  return RankedTensorType::get(shape, global.getElementType());
}
bool ShardingAttr::isEquivalent(ShardingAttr other) const {
  auto sameAxes = [](DimShardingAttr a, DimShardingAttr b) {
    return a.getAxes() == b.getAxes();
  };
  return getRank() == other.getRank() &&
         llvm::all_of(llvm::zip(getDims(), other.getDims()),
                      [&](auto pair) { return sameAxes(std::get<0>(pair), std::get<1>(pair)); }) &&
         getPartial().size() == other.getPartial().size() &&
         llvm::all_of(getPartial(), [&](PartialAxisAttr axis) {
           return llvm::is_contained(other.getPartial(), axis);
         });
}

//===----------------------------------------------------------------------===//
// Model and plan
//===----------------------------------------------------------------------===//

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
  return get(parser.getContext(), kind, a, b);
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

OptimizerAttr OptimizerAttr::getDefault(MLIRContext *context, OptimizerKind kind) {
  return get(context, kind, /*lr=*/1e-3,
             /*weightDecay=*/kind == OptimizerKind::AdamW ? 1e-2 : 0.0,
             /*momentum=*/kind == OptimizerKind::Momentum ? 0.9 : 0.0, /*beta1=*/0.9,
             /*beta2=*/0.999, /*eps=*/1e-8, /*clip=*/0.0, /*warmup=*/0, Decay::Constant,
             /*steps=*/0);
}
Attribute OptimizerAttr::parse(AsmParser &parser, Type) {
  OptimizerKind kind;
  if (parser.parseLess() ||
      parseKeyword<OptimizerKind>(parser, kind, "sgd, momentum, adam or adamw",
                                  symbolizeOptimizerKind))
    return {};
  OptimizerAttr base = getDefault(parser.getContext(), kind);
  double lr = base.getLr(), weightDecay = base.getWeightDecay(),
         momentum = base.getMomentum(), beta1 = base.getBeta1(), beta2 = base.getBeta2(),
         eps = base.getEps(), clip = base.getClip();
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
                         .Default(nullptr);
    if (number)
      return parser.parseFloat(*number);
    if (key == "warmup")
      return parser.parseInteger(warmup);
    if (key == "steps")
      return parser.parseInteger(steps);
    if (key == "decay")
      return parseKeyword<Decay>(parser, decay, "constant or cosine", symbolizeDecay);
    return parser.emitError(loc) << "expects a hyperparameter, got " << key;
  };
  if (parseEntries(parser, parseValue))
    return {};
  return get(parser.getContext(), kind, lr, weightDecay, momentum, beta1, beta2, eps, clip,
             warmup, decay, steps);
}
void OptimizerAttr::print(AsmPrinter &printer) const {
  OptimizerAttr base = getDefault(getContext(), getKind());
  printer << "<" << stringifyOptimizerKind(getKind()) << ", lr = ";
  printReal(printer, getLr());
  auto number = [&](StringRef key, double value, double byDefault) {
    if (value == byDefault)
      return;
    printer << ", " << key << " = ";
    printReal(printer, value);
  };
  number("weight_decay", getWeightDecay(), base.getWeightDecay());
  number("momentum", getMomentum(), base.getMomentum());
  number("beta1", getBeta1(), base.getBeta1());
  number("beta2", getBeta2(), base.getBeta2());
  number("eps", getEps(), base.getEps());
  number("clip", getClip(), base.getClip());
  if (getWarmup())
    printer << ", warmup = " << getWarmup();
  if (getDecay() != Decay::Constant)
    printer << ", decay = " << stringifyDecay(getDecay());
  if (getSteps())
    printer << ", steps = " << getSteps();
  printer << ">";
}

Attribute SeedAttr::parse(AsmParser &parser, Type) {
  StringAttr pattern;
  SmallVector<DimShardingAttr> dims;
  int64_t priority;
  if (parser.parseLess() || parseAxisName(parser, pattern) || parser.parseComma() ||
      parseDims(parser, dims) || parser.parseComma() || parser.parseInteger(priority) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), pattern, dims, priority);
}
void SeedAttr::print(AsmPrinter &printer) const {
  printer << "<" << getPattern() << ", ";
  printDims(printer, getDims());
  printer << ", " << getPriority() << ">";
}

Attribute PlanAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh = MeshAttr::get(parser.getContext(), {});
  StringAttr schedule = StringAttr::get(parser.getContext(), "");
  SmallVector<SeedAttr> seeds;
  SmallVector<int64_t> cuts;
  OptimizerAttr optimizer;
  int64_t threads = 1;
  StringRef first;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&first) || parser.parseEqual())
    return {};
  auto parseValue = [&](StringRef key, SMLoc keyLoc) -> ParseResult {
    if (key == "mesh") {
      mesh = dyn_cast_or_null<MeshAttr>(MeshAttr::parse(parser, {}));
      return failure(!mesh);
    }
    if (key == "schedule")
      return parseAxisName(parser, schedule);
    if (key == "seeds")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseAttribute(seeds.emplace_back());
      });
    if (key == "cuts")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(cuts.emplace_back());
      });
    if (key == "optimizer")
      return parser.parseAttribute(optimizer);
    if (key == "threads")
      return parser.parseInteger(threads);
    return parser.emitError(keyLoc)
           << "expects mesh, schedule, seeds, cuts, optimizer or threads, got " << key;
  };
  if (parseValue(first, loc) || parseEntries(parser, parseValue))
    return {};
  return get(parser.getContext(), mesh, schedule, seeds, cuts, optimizer, threads);
}
void PlanAttr::print(AsmPrinter &printer) const {
  printer << "<mesh = ";
  getMesh().print(printer);
  if (!getSchedule().empty())
    printer << ", schedule = " << getSchedule();
  if (!getSeeds().empty()) {
    printer << ", seeds = [";
    llvm::interleaveComma(getSeeds(), printer,
                          [&](SeedAttr seed) { printer.printAttribute(seed); });
    printer << "]";
  }
  if (!getCuts().empty()) {
    printer << ", cuts = [";
    llvm::interleaveComma(getCuts(), printer);
    printer << "]";
  }
  if (getOptimizer()) {
    printer << ", optimizer = ";
    printer.printAttribute(getOptimizer());
  }
  printer << ", threads = " << getThreads() << ">";
}
PlanAttr PlanAttr::withSeeds(ArrayRef<SeedAttr> seeds) const {
  return get(getContext(), getMesh(), getSchedule(), seeds, getCuts(), getOptimizer(),
             getThreads());
}
PlanAttr PlanAttr::withCuts(ArrayRef<int64_t> cuts) const {
  return get(getContext(), getMesh(), getSchedule(), getSeeds(), cuts, getOptimizer(),
             getThreads());
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  StringAttr name;
  SmallVector<StringAttr> ranks;
  if (parser.parseLess() || parseAxisName(parser, name) || parser.parseComma() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parseAxisName(parser, ranks.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), name, ranks);
}
void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName() << ", [";
  llvm::interleaveComma(getRanks(), printer);
  printer << "]>";
}
