//===- StageWriter.cpp - a stage of a pipeline as functions ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Constants and what else each reader makes are written in each part anew.
//
//===----------------------------------------------------------------------===//
#include "StageWriter.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

std::string StageWriter::findName(FragmentOp fragment) {
  const std::string phase = stringifyPhase(fragment.getPhase()).str();
  std::string name = phase;
  for (int count = 2; !names.insert(name).second; ++count)
    name = phase + "_" + std::to_string(count);
  return name;
}

/// Whether an op exchanges values with other stages, and nothing else.
static bool isSumOverStages(Operation *op, MeshAttr mesh) {
  auto sum = dyn_cast<AllReduceOp>(op);
  MeshAxisAttr stages = mesh.getStageAxis();
  return sum && stages && sum.getAxes().size() == 1 &&
         sum.getAxes()[0] == stages.getName();
}

/// The ops of a part, and before them those of other parts that it makes anew.
static SmallVector<Operation *> withCopies(ArrayRef<Operation *> ops) {
  llvm::DenseSet<Operation *> all(ops.begin(), ops.end());
  SmallVector<Operation *> copies, open(ops);
  while (!open.empty())
    for (Value operand : open.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp();
          op && op->hasTrait<MadeByReaders>() && all.insert(op).second) {
        copies.push_back(op);
        open.push_back(op);
      }
  llvm::sort(copies,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::append_range(copies, ops);
  return copies;
}

FailureOr<StageCall> StageWriter::writePart(ArrayRef<Operation *> ops,
                                            const std::string &name) {
  StageCall call;
  call.name = name;
  SmallVector<Operation *> all = withCopies(ops);
  llvm::DenseSet<Operation *> inside(all.begin(), all.end());
  llvm::SetVector<Value> arguments;
  for (Operation *op : all) {
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
        arguments.insert(operand);
    if (auto axes = op->getAttrOfType<ArrayAttr>("axes"))
      call.takesMicroBatch |= device.namesTime(axes);
  }
  call.arguments.assign(arguments.begin(), arguments.end());
  // Copies are made by whoever reads them, but not for messages and results.
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(user) && (!op->hasTrait<MadeByReaders>() ||
                                              isa<YieldOp, AllReduceOp>(user));
          }))
        call.results.push_back(result);

  out.indent(1);
  std::string list;
  auto addArgument = [&](RankedTensorType type) {
    Hlo value{out.fresh(), type};
    list += (list.empty() ? "" : ", ") + value.name + ": " + spell(type);
    return value;
  };
  for (Value argument : call.arguments)
    values[argument] = addArgument(cast<RankedTensorType>(argument.getType()));
  if (call.takesMicroBatch)
    device.microBatch = addArgument(RankedTensorType::get({}, out.integer(32)));
  std::string results;
  for (Value result : call.results)
    results += (results.empty() ? "" : ", ") + spell(result.getType());
  out.line("func.func public @" + name + "(" + list + ") -> (" + results +
           ") {");
  out.indent(1);
  for (Operation *op : all)
    if (failed(writeOp(op)))
      return failure();
  Hlos returned = lookup(call.results);
  out.line("return" + (returned.empty() ? ""
                                        : " " + hlo::names(returned) + " : " +
                                              types(returned)));
  out.indent(-1);
  out.line("}");
  out.indent(-1);
  device.microBatch.reset();
  return call;
}

FailureOr<std::vector<StageCall>> StageWriter::write(FragmentOp fragment) {
  std::vector<StageCall> work;
  const std::string name = findName(fragment);
  SmallVector<Operation *> part;
  int number = 0;
  auto endPart = [&]() -> LogicalResult {
    if (part.empty())
      return success();
    ++number;
    FailureOr<StageCall> call = writePart(
        part, number == 1 ? name : name + "." + std::to_string(number));
    if (failed(call))
      return failure();
    work.push_back(std::move(*call));
    part.clear();
    return success();
  };
  for (Operation &op : fragment.getBody().front().without_terminator()) {
    if (!isSumOverStages(&op, device.getMesh())) {
      part.push_back(&op);
      continue;
    }
    if (failed(endPart()))
      return failure();
    auto sum = cast<AllReduceOp>(op);
    StageCall call;
    call.sum = sum;
    call.arguments.assign(sum.getOperands().begin(), sum.getOperands().end());
    call.results.assign(sum.getOutputs().begin(), sum.getOutputs().end());
    work.push_back(std::move(call));
  }
  if (failed(endPart()))
    return failure();
  return work;
}
