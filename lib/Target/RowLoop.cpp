//===- RowLoop.cpp - a kernel as a loop over its rows ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a loops kernel of graph ops and its `pp.rows`. Out: tile-and-fuse by
// construction. The layouts of the results say, op by op from the end, which
// part of each value a row needs; each op is then built once on that part.
// Nothing but arguments and results lives outside a row.
//
//===----------------------------------------------------------------------===//
#include "KernelPipeline.h"
#include "LinalgLowering.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "pp/IR/Model.h"
#include "pp/Target/KernelCompiler.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pp;

namespace {

/// True without elements. MLIR has no bare pointer to some buffers of that
/// kind, tensor<4x0xf32> for one, so a kernel neither reads nor writes any.
bool isEmpty(Type type) {
  return cast<RankedTensorType>(type).getNumElements() == 0;
}

class RowLoop {
public:
  RowLoop(OpBuilder &builder, func::FuncOp kernel)
      : b(builder), kernel(kernel) {}

  FailureOr<func::FuncOp> build(StringRef name);
  /// Finds the rows; reports a `pp.rows` that does not fit the kernel.
  FailureOr<int64_t> countRows();
  FailureOr<RowParts> findParts();

private:
  /// Finds which parts of which values a row needs; fails if rows need each
  /// other's.
  LogicalResult demandLayouts();
  LogicalResult readRows(RowsAttr attr);
  void chooseRows();
  LogicalResult emitOps(ValueRange buffers);
  LogicalResult emitOp(Operation *op, const RowLayout &layout);
  Value emitSlice(Value buffer, const RowLayout &layout);
  Value startOf(RowDigit digit);
  /// The part of `value` that a row sees under `layout`.
  Value lookup(Value value, const RowLayout &layout);
  void demand(Value value, const RowLayout &layout);

