//===- Collectives.cpp - devices and what they exchange -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The devices of a mesh are the replicas, counted row-major over the axes of
// space. Groups, symbolic in pp, become lists. A collective of several tensors
// becomes one of each: XLA joins them again as it sees fit.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

int64_t Device::getNumReplicas() const {
  int64_t count = 1;
  if (mesh)
    for (MeshAxisAttr axis : mesh.getAxes())
      if (axis.getKind() == AxisKind::Space)
        count *= axis.getSize();
  return count;
}

Device::Axis Device::lookup(StringAttr name) {
  Axis found{1, 1};
  for (MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
    if (axis.getKind() != AxisKind::Space)
      continue;
    found.size = axis.getSize();
    if (axis.getName() == name)
      return found;
    found.stride *= axis.getSize();
  }
  llvm_unreachable("the op was verified to name axes of the mesh");
}

bool Device::namesTime(ArrayAttr axes) const {
  MeshAxisAttr time = mesh ? mesh.getTimeAxis() : MeshAxisAttr();
  return time && llvm::is_contained(axes, Attribute(time.getName()));
}

int64_t Device::sizeOf(ArrayAttr axes) {
  int64_t size = 1;
  for (StringAttr name : axes.getAsRange<StringAttr>())
    size *= mesh.sizeOf(name.getValue());
  return size;
}

Hlo Device::indexAlong(ArrayAttr axes) {
  RankedTensorType scalar = RankedTensorType::get({}, out.integer(32));
  auto constant = [&](int64_t value) { return out.constant(scalar, value); };
  std::optional<Hlo> index;
  for (StringAttr name : axes.getAsRange<StringAttr>()) {
    const int64_t size = mesh.sizeOf(name.getValue());
    Hlo coordinate = constant(0);
    if (mesh.lookup(name).getKind() == AxisKind::Time) {
      coordinate = *microBatch;
    } else if (size > 1) {
      Hlo replica = out.convert(
          out.pretty("replica_id", {},
                     RankedTensorType::get({}, out.unsignedInteger(32))),
          out.integer(32));
      Hlo quotient =
          out.same("divide", {replica, constant(lookup(name).stride)});
      coordinate = out.same("remainder", {quotient, constant(size)});
    }
    index =
        index ? out.same("add", {out.same("multiply", {*index, constant(size)}),
                                 coordinate})
              : coordinate;
  }
  return index ? *index : constant(0);
}

SmallVector<SmallVector<int64_t>> Device::groups(ArrayAttr axes) {
  // Members of a group as distances from its first.
  SmallVector<int64_t> members = {0};
  for (StringAttr name : axes.getAsRange<StringAttr>()) {
    Axis axis = lookup(name);
    SmallVector<int64_t> all;
    for (int64_t member : members)
      for (int64_t index = 0; index < axis.size; ++index)
        all.push_back(member + index * axis.stride);
    members = std::move(all);
  }
  SmallVector<SmallVector<int64_t>> result;
  std::vector<bool> isTaken(getNumReplicas());
  for (int64_t first = 0; first < getNumReplicas(); ++first) {
    if (isTaken[first])
      continue;
    SmallVector<int64_t> &group = result.emplace_back();
    for (int64_t member : members) {
      group.push_back(first + member);
      isTaken[first + member] = true;
    }
  }
  return result;
}

static std::string spellGroups(ArrayAttr axes, Device &device) {
  return "replica_groups = " + spellRows(device.groups(axes));
}

static FailureOr<Hlos> writeAllReduce(AllReduceOp op, ArrayRef<Hlo> in,
                                      Device &device) {
  Hlos results;
  for (const Hlo &operand : in)
    results.append(device.out.generic(
        "stablehlo.all_reduce", operand, spellGroups(op.getAxes(), device),
        device.out.combiner(op.getReduction(), operand.element()),
        operand.type));
  return results;
}

static FailureOr<Hlos> writeAllGather(AllGatherOp op, ArrayRef<Hlo> in,
                                      Device &device) {
  Hlos results;
  for (auto [operand, dim, result] :
       llvm::zip_equal(in, op.getDimensions(), op.getOutputs()))
    results.append(
        device.out.generic("stablehlo.all_gather", operand,
                           "all_gather_dim = " + std::to_string(dim) +
                               " : i64, " + spellGroups(op.getAxes(), device),
                           "", cast<RankedTensorType>(result.getType())));
  return results;
}

