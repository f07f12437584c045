//===- MicroBatchSums.cpp - values added up over micro-batches ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MicroBatchSums.h"

using namespace mlir;
using namespace pp;

/// The type in which values of `type` are added up.
static RankedTensorType sumType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto element = dyn_cast<FloatType>(tensor.getElementType());
  return element && element.getWidth() < 32
             ? tensor.clone(Float32Type::get(type.getContext()))
             : tensor;
}

static std::string nameOf(StringRef verb, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string name = verb.str();
  for (int64_t size : tensor.getShape())
    name += "_" + std::to_string(size);
  llvm::raw_string_ostream(name) << "_" << tensor.getElementType();
  return name;
}

/// An empty kernel, or one that was asked for before.
func::FuncOp SumKernels::getKernel(StringRef name, TypeRange inputs,
                                   Type result) {
  func::FuncOp &kernel = kernels[name];
  if (kernel)
    return kernel;
  auto module = cast<ModuleOp>(symbols.getOp());
  Builder builder(module.getContext());
  kernel = func::FuncOp::create(module.getLoc(), name,
                                builder.getFunctionType(inputs, {result}));
  kernel.setPrivate();
  kernel->setAttr(attrs::kKernel,
                  KernelKindAttr::get(builder.getContext(), KernelKind::Loops));
  kernel.addEntryBlock();
  symbols.insert(kernel, module.getBody()->begin());
  return kernel;
}

/// The value as it is, or in `type`.
static Value convertTo(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return ConvertOp::create(builder, value.getLoc(), type, value);
}

func::FuncOp SumKernels::getAdd(Type sum, Type value) {
  func::FuncOp kernel =
      getKernel(nameOf("accumulate", value), {sum, value}, sum);
  Block &body = kernel.getBody().front();
  if (!body.empty())
    return kernel;
  auto builder = OpBuilder::atBlockBegin(&body);
  kernel->setAttr(attrs::kInplace, builder.getDenseI64ArrayAttr({0, 0}));
  Value added =
      AddOp::create(builder, kernel.getLoc(), sum, body.getArgument(0),
                    convertTo(builder, body.getArgument(1), sum));
  func::ReturnOp::create(builder, kernel.getLoc(), added);
  return kernel;
}

func::FuncOp SumKernels::getConvert(Type from, Type to) {
  func::FuncOp kernel =
      getKernel(nameOf(nameOf("convert", from) + "_to",
                       RankedTensorType::get(
                           {}, cast<RankedTensorType>(to).getElementType())),
                {from}, to);
  Block &body = kernel.getBody().front();
  if (!body.empty())
    return kernel;
  auto builder = OpBuilder::atBlockBegin(&body);
  func::ReturnOp::create(builder, kernel.getLoc(),
                         convertTo(builder, body.getArgument(0), to));
  return kernel;
}

bool MicroBatchSums::mayGoToSlot(OpResult result) {
  return sumType(result.getType()) == result.getType() &&
         llvm::all_of(result.getUsers(), llvm::IsaPred<AccumulateOp>);
}

int64_t MicroBatchSums::getSlot(OpResult result) {
  auto [entry, isNew] = slots.try_emplace(result, -1);
  if (isNew)
    entry->second = writer.addSlot("gradient", SlotClass::Gradient,
                                   sumType(result.getType()));
  return entry->second;
}

void MicroBatchSums::add(OpResult result, int64_t slot) {
  int64_t sum = getSlot(result);
  bool isFirst = started.insert(result).second;
  if (slot == sum)
    return;
  writer.setLoc(result.getLoc());
  Type type = result.getType(), wide = sumType(type);
  if (!isFirst)
    writer.run(kernels.getAdd(wide, type), {sum, slot});
  else if (type == wide)
    writer.copy(slot, sum);
  else
    writer.run(kernels.getConvert(type, wide), {slot, sum});
}

std::optional<int64_t> MicroBatchSums::getTotal(OpResult result) {
  if (!isStarted(result))
    return std::nullopt;
  Type type = result.getType(), wide = sumType(type);
  if (type == wide)
    return getSlot(result);
  auto [entry, isNew] = totals.try_emplace(result, -1);
  if (isNew) {
    entry->second = writer.addSlot("gradient", SlotClass::Gradient, type);
    writer.setLoc(result.getLoc());
    writer.run(kernels.getConvert(wide, type),
               {getSlot(result), entry->second});
  }
  return entry->second;
}