  OpBuilder &b;
  func::FuncOp kernel;
  int64_t rows = 1;
  Value row, scalars;
  SmallVector<RowLayout> resultLayouts;
  /// In which layouts a value is needed, and the parts once they are built.
  DenseMap<Value, SmallVector<std::pair<RowLayout, Value>>> parts;
  SmallVector<std::pair<RowDigit, Value>> starts;
};

void RowLoop::demand(Value value, const RowLayout &layout) {
  if (!llvm::any_of(parts[value],
                    [&](auto &part) { return part.first == layout; }))
    parts[value].push_back({layout, Value()});
}

Value RowLoop::lookup(Value value, const RowLayout &layout) {
  for (auto &[known, part] : parts[value])
    if (known == layout)
      return part;
  llvm_unreachable("every part was demanded before it is used");
}

LogicalResult RowLoop::demandLayouts() {
  parts.clear();
  Operation *end = kernel.getBody().front().getTerminator();
  for (auto [value, layout] :
       llvm::zip_equal(end->getOperands(), resultLayouts)) {
    if (!coversRows(layout, rows))
      return failure();
    demand(value, layout);
  }
  for (Operation &op :
       llvm::reverse(kernel.getBody().front().without_terminator())) {
    auto needed = parts.find(op.getResult(0));
    if (needed == parts.end())
      continue;
    SmallVector<std::pair<RowLayout, Value>> wanted = needed->second;
    for (auto &[layout, part] : wanted) {
      auto operands = operandLayouts(&op, layout);
      if (!operands)
        return failure();
      for (auto [operand, operandLayout] :
           llvm::zip_equal(op.getOperands(), *operands))
        demand(operand, operandLayout);
    }
  }
  return success();
}

LogicalResult RowLoop::readRows(RowsAttr attr) {
  if (attr.getLayouts().size() != kernel.getNumResults())
    return kernel.emitError("expects a layout per result in pp.rows, got ")
           << attr;
  rows = attr.getRows();
  for (auto [flat, type] :
       llvm::zip_equal(attr.getLayouts(), kernel.getResultTypes())) {
    auto layout = decodeRowLayout(flat, cast<RankedTensorType>(type));
    if (!layout)
      return kernel.emitError("expects pp.rows to divide ")
             << type << ", got " << flat;
    resultLayouts.push_back(*layout);
  }
  if (failed(demandLayouts()))
    return kernel.emitError("expects rows that can be computed apart, got ")
           << attr;
  return success();
}

/// Without `pp.rows`: the leading dimensions if their rows are independent and
/// all results have them, otherwise one row.
void RowLoop::chooseRows() {
  auto first = cast<RankedTensorType>(kernel.getResultTypes().front());
  bool areAlike = llvm::all_of(kernel.getResultTypes(), [&](Type type) {
    return cast<RankedTensorType>(type).getShape() == first.getShape();
  });
  for (int64_t leading = areAlike ? std::max<int64_t>(first.getRank() - 1, 0)
                                  : 0;
       leading >= 0; --leading) {
    RowLayout layout = wholeLayout(first);
    rows = 1;
    for (int64_t dim = leading - 1; dim >= 0; --dim) {
      int64_t size = first.getDimSize(dim);
      if (size != 1)
        layout[dim] = {rows, size, 1};
      rows *= size;
    }
    resultLayouts.assign(kernel.getNumResults(), layout);
    if (leading == 0)
      resultLayouts =
          llvm::map_to_vector<4>(kernel.getResultTypes(), [](Type type) {
            return wholeLayout(cast<RankedTensorType>(type));
          });
    if (succeeded(demandLayouts()))
      return;
  }
}

Value RowLoop::startOf(RowDigit digit) {
  for (auto &[known, start] : starts)
    if (known == digit)
      return start;
  Location loc = kernel.getLoc();
  auto literal = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value start = row;
  if (digit.divisor != 1)
    start = arith::DivUIOp::create(b, loc, start, literal(digit.divisor));
  if (digit.divisor * digit.modulus != rows)
    start = arith::RemUIOp::create(b, loc, start, literal(digit.modulus));
  if (digit.tile != 1)
    start = arith::MulIOp::create(b, loc, start, literal(digit.tile));
  starts.push_back({digit, start});
  return start;
}

Value RowLoop::emitSlice(Value buffer, const RowLayout &layout) {
  auto type = cast<MemRefType>(buffer.getType());
  if (isWholeLayout(layout))
    return buffer;
  SmallVector<OpFoldResult> offsets, sizes,
      strides(layout.size(), b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  for (RowDigit digit : layout) {
    offsets.push_back(digit.isWhole() ? OpFoldResult(b.getIndexAttr(0))
                                      : OpFoldResult(startOf(digit)));
    sizes.push_back(b.getIndexAttr(digit.tile));
    if (!digit.isDropped())
      shape.push_back(digit.tile);
  }
  auto sliceType = memref::SubViewOp::inferRankReducedResultType(
      shape, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, kernel.getLoc(), sliceType, buffer,
                                   offsets, sizes, strides);
}

LogicalResult RowLoop::emitOp(Operation *op, const RowLayout &layout) {
  SmallVector<RowLayout> layouts = *operandLayouts(op, layout);
  SmallVector<Value> operands;
  for (auto [operand, operandLayout] :
       llvm::zip_equal(op->getOperands(), layouts))
    operands.push_back(lookup(operand, operandLayout));

  auto setPart = [&](Value part) {
    for (auto &[known, value] : parts[op->getResult(0)])
      if (known == layout)
        value = part;
    return success();
  };
  if (auto axisIndex = dyn_cast<AxisIndexOp>(op)) {
    Value index = emitAxisIndex(b, axisIndex, [&](int64_t position) -> Value {
      return memref::LoadOp::create(b, op->getLoc(), scalars,
                                    ValueRange{arith::ConstantIndexOp::create(
                                        b, op->getLoc(), position)});
    });
    return setPart(tensor::FromElementsOp::create(b, op->getLoc(),
                                                  axisIndex.getType(), index));
  }

  // The local op may be several; all of them are lowered and then dropped.
  Operation *before = b.getInsertionBlock()->getTerminator()->getPrevNode();
  Value result = buildLocalOp(b, op, layout, layouts, operands,
                              [&](RowDigit digit) { return startOf(digit); });
  IRMapping lowered;
  SmallVector<Operation *> graphOps;
  Block *block = b.getInsertionBlock();
  for (auto it = before ? std::next(Block::iterator(before)) : block->begin();
       it != Block::iterator(block->getTerminator()); ++it)
    if (isGraphOp(&*it))
      graphOps.push_back(&*it);
  for (Operation *graphOp : graphOps) {
    SmallVector<Value> inputs;
    for (Value operand : graphOp->getOperands())
      inputs.push_back(lowered.lookupOrDefault(operand));
    auto value = lowerToLinalg(graphOp, b, inputs);
    if (failed(value))
      return failure();
    lowered.map(graphOp->getResult(0), *value);
  }
  result = lowered.lookupOrDefault(result);
  for (Operation *graphOp : llvm::reverse(graphOps))
    graphOp->erase();
  return setPart(result);
}

LogicalResult RowLoop::emitOps(ValueRange buffers) {
  Location loc = kernel.getLoc();
  KernelParameters parameters = getKernelParameters(kernel);
  // Destinations first: the op that computes a result writes it in place.
  SmallVector<Value> destinations;
  for (auto [index, layout] : llvm::enumerate(resultLayouts))
    destinations.push_back(
        isEmpty(kernel.getResultTypes()[index])
            ? Value()
            : emitSlice(buffers[parameters.ofResult[index]], layout));
  for (BlockArgument argument : kernel.getArguments())
    for (auto &[layout, part] : parts[argument]) {
      auto type = localType(cast<RankedTensorType>(argument.getType()), layout);
      if (isEmpty(argument.getType())) {
        part = tensor::EmptyOp::create(b, loc, type, ValueRange());
        continue;
      }
      Value slice = emitSlice(buffers[argument.getArgNumber()], layout);
      part = bufferization::ToTensorOp::create(b, loc, type, slice,
                                               /*restrict=*/true);
    }
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto needed = parts.find(op.getResult(0));
    if (needed == parts.end())
      continue;
    SmallVector<std::pair<RowLayout, Value>> wanted = needed->second;
    for (auto &[layout, part] : wanted)
      if (failed(emitOp(&op, layout)))
        return failure();
  }
  Operation *end = kernel.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (destinations[index])
      bufferization::MaterializeInDestinationOp::create(
          b, loc, Type(), lookup(value, resultLayouts[index]),
          destinations[index],
          /*restrict=*/true, /*writable=*/true);
  return success();
}

FailureOr<int64_t> RowLoop::countRows() {
  auto attr = kernel->getAttrOfType<RowsAttr>(attrs::kRows);
  if (attr && failed(readRows(attr)))
    return failure();
  if (!attr)
    chooseRows();
  return rows;
}

FailureOr<RowParts> RowLoop::findParts() {
  if (failed(countRows()))
    return failure();
  RowParts result;
  result.rows = rows;
  result.results = resultLayouts;
  for (auto &[value, layouts] : parts)
    for (auto &[layout, part] : layouts)
      result.layouts[value].push_back(layout);
  return result;
}

FailureOr<func::FuncOp> RowLoop::build(StringRef name) {
  if (failed(countRows()))
    return failure();
  Location loc = kernel.getLoc();
  SmallVector<Type> types;
  KernelParameters parameters = getKernelParameters(kernel);
  for (Type type : parameters.types) {
    auto tensor = cast<RankedTensorType>(type);
    ArrayRef<int64_t> shape = tensor.getShape();
    types.push_back(MemRefType::get(
        isEmpty(type) ? ArrayRef<int64_t>(0) : shape, tensor.getElementType()));
  }
  const int64_t scratchBytes = getScratchBytes(kernel);
  if (scratchBytes > 0)
    types.push_back(MemRefType::get(scratchBytes, b.getI8Type()));
  unsigned numBuffers = types.size();
  MeshOp mesh = lookupMesh(kernel->getParentOfType<ModuleOp>());
  int64_t numScalars = (mesh ? mesh.getMesh().getAxes().size() : 0) + 2;
  types.push_back(MemRefType::get(numScalars, b.getI64Type()));
  types.append(2, b.getIndexType());
  auto function =
      func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  for (unsigned index = 0; index < numBuffers; ++index)
    function.setArgAttr(index, "llvm.noalias", b.getUnitAttr());
  if (scratchBytes > 0)
    function->setAttr(attrs::kWorkspace, b.getIndexAttr(numBuffers - 1));
  Block *entry = function.addEntryBlock();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(b, loc, entry->getArgument(numBuffers + 1),
                                 entry->getArgument(numBuffers + 2), one);
  func::ReturnOp::create(b, loc);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  row = loop.getInductionVar();
  scalars = entry->getArgument(numBuffers);
  if (failed(
          emitOps(entry->getArguments().take_front(parameters.types.size())))) {
    function.erase();
    return failure();
  }
  return function;
}

} // namespace

FailureOr<func::FuncOp> pp::buildRowLoop(OpBuilder &builder,
                                         func::FuncOp kernel, StringRef name) {
  return RowLoop(builder, kernel).build(name);
}

int64_t pp::getKernelRows(func::FuncOp kernel) {
  OpBuilder builder(kernel.getContext());
  auto rows = RowLoop(builder, kernel).countRows();
  return succeeded(rows) ? *rows : 0;
}

FailureOr<RowParts> pp::findRowParts(func::FuncOp kernel) {
  OpBuilder builder(kernel.getContext());
  return RowLoop(builder, kernel).findParts();
}