static FailureOr<Hlos> writeReduceScatter(ReduceScatterOp op, ArrayRef<Hlo> in,
                                          Device &device) {
  Hlos results;
  for (auto [operand, dim, result] :
       llvm::zip_equal(in, op.getDimensions(), op.getOutputs()))
    results.append(device.out.generic(
        "stablehlo.reduce_scatter", operand,
        spellGroups(op.getAxes(), device) +
            ", scatter_dimension = " + std::to_string(dim) + " : i64",
        device.out.combiner(op.getReduction(), operand.element()),
        cast<RankedTensorType>(result.getType())));
  return results;
}

static Hlo writeAllToAll(AllToAllOp op, ArrayRef<Hlo> in, Device &device) {
  return device.out
      .generic(
          "stablehlo.all_to_all", in,
          "concat_dimension = " + std::to_string(op.getConcatDimension()) +
              " : i64, " + spellGroups(op.getAxes(), device) +
              ", split_count = " + std::to_string(device.sizeOf(op.getAxes())) +
              " : i64, split_dimension = " +
              std::to_string(op.getSplitDimension()) + " : i64",
          "", resultType(op))
      .front();
}

/// Member i sends to the member whose coordinates give i in the target's order:
/// groups in both orders name the same devices at the same places.
static Hlo writePermute(PermuteOp op, ArrayRef<Hlo> in, Device &device) {
  SmallVector<SmallVector<int64_t>> pairs;
  for (auto [senders, receivers] : llvm::zip_equal(
           device.groups(op.getAxes()), device.groups(op.getTarget())))
    for (auto [sender, receiver] : llvm::zip_equal(senders, receivers))
      pairs.push_back({sender, receiver});
  return device.out
      .generic("stablehlo.collective_permute", in,
               "source_target_pairs = " + spellRows(pairs), "", in[0].type)
      .front();
}

static Hlo writeAllSlice(AllSliceOp op, ArrayRef<Hlo> in, Device &device) {
  HloWriter &out = device.out;
  RankedTensorType type = resultType(op),
                   scalar = RankedTensorType::get({}, out.integer(32));
  const int64_t dim = op.getDimension();
  Hlo zero = out.constant(scalar, 0);
  Hlos starts(type.getRank(), zero);
  starts[dim] =
      out.same("multiply", {device.indexAlong(op.getAxes()),
                            out.constant(scalar, type.getDimSize(dim))});
  return out.dynamicSlice(in[0], starts, type.getShape());
}

void hlo::addCollectiveForms(Forms &forms) {
  forms[AllReduceOp::getOperationName()] = [](Operation *op, ArrayRef<Hlo> in,
                                              Device &device) {
    return writeAllReduce(cast<AllReduceOp>(op), in, device);
  };
  forms[AllGatherOp::getOperationName()] = [](Operation *op, ArrayRef<Hlo> in,
                                              Device &device) {
    return writeAllGather(cast<AllGatherOp>(op), in, device);
  };
  forms[ReduceScatterOp::getOperationName()] =
      [](Operation *op, ArrayRef<Hlo> in, Device &device) {
        return writeReduceScatter(cast<ReduceScatterOp>(op), in, device);
      };
  add<AllToAllOp>(forms, [](AllToAllOp op, ArrayRef<Hlo> in, Device &device) {
    return writeAllToAll(op, in, device);
  });
  add<PermuteOp>(forms, [](PermuteOp op, ArrayRef<Hlo> in, Device &device) {
    return writePermute(op, in, device);
  });
  add<AllSliceOp>(forms, [](AllSliceOp op, ArrayRef<Hlo> in, Device &device) {
    return writeAllSlice(op, in, device);
  });
  add<AxisIndexOp>(forms, [](AxisIndexOp op, ArrayRef<Hlo>, Device &device) {
    return device.out.convert(device.indexAlong(op.getAxes()),
                              resultType(op).getElementType());
  });
}
