//===- MicroBatchSums.cpp - values added up over micro-batches ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MicroBatchSums.h"
#include "pp/IR/Values.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pp;

/// The type in which values of `type` are added up.
static RankedTensorType sumType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return isNarrowFloat(tensor.getElementType())
             ? tensor.clone(Float32Type::get(type.getContext()))
             : tensor;
}

static std::string nameOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string name;
  for (int64_t size : tensor.getShape())
    name += "_" + std::to_string(size);
  llvm::raw_string_ostream(name) << "_" << tensor.getElementType();
  return name;
}

/// A new, empty kernel, or an earlier one. `names`: the operations on each
/// tensor.
func::FuncOp SumKernels::getKernel(StringRef verb, ArrayRef<std::string> names,
                                   TypeRange inputs, TypeRange results) {
  func::FuncOp &kernel = kernels[(verb + llvm::join(names, ",")).str()];
  if (kernel)
    return kernel;
  auto module = cast<ModuleOp>(symbols.getOp());
  Builder builder(module.getContext());
  std::string name = names.size() == 1
                         ? (verb + names.front()).str()
                         : llvm::formatv("{0}_{1}_tensors_{2}", verb,
                                         names.size(), numShared++);
  kernel = func::FuncOp::create(module.getLoc(), name,
                                builder.getFunctionType(inputs, results));
  kernel.setPrivate();
  kernel->setAttr(attrs::kKernel,
                  KernelKindAttr::get(builder.getContext(), KernelKind::Loops));
  kernel.addEntryBlock();
  symbols.insert(kernel, module.getBody()->begin());
  return kernel;
}

/// The value, converted to `type` if necessary.
static Value convertTo(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return ConvertOp::create(builder, value.getLoc(), type, value);
}

func::FuncOp SumKernels::getAdd(TypeRange sums, TypeRange values) {
  SmallVector<std::string> names = llvm::map_to_vector(values, nameOf);
  SmallVector<Type> inputs(sums);
  llvm::append_range(inputs, values);
  func::FuncOp kernel = getKernel("accumulate", names, inputs, sums);
  Block &body = kernel.getBody().front();
  if (!body.empty())
    return kernel;
  auto builder = OpBuilder::atBlockBegin(&body);
  SmallVector<int64_t> inplace;
  SmallVector<Value> results;
  for (auto [index, sum] : llvm::enumerate(sums)) {
    inplace.append(2, index);
    Value value = body.getArgument(sums.size() + index);
    results.push_back(AddOp::create(builder, kernel.getLoc(), sum,
                                    body.getArgument(index),
                                    convertTo(builder, value, sum)));
  }
  kernel->setAttr(attrs::kInplace, builder.getDenseI64ArrayAttr(inplace));
  func::ReturnOp::create(builder, kernel.getLoc(), results);
  return kernel;
}

func::FuncOp SumKernels::getConvert(TypeRange from, TypeRange to) {
  SmallVector<std::string> names;
  for (auto [source, target] : llvm::zip_equal(from, to))
    names.push_back(
        nameOf(source) + "_to" +
        nameOf(RankedTensorType::get({}, getElementTypeOrSelf(target))));
  func::FuncOp kernel = getKernel("convert", names, from, to);
  Block &body = kernel.getBody().front();
  if (!body.empty())
    return kernel;
  auto builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Value> results;
  for (auto [value, type] : llvm::zip_equal(body.getArguments(), to))
    results.push_back(convertTo(builder, value, type));
  func::ReturnOp::create(builder, kernel.getLoc(), results);
  return kernel;
}

/// Adds or converts as many at once as a kernel may.
void MicroBatchSums::write(ArrayRef<Move> moves) {
  while (!moves.empty()) {
    const bool adds = moves.front().adds;
    SmallVector<int64_t> from, to;
    SmallVector<Type> fromTypes, toTypes;
    for (const Move &move : moves) {
      // A kernel has no parameter twice.
      if (from.size() == kernels.getMostTensors() || move.adds != adds ||
          llvm::is_contained(from, move.from))
        break;
      from.push_back(move.from);
      to.push_back(move.to);
      fromTypes.push_back(move.fromType);
      toTypes.push_back(move.toType);
    }
    writer.setLoc(moves.front().loc);
    moves = moves.drop_front(from.size());
    SmallVector<int64_t> &slots = adds ? to : from;
    llvm::append_range(slots, adds ? from : to);
    writer.run(adds ? kernels.getAdd(toTypes, fromTypes)
                    : kernels.getConvert(fromTypes, toTypes),
               slots);
  }
}

bool MicroBatchSums::mayGoToSlot(OpResult result) {
  return sumType(result.getType()) == result.getType() &&
         llvm::all_of(result.getUsers(), llvm::IsaPred<AccumulateOp>);
}

int64_t MicroBatchSums::getSlot(OpResult result) {
  auto [entry, isNew] = slots.try_emplace(result, -1);
  if (isNew)
    entry->second = writer.addSlot("gradient", SlotClass::Gradient,
                                   sumType(result.getType()), /*copies=*/1);
  return entry->second;
}

void MicroBatchSums::add(OpResult result, int64_t slot) {
  int64_t sum = getSlot(result);
  bool isFirst = started.insert(result).second;
  if (slot == sum)
    return;
  Type type = result.getType(), wide = sumType(type);
  if (isFirst && type == wide) {
    writer.setLoc(result.getLoc());
    writer.copy(slot, sum);
  } else {
    pending.push_back({result.getLoc(), type, wide, slot, sum, !isFirst});
  }
}

void MicroBatchSums::finish() {
  write(pending);
  pending.clear();
}

void MicroBatchSums::round(ArrayRef<OpResult> results) {
  SmallVector<Move> moves;
  for (OpResult result : results) {
    Type type = result.getType(), wide = sumType(type);
    if (!isStarted(result) || type == wide)
      continue;
    auto [entry, isNew] = totals.try_emplace(result, -1);
    if (!isNew)
      continue;
    entry->second =
        writer.addSlot("gradient", SlotClass::Gradient, type, /*copies=*/1);
    moves.push_back({result.getLoc(), wide, type, getSlot(result),
                     entry->second, /*adds=*/false});
  }
  write(moves);
}

std::optional<int64_t> MicroBatchSums::getTotal(OpResult result) {
  if (!isStarted(result))
    return std::nullopt;
  if (sumType(result.getType()) == result.getType())
    return getSlot(result);
  round(result);
  return totals.at(result);
}
