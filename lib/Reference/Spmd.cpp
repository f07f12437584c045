//===- Spmd.cpp - the reference meaning of a partitioned function ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every value has lanes: per device one tensor, or one per micro-batch. An op
// of level 1 runs lane by lane; a collective combines the lanes of each group.
//
//===----------------------------------------------------------------------===//
#include "pp/Reference/Spmd.h"
#include "Boxes.h"
#include "Evaluators.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;
using namespace pp::reference;

namespace {

/// Versions of a value on one device: one, or one per micro-batch.
using Versions = std::vector<HostTensor>;
/// Per device.
using Lanes = std::vector<Versions>;

const HostTensor &at(const Versions &versions, int64_t microBatch) {
  return versions.size() == 1 ? versions[0] : versions[microBatch];
}

class Evaluator {
public:
  Evaluator(MeshAttr mesh, const EvaluateOptions &options)
      : mesh(mesh), options(options), numDevices(mesh.getNumDevices()) {
    if (MeshAxisAttr time = mesh.getTimeAxis())
      numMicroBatches = time.getSize();
    for (int64_t device = 0; device < numDevices; ++device)
      coordinates.push_back(deviceCoordinates(mesh, device));
  }

  void bind(Value value, Lanes lanes) { values[value] = std::move(lanes); }
  const Lanes &lookup(Value value) { return values.find(value)->second; }
  LogicalResult run(Block &block);

private:
  using Group = SmallVector<const HostTensor *>;

  LogicalResult runOp(Operation *op);
  LogicalResult runFragment(FragmentOp op);
  FailureOr<std::vector<Lanes>> runLaneByLane(Operation *op);
  Lanes accumulate(AccumulateOp op);
  Lanes allReduce(AllReduceOp op, Value operand);
  Lanes indices(AxisIndexOp op);
  Lanes slices(AllSliceOp op);
  Lanes permute(PermuteOp op);
  /// Applies `exchange(members' values, own position)` to every device's group.
  Lanes collective(Value operand, ArrayAttr axes,
                   function_ref<HostTensor(const Group &, int64_t)> exchange,
                   function_ref<bool(int64_t)> isMember = {});
  HostTensor reduce(const Group &parts, Reduction reduction);

  SmallVector<int64_t> groupOf(int64_t device, ArrayAttr axes);
  /// Shard index of a device and micro-batch along `axes`.
  int64_t indexAlong(ArrayAttr axes, int64_t device, int64_t microBatch);
  bool namesTime(ArrayAttr axes);

