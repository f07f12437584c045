//===- StepWriter.cpp - a function of pp as one of StableHLO --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rounds in order: the ops outside of loops, then the loop. StableHLO's loops
// see nothing from outside, so what they need comes in as values that stay.
//
//===----------------------------------------------------------------------===//
#include "StepWriter.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static int64_t countMicroBatches(MeshAttr mesh) {
  MeshAxisAttr time = mesh ? mesh.getTimeAxis() : MeshAxisAttr();
  return time ? time.getSize() : 1;
}

StepWriter::StepWriter(func::FuncOp main, MeshAttr mesh)
    : OpWriter(main.getContext(), mesh), main(main),
      body(main.getBody().front()), numMicroBatches(countMicroBatches(mesh)),
      schedule(main, device) {}

RankedTensorType StepWriter::outerType(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (!schedule.isPerMicroBatch(value))
    return type;
  SmallVector<int64_t> shape = {numMicroBatches};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

Hlo StepWriter::takeRow(const Hlo &rows) {
  Hlos starts(rows.shape().size(), scalar(0));
  starts[0] = *device.microBatch;
  SmallVector<int64_t> sizes(rows.shape());
  sizes[0] = 1;
  return out.reshape(out.dynamicSlice(rows, starts, sizes),
                     rows.shape().drop_front());
}

Hlo StepWriter::putRow(const Hlo &rows, const Hlo &row) {
  Hlos starts(rows.shape().size(), scalar(0));
  starts[0] = *device.microBatch;
  SmallVector<int64_t> shape(rows.shape());
  shape[0] = 1;
  return out.dynamicUpdateSlice(rows, out.reshape(row, shape), starts);
}

LogicalResult StepWriter::writeOps(function_ref<bool(Operation *)> isWanted) {
  for (Operation &op : body.without_terminator())
    if (isWanted(&op) && failed(writeOp(&op)))
      return failure();
  return success();
}

/// Sums of 16 bits are added up in f32.
static Type getAccumulator(Type element) {
  auto real = dyn_cast<FloatType>(element);
  return real && real.getWidth() < 32 ? Float32Type::get(element.getContext())
                                      : element;
}

LogicalResult StepWriter::writeLoop(MicroBatchLoop &loop) {
  // The counter, the sums, what is collected, and what stays the same.
  Hlos initial = {scalar(0)};
  for (AccumulateOp sum : loop.sums) {
    auto type = cast<RankedTensorType>(sum.getType());
    initial.push_back(
        out.constant(type.clone(getAccumulator(type.getElementType())), 0));
  }
  for (Value value : loop.collected)
    initial.push_back(out.constant(outerType(value), 0));
  for (Value value : loop.captures)
    initial.push_back(values.at(value));

  Hlos carried;
  std::string list;
  for (const Hlo &value : initial) {
    carried.push_back({out.fresh(), value.type});
    list += (list.empty() ? "" : ", ") + carried.back().name + ": " +
            spell(value.type);
  }
  const std::string result = out.fresh();
  out.line(result + ":" + Twine(initial.size()) + " = \"stablehlo.while\"(" +
           names(initial) + ") ({");
  out.line("^bb0(" + list + "):");
  out.indent(1);
  Hlo goesOn = out.compare("LT", carried[0], scalar(numMicroBatches));
  out.line("stablehlo.return " + goesOn.name + " : " + spell(goesOn.type));
  out.indent(-1);
  out.line("}, {");
  out.line("^bb0(" + list + "):");
  out.indent(1);

  // Values of the block in the meantime.
  llvm::DenseMap<Value, Hlo> outside = values;
  device.microBatch = carried[0];
  const size_t firstCollected = 1 + loop.sums.size();
  const size_t firstCapture = firstCollected + loop.collected.size();
  for (auto [index, value] : llvm::enumerate(loop.captures)) {
    const Hlo &inside = carried[firstCapture + index];
    values[value] = schedule.isPerMicroBatch(value) ? takeRow(inside) : inside;
  }
  if (failed(writeOps([&](Operation *op) { return loop.ops.contains(op); })))
    return failure();
  Hlos next = {out.same("add", {carried[0], scalar(1)})};
  for (auto [index, sum] : llvm::enumerate(loop.sums)) {
    const Hlo &before = carried[1 + index];
    next.push_back(out.same(
        "add",
        {before, out.convert(values.at(sum.getOperand()), before.element())}));
  }
  for (auto [index, value] : llvm::enumerate(loop.collected))
    next.push_back(putRow(carried[firstCollected + index], values.at(value)));
  llvm::append_range(next, ArrayRef(carried).drop_front(firstCapture));
  out.line("stablehlo.return " + names(next) + " : " + types(next));
  out.indent(-1);
  out.line("}) : (" + types(initial) + ") -> (" + types(next) + ")");
  device.microBatch.reset();
  values = std::move(outside);

  auto resultAt = [&](size_t index) {
    return Hlo{result + "#" + std::to_string(index), initial[index].type};
  };
  for (auto [index, sum] : llvm::enumerate(loop.sums))
    values[sum.getResult()] =
        out.convert(resultAt(1 + index),
                    cast<RankedTensorType>(sum.getType()).getElementType());
  for (auto [index, value] : llvm::enumerate(loop.collected))
    values[value] = resultAt(firstCollected + index);
  return success();
}

/// A model's updated parameters and states take the place of the old ones.
static SmallVector<std::optional<unsigned>> findAliases(func::FuncOp main) {
  SmallVector<std::optional<unsigned>> aliases(main.getNumArguments());
  for (auto [index, argument] : llvm::enumerate(getUpdatedArguments(main)))
    if (argument && argument.getType() == main.getResultTypes()[index])
      aliases[argument.getArgNumber()] = index;
  return aliases;
}

void StepWriter::writeSignature() {
  std::string list, results;
  SmallVector<std::optional<unsigned>> aliases = findAliases(main);
  for (BlockArgument argument : body.getArguments()) {
    const unsigned index = argument.getArgNumber();
    Hlo value{"%arg" + std::to_string(index), outerType(argument)};
    values[argument] = value;
    list += (index ? ", " : "") + value.name + ": " + spell(value.type);
    if (aliases[index])
      list += " {tf.aliasing_output = " + std::to_string(*aliases[index]) +
              " : i32}";
    if (StringRef name = getArgName(main, index); !name.empty())
      list += " loc(" + quote(name) + ")";
  }
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    results += (index ? ", " : "") + spell(outerType(value));
    if (StringRef name = getResultName(main, index); !name.empty())
      results += " {jax.result_info = " + quote(name) + "}";
  }
  out.line("func.func public @main(" + list + ") -> (" + results + ") {");
}

LogicalResult StepWriter::write() {
  out.indent(1);
  writeSignature();
  out.indent(1);
  for (auto [round, loop] : llvm::enumerate(schedule.loops)) {
    if (failed(writeOps([&, round = round](Operation *op) {
          return schedule.isOutside(op) && !isa<AccumulateOp>(op) &&
                 schedule.getRound(op) == round;
        })))
      return failure();
    if ((!loop.sums.empty() || !loop.collected.empty()) &&
        failed(writeLoop(loop)))
      return failure();
  }
  Hlos results = lookup(body.getTerminator()->getOperands());
  out.line("return " + names(results) + " : " + types(results));
  out.indent(-1);
  out.line("}");
  out.indent(-1);
  return success();
}
