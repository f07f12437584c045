//===- Attributes.cpp - meshes and shardings ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Registration of all attributes; spelling, verification and small queries of
// meshes and shardings. PlanAttributes.cpp has the attributes of training.
//
//===----------------------------------------------------------------------===//
#include "AttributeText.h"
#include "mlir/IR/Builders.h"
#include "pp/Schedule/Topology.h"
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
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  if (parser.parseLess() || parseAxes(parser, axes) || parser.parseGreater())
    return {};
  if (axes.size() != 1) {
    parser.emitError(parser.getNameLoc(), "expects one axis, got ")
        << axes.size();
    return {};
  }
  return axes.front();
}
void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxes(printer.getStream(), *this);
  printer << ">";
}

StringRef MeshAxisAttr::getWhole(StringRef name) {
  return schedule::wholeAxisOf(name);
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
  printAxes(printer.getStream(), getAxes());
  printer << ">";
}

/// An axis in parts has at least two, in order and side by side, and no axis of
/// its own name.
static LogicalResult verifyParts(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<MeshAxisAttr> axes) {
  llvm::StringMap<int64_t> counts;
  StringRef last;
  for (MeshAxisAttr axis : axes) {
    const StringRef name = axis.getName(), whole = MeshAxisAttr::getWhole(name);
    int64_t &count = counts[whole];
    const bool isPart = name != whole;
    if (count > 0 && (whole != last || !isPart))
      return emitError() << "expects either an axis or its parts side by side, "
                            "got "
                         << axis << " apart from another one of \"" << whole
                         << "\"";
    if (isPart && (axis.getKind() != AxisKind::Space ||
                   name != (whole + "." + Twine(count)).str()))
      return emitError() << "expects \"" << whole << "." << count
                         << "\" of kind space, the next part of the axis \""
                         << whole << "\", got " << axis;
    ++count;
    last = whole;
  }
  for (MeshAxisAttr axis : axes)
    if (const StringRef whole = MeshAxisAttr::getWhole(axis.getName());
        whole != axis.getName() && counts.lookup(whole) < 2)
      return emitError() << "expects at least two parts of the axis \"" << whole
                         << "\", got " << axis << " alone";
  return success();
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  llvm::StringSet<> names;
  int64_t stageAxes = 0, timeAxes = 0, positions = 1;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName().getValue()).second)
      return emitError() << "expects every mesh axis once, got "
                         << axis.getName() << " twice";
    if (axis.getSize() < 1)
      return emitError() << "expects a size of at least 1 for mesh axis "
                         << axis.getName() << ", got " << axis.getSize();
    if (axis.getSize() > kMaxPositions / positions)
      return emitError() << "expects a mesh of at most " << kMaxPositions
                         << " positions, got more with axis " << axis.getName()
                         << " of size " << axis.getSize();
    positions *= axis.getSize();
    stageAxes += axis.getKind() == AxisKind::Stage;
    timeAxes += axis.getKind() == AxisKind::Time;
  }
  if (failed(verifyParts(emitError, axes)))
    return failure();
  if (stageAxes > 1 || timeAxes > 1)
    return emitError()
           << "expects at most one stage axis and one time axis, got "
           << stageAxes << " and " << timeAxes;
  return success();
}

MeshAxisAttr MeshAttr::lookup(StringRef name) const {
  int64_t index = indexOf(name);
  return index < 0 ? MeshAxisAttr() : getAxes()[index];
}
SmallVector<StringAttr> MeshAttr::partsOf(StringRef name) const {
  SmallVector<StringAttr> parts;
  for (MeshAxisAttr axis : getAxes())
    if (axis.getName() == name ||
        MeshAxisAttr::getWhole(axis.getName()) == name)
      parts.push_back(axis.getName());
  return parts;
}
int64_t MeshAttr::indexOf(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getAxes()))
    if (axis.getName().getValue() == name)
      return index;
  return -1;
}
int64_t MeshAttr::sizeOf(StringRef name) const {
  if (MeshAxisAttr axis = lookup(name))
    return axis.getSize();
  int64_t size = 1;
  for (MeshAxisAttr axis : getAxes())
    if (MeshAxisAttr::getWhole(axis.getName()) == name)
      size *= axis.getSize();
  return size;
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
MeshAxisAttr MeshAttr::getStageAxis() const {
  return findKind(*this, AxisKind::Stage);
}
MeshAxisAttr MeshAttr::getTimeAxis() const {
  return findKind(*this, AxisKind::Time);
}
int64_t MeshAttr::getNumStagePositions() const {
  const MeshAxisAttr axis = getStageAxis();
  return axis ? axis.getSize() : 1;
}
int64_t MeshAttr::getNumMicroBatches() const {
  const MeshAxisAttr axis = getTimeAxis();
  return axis ? axis.getSize() : 1;
}
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
    parser.emitError(parser.getNameLoc(), "expects one dimension, got ")
        << dims.size();
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
static ParseResult parsePartialAxis(AsmParser &parser,
                                    PartialAxisAttr &result) {
  StringAttr axis;
  Reduction reduction;
  if (parseName(parser, axis) || parser.parseEqual() ||
      parseKeyword<Reduction>(parser, reduction, "a reduction",
                              symbolizeReduction))
    return failure();
  result = PartialAxisAttr::get(parser.getContext(), axis, reduction);
  return success();
}
static void printPartialAxis(AsmPrinter &printer, PartialAxisAttr partial) {
  printer << partial.getAxis() << "="
          << stringifyReduction(partial.getReduction());
}
Attribute PartialAxisAttr::parse(AsmParser &parser, Type) {
  PartialAxisAttr result;
  if (parser.parseLess() || parsePartialAxis(parser, result) ||
      parser.parseGreater())
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
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() || parseDims(parser, dims))
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
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, dims,
                                         partial);
}
void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", ";
  printDims(printer, getDims());
  if (!getPartial().empty()) {
    printer << ", partial = {";
    llvm::interleaveComma(getPartial(), printer, [&](PartialAxisAttr axis) {
      printPartialAxis(printer, axis);
    });
    printer << "}";
  }
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr,
                                   ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<PartialAxisAttr> partial) {
  llvm::StringSet<> used;
  auto use = [&](StringAttr axis) -> LogicalResult {
    if (used.insert(axis.getValue()).second)
      return success();
    return emitError() << "expects every axis once in a sharding, got " << axis
                       << " twice";
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

ShardingAttr ShardingAttr::fromAxes(FlatSymbolRefAttr mesh,
                                    ArrayRef<SmallVector<StringAttr>> axes,
                                    bool open) {
  SmallVector<DimShardingAttr> dims;
  for (const SmallVector<StringAttr> &dim : axes)
    dims.push_back(DimShardingAttr::get(mesh.getContext(), dim, open));
  return get(mesh.getContext(), mesh, dims, {});
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
RankedTensorType ShardingAttr::localType(RankedTensorType global,
                                         MeshAttr mesh) const {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, getDims()))
    size /= mesh.sizeOf(dim.getAxes());
  return RankedTensorType::get(shape, global.getElementType());
}