  MeshAttr mesh;
  EvaluateOptions options;
  int64_t numDevices, numMicroBatches = 1;
  std::vector<SmallVector<int64_t>> coordinates;
  llvm::DenseMap<Value, Lanes> values;
};

bool Evaluator::namesTime(ArrayAttr axes) {
  return llvm::any_of(axes.getAsRange<StringAttr>(), [&](StringAttr name) {
    return mesh.lookup(name).getKind() == AxisKind::Time;
  });
}

int64_t Evaluator::indexAlong(ArrayAttr axes, int64_t device,
                              int64_t microBatch) {
  int64_t index = 0;
  for (StringAttr name : axes.getAsRange<StringAttr>()) {
    MeshAxisAttr axis = mesh.lookup(name);
    index = index * axis.getSize() +
            (axis.getKind() == AxisKind::Time
                 ? microBatch
                 : coordinates[device][mesh.indexOf(name)]);
  }
  return index;
}

/// Devices that agree with `device` off `axes`, in order of their index there.
SmallVector<int64_t> Evaluator::groupOf(int64_t device, ArrayAttr axes) {
  SmallVector<int64_t> members;
  for (int64_t other = 0; other < numDevices; ++other) {
    bool agrees = true;
    for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
      agrees &= coordinates[device][index] == coordinates[other][index] ||
                llvm::is_contained(axes, axis.getName());
    if (agrees)
      members.push_back(other);
  }
  llvm::sort(members, [&](int64_t a, int64_t b) {
    return indexAlong(axes, a, 0) < indexAlong(axes, b, 0);
  });
  return members;
}

Lanes Evaluator::collective(
    Value operand, ArrayAttr axes,
    function_ref<HostTensor(const Group &, int64_t)> exchange,
    function_ref<bool(int64_t)> isMember) {
  const Lanes &from = lookup(operand);
  Lanes result(numDevices);
  for (int64_t device = 0; device < numDevices; ++device) {
    if (isMember && !isMember(device)) {
      result[device] = from[device];
      continue;
    }
    SmallVector<int64_t> members = groupOf(device, axes);
    if (isMember)
      llvm::erase_if(members, [&](int64_t other) { return !isMember(other); });
    int64_t position = llvm::find(members, device) - members.begin();
    size_t versions = 1;
    for (int64_t member : members)
      versions = std::max(versions, from[member].size());
    for (size_t version = 0; version < versions; ++version) {
      Group group;
      for (int64_t member : members)
        group.push_back(&at(from[member], version));
      result[device].push_back(exchange(group, position));
    }
  }
  return result;
}

/// Combines in order; with rounding, low types add up in f32 and round once.
HostTensor Evaluator::reduce(const Group &parts, Reduction reduction) {
  HostTensor sum = *parts[0];
  Type element = sum.elementType();
  bool inSingle =
      options.roundToElement && isa<FloatType>(element) && !element.isF64();
  Type accumulator =
      inSingle ? Type(Float32Type::get(element.getContext())) : element;
  for (const HostTensor *part : ArrayRef(parts).drop_front())
    for (auto [slot, value] : llvm::zip_equal(sum.values, part->values)) {
      slot = combine(reduction, element, slot, value);
      if (inSingle)
        slot = roundTo(accumulator, slot);
    }
  if (options.roundToElement)
    sum.roundToElement();
  return sum;
}

Lanes Evaluator::allReduce(AllReduceOp op, Value operand) {
  std::optional<ArrayRef<int64_t>> stages = op.getStages();
  MeshAxisAttr stageAxis = mesh.getStageAxis();
  auto isMember = [&](int64_t device) {
    return !stages || !stageAxis ||
           llvm::is_contained(
               *stages, coordinates[device][mesh.indexOf(stageAxis.getName())]);
  };
  return collective(
      operand, op.getAxes(),
      [&](const Group &group, int64_t) {
        return reduce(group, op.getReduction());
      },
      isMember);
}

Lanes Evaluator::accumulate(AccumulateOp op) {
  Lanes result;
  for (const Versions &versions : lookup(op.getOperand())) {
    Group parts;
    for (int64_t microBatch = 0; microBatch < numMicroBatches; ++microBatch)
      parts.push_back(&at(versions, microBatch));
    result.push_back({reduce(parts, Reduction::Sum)});
  }
  return result;
}

Lanes Evaluator::indices(AxisIndexOp op) {
  int64_t versions = namesTime(op.getAxes()) ? numMicroBatches : 1;
  auto type = cast<RankedTensorType>(op.getType());
  Lanes result(numDevices);
  for (int64_t device = 0; device < numDevices; ++device)
    for (int64_t version = 0; version < versions; ++version)
      result[device].emplace_back(
          type, static_cast<double>(indexAlong(op.getAxes(), device, version)));
  return result;
}

/// A member gets the value of the one whose number is its own in the order of
/// the target.
Lanes Evaluator::permute(PermuteOp op) {
  auto sizeOf = [&](StringRef axis) {
    return mesh.lookup(StringAttr::get(op.getContext(), axis)).getSize();
  };
  return collective(
      op.getOperand(), op.getAxes(), [&](const Group &group, int64_t position) {
        llvm::StringMap<int64_t> coordinates;
        for (StringRef axis :
             llvm::reverse(op.getAxes().getAsValueRange<StringAttr>())) {
          coordinates[axis] = position % sizeOf(axis);
          position /= sizeOf(axis);
        }
        int64_t sender = 0;
        for (StringRef axis : op.getTarget().getAsValueRange<StringAttr>())
          sender = sender * sizeOf(axis) + coordinates[axis];
        return *group[sender];
      });
}

Lanes Evaluator::slices(AllSliceOp op) {
  const Lanes &from = lookup(op.getOperand());
  auto names = llvm::to_vector(op.getAxes().getAsRange<StringAttr>());
  int64_t count = mesh.sizeOf(names);
  Lanes result(numDevices);
  for (int64_t device = 0; device < numDevices; ++device) {
    size_t versions =
        namesTime(op.getAxes()) ? numMicroBatches : from[device].size();
    for (size_t version = 0; version < versions; ++version)
      result[device].push_back(
          partOf(at(from[device], version), op.getDimension(),
                 indexAlong(op.getAxes(), device, version), count));
  }
  return result;
}

FailureOr<std::vector<Lanes>> Evaluator::runLaneByLane(Operation *op) {
  std::vector<Lanes> results(op->getNumResults(), Lanes(numDevices));
  for (int64_t device = 0; device < numDevices; ++device) {
    size_t versions = 1;
    for (Value operand : op->getOperands())
      versions = std::max(versions, lookup(operand)[device].size());
    for (size_t version = 0; version < versions; ++version) {
      SmallVector<const HostTensor *> operands;
      for (Value operand : op->getOperands())
        operands.push_back(&at(lookup(operand)[device], version));
      auto outputs = evaluateOp(op, operands, options);
      if (failed(outputs))
        return failure();
      for (auto [lanes, output] : llvm::zip_equal(results, *outputs))
        lanes[device].push_back(std::move(output));
    }
  }
  return results;
}

LogicalResult Evaluator::runFragment(FragmentOp op) {
  Block &body = op.getBody().front();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), op.getOperands()))
    bind(argument, Lanes(lookup(operand)));
  if (failed(run(body)))
    return failure();
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
    bind(result, Lanes(lookup(yielded)));
  return success();
}

LogicalResult Evaluator::runOp(Operation *op) {
  if (auto fragment = dyn_cast<FragmentOp>(op))
    return runFragment(fragment);
  if (auto reduceOp = dyn_cast<AllReduceOp>(op)) {
    // Each stage has a part of such a sum, in its fragment.
    if (MeshAxisAttr stages = mesh.getStageAxis();
        stages && op->getParentOfType<FragmentOp>() &&
        llvm::is_contained(reduceOp.getAxes(), stages.getName()))
      return op->emitError("expects no sum over stages in a fragment");
    for (auto [operand, result] :
         llvm::zip_equal(reduceOp.getOperands(), reduceOp.getResults()))
      bind(result, allReduce(reduceOp, operand));
    return success();
  }
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      bind(op->getResult(i),
           collective(op->getOperand(i), gather.getAxes(),
                      [&](const Group &group, int64_t) {
                        return joinParts(group, gather.getDimensions()[i]);
                      }));
    return success();
  }
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      bind(op->getResult(i),
           collective(op->getOperand(i), scatter.getAxes(),
                      [&](const Group &group, int64_t position) {
                        return partOf(reduce(group, scatter.getReduction()),
                                      scatter.getDimensions()[i], position,
                                      group.size());
                      }));
    return success();
  }
  std::optional<Lanes> lanes =
      llvm::TypeSwitch<Operation *, std::optional<Lanes>>(op)
          .Case([&](AllToAllOp op) {
            return collective(
                op.getOperand(), op.getAxes(),
                [&](const Group &group, int64_t position) {
                  std::vector<HostTensor> parts;
                  for (const HostTensor *whole : group)
                    parts.push_back(partOf(*whole, op.getSplitDimension(),
                                           position, group.size()));
                  Group pointers;
                  for (const HostTensor &part : parts)
                    pointers.push_back(&part);
                  return joinParts(pointers, op.getConcatDimension());
                });
          })
          .Case([&](PermuteOp op) { return permute(op); })
          .Case([&](AllSliceOp op) { return slices(op); })
          .Case([&](AxisIndexOp op) { return indices(op); })
          .Case([&](AccumulateOp op) { return accumulate(op); })
          .Case([&](TransferOp op) { return Lanes(lookup(op.getOperand())); })
          .Default([](Operation *) { return std::nullopt; });
  if (lanes) {
    bind(op->getResult(0), std::move(*lanes));
    return success();
  }
  auto results = runLaneByLane(op);
  if (failed(results))
    return failure();
  for (auto [value, lanes] : llvm::zip_equal(op->getResults(), *results))
    bind(value, std::move(lanes));
  return success();
}

LogicalResult Evaluator::run(Block &block) {
  llvm::DenseMap<Value, int64_t> pendingUses;
  for (Operation &op : block.without_terminator()) {
    if (failed(runOp(&op)))
      return failure();
    for (Value operand : op.getOperands())
      if (auto uses = pendingUses.find(operand);
          uses != pendingUses.end() && --uses->second == 0)
        values.erase(operand);
    for (Value result : op.getResults())
      pendingUses[result] = std::distance(result.use_begin(), result.use_end());
  }
  return success();
}

/// `tensor` cut or extended with zeros, at the end of each dimension.
HostTensor withShape(const HostTensor &tensor, ArrayRef<int64_t> shape) {
  HostTensor result(RankedTensorType::get(shape, tensor.elementType()));
  SmallVector<int64_t> common;
  for (auto [a, b] : llvm::zip_equal(tensor.shape(), shape))
    common.push_back(std::min(a, b));
  View target{0, rowMajorStrides(shape)};
  SmallVector<int64_t> targets;
  walk(common, target,
       [&](int64_t, int64_t offset) { targets.push_back(offset); });
  walk(common, {0, rowMajorStrides(tensor.shape())},
       [&](int64_t linear, int64_t offset) {
         result.values[targets[linear]] = tensor.values[offset];
       });
  return result;
}

/// The layout at a function's border: `attribute(name)` looks one up.
ShardingAttr borderSharding(function_ref<Attribute(StringRef)> attribute,
                            int64_t rank, MLIRContext *context) {
  if (auto sharding =
          dyn_cast_or_null<ShardingAttr>(attribute(attrs::kSharding)))
    return sharding;
  return ShardingAttr::getReplicated(FlatSymbolRefAttr::get(context, "mesh"),
                                     rank);
}

/// Binds the shards of one global input to argument `index`.
LogicalResult bindInput(Evaluator &evaluator, func::FuncOp function,
                        unsigned index, HostTensor global, MeshAttr mesh) {
  auto emitError = [&] {
    return function.emitError() << "input " << index << " ";
  };
  auto attribute = [&](StringRef name) {
    return function.getArgAttr(index, name);
  };
  auto local = cast<RankedTensorType>(function.getArgument(index).getType());
  if (global.rank() != local.getRank())
    return emitError() << "expects rank " << local.getRank() << ", got "
                       << global.type;
  ShardingAttr sharding =
      borderSharding(attribute, local.getRank(), function.getContext());
  if (sharding.getRank() == local.getRank() &&
      attribute(attrs::kUnpaddedShape)) {
    SmallVector<int64_t> padded(local.getShape());
    for (auto [size, dim] : llvm::zip_equal(padded, sharding.getDims()))
      size *= mesh.sizeOf(dim.getAxes());
    global = withShape(global, padded);
  }
  Lanes lanes;
  MeshAxisAttr time = mesh.getTimeAxis();
  bool overTime =
      time && llvm::any_of(sharding.getDims(), [&](DimShardingAttr dim) {
        return llvm::is_contained(dim.getAxes(), time.getName());
      });
  for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
    SmallVector<int64_t> coordinates = deviceCoordinates(mesh, device);
    lanes.emplace_back();
    for (int64_t version = 0; version < (overTime ? time.getSize() : 1);
         ++version) {
      if (overTime)
        coordinates[mesh.indexOf(time.getName())] = version;
      auto shard = shardTensor(global, sharding, mesh, coordinates, emitError);
      if (failed(shard))
        return failure();
      if (shard->type != local)
        return emitError() << "expects shards of type " << local << ", got "
                           << shard->type;
      lanes.back().push_back(std::move(*shard));
    }
  }
  evaluator.bind(function.getArgument(index), std::move(lanes));
  return success();
}

/// Joins result `index`.
FailureOr<HostTensor> joinResult(Evaluator &evaluator, func::FuncOp function,
                                 unsigned index, Value value, MeshAttr mesh) {
  auto emitError = [&] {
    return function.emitError() << "result " << index << " ";
  };
  auto attribute = [&](StringRef name) {
    return function.getResultAttr(index, name);
  };
  const Lanes &lanes = evaluator.lookup(value);
  auto shardAt = [&](ArrayRef<int64_t> coordinates) -> const HostTensor & {
    int64_t device = 0, microBatch = 0;
    for (auto [axis, coordinate] :
         llvm::zip_equal(mesh.getAxes(), coordinates)) {
      if (axis.getKind() == AxisKind::Time)
        microBatch = coordinate;
      else
        device = device * axis.getSize() + coordinate;
    }
    return at(lanes[device], microBatch);
  };
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  auto global = unshardTensor(
      shardAt, borderSharding(attribute, rank, value.getContext()), mesh,
      emitError);
  auto unpadded =
      dyn_cast_or_null<DenseI64ArrayAttr>(attribute(attrs::kUnpaddedShape));
  if (failed(global) || !unpadded)
    return global;
  return withShape(*global, unpadded);
}

} // namespace

FailureOr<std::vector<HostTensor>>
pp::reference::evaluateSpmd(func::FuncOp function, MeshAttr mesh,
                            ArrayRef<HostTensor> inputs,
                            const EvaluateOptions &options) {
  if (function.isExternal())
    return function.emitError("expects a function with a body");
  if (inputs.size() != function.getNumArguments())
    return function.emitError("expects ")
           << function.getNumArguments() << " inputs, got " << inputs.size();
  Evaluator evaluator(mesh, options);
  for (auto [index, input] : llvm::enumerate(inputs))
    if (failed(bindInput(evaluator, function, index, input, mesh)))
      return failure();
  Block &body = function.getBody().front();
  if (failed(evaluator.run(body)))
    return failure();
  std::vector<HostTensor> results;
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    auto result = joinResult(evaluator, function, index, value, mesh);
    if (failed(result))
      return failure();
    results.push_back(std::move(*result));
  }
  return results;
}
