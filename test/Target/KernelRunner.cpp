//===- KernelRunner.cpp - runs a function of launches ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "KernelRunner.h"
#include "../Reference/Testing.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/ElementTypes.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/Reference/Interpreter.h"
#include "pp/Transforms/Passes.h"
#include "pprt/ElementFormats.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;
using Bytes = pp::testing::Bytes;

Bytes pp::testing::toBytes(const HostTensor &tensor) {
  Bytes bytes;
  pprt::withFormat(*toElementType(tensor.elementType()), [&](auto format) {
    using Format = decltype(format);
    for (double value : tensor.values) {
      const double rounded = reference::roundTo(tensor.elementType(), value);
      const typename Format::Stored stored =
          Format::store(static_cast<typename Format::Value>(rounded));
      const auto *first = reinterpret_cast<const uint8_t *>(&stored);
      bytes.insert(bytes.end(), first, first + sizeof(stored));
    }
  });
  return bytes;
}

HostTensor pp::testing::fromBytes(RankedTensorType type, const Bytes &bytes) {
  HostTensor tensor(type);
  pprt::withFormat(*toElementType(type.getElementType()), [&](auto format) {
    using Format = decltype(format);
    for (auto [index, value] : llvm::enumerate(tensor.values)) {
      typename Format::Stored stored;
      std::memcpy(&stored, bytes.data() + index * sizeof(stored),
                  sizeof(stored));
      value = static_cast<double>(Format::load(stored));
    }
  });
  return tensor;
}

bool pp::testing::formKernels(ModuleOp module, const std::string &target) {
  // A model, whose kernels are formed without stages.
  module->setAttr(attrs::kLevel,
                  LevelAttr::get(module.getContext(), Level::Pipeline));
  PassManager passes(module.getContext());
  FormKernelsOptions options;
  options.target = target;
  passes.addPass(createFormKernels(options));
  passes.addPass(createReserveScratch());
  return succeeded(passes.run(module));
}

SmallVector<func::FuncOp> pp::testing::loopsKernels(ModuleOp module) {
  SmallVector<func::FuncOp> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    if (getKernelKind(function) == KernelKind::Loops)
      kernels.push_back(function);
  return kernels;
}

/// Place of an element of batch `index` (row-major) in the view's buffer.
static uint64_t place(const pprt::ppx::MatrixViewT &view,
                      ArrayRef<uint64_t> batch, uint64_t index, uint64_t row,
                      uint64_t column) {
  uint64_t offset =
      view.offset + row * view.row_stride + column * view.column_stride;
  for (size_t dim = batch.size(); dim-- > 0;) {
    offset += index % batch[dim] * view.batch[dim];
    index /= batch[dim];
  }
  return offset;
}

/// The element of a view; zero where a window is outside.
static double elementOf(const HostTensor &tensor,
                        const pprt::ppx::MatrixViewT &view,
                        ArrayRef<uint64_t> batch, uint64_t index, uint64_t row,
                        uint64_t column) {
  std::vector<int64_t> coordinates;
  for (auto &window : view.windows)
    coordinates.push_back(window->offset);
  uint64_t offset = 0;
  auto addLoops = [&](auto &loops, uint64_t position) {
    for (auto &loop : llvm::reverse(loops)) {
      int64_t at = position % loop->extent;
      position /= loop->extent;
      if (loop->window < 0)
        offset += at * loop->stride;
      else
        coordinates[loop->window] += at * loop->step;
    }
    return loops.empty();
  };
  bool hasRows = addLoops(view.rows, row),
       hasColumns = addLoops(view.columns, column);
  for (auto [window, x] : llvm::zip_equal(view.windows, coordinates)) {
    if (x < 0 || x % window->divisor || x / window->divisor >= window->size)
      return 0.0;
    offset += x / window->divisor * window->stride;
  }
  return tensor.values.at(offset + place(view, batch, index, hasRows ? row : 0,
                                         hasColumns ? column : 0));
}

/// Plain loops over the strides. Epilogues read the operands after the second.
static HostTensor runContraction(const pprt::ppx::ContractionT &c,
                                 RankedTensorType type,
                                 ArrayRef<HostTensor> arguments) {
  HostTensor out(type);
  uint64_t numBatch = 1;
  for (uint64_t size : c.batch)
    numBatch *= size;
  for (uint64_t b = 0; b < numBatch; ++b)
    for (uint64_t row = 0; row < c.m; ++row)
      for (uint64_t column = 0; column < c.n; ++column) {
        double sum = 0;
        for (uint64_t k = 0; k < c.k; ++k)
          sum += elementOf(arguments[0], *c.lhs, c.batch, b, row, k) *
                 elementOf(arguments[1], *c.rhs, c.batch, b, k, column);
        sum *= c.alpha;
        for (auto &epilogue : c.epilogues)
          sum += arguments[epilogue->parameter].values.at(
              place(*epilogue->view, c.batch, b, row, column));
        out.values.at(place(*c.out, c.batch, b, row, column)) = sum;
      }
  return out;
}

std::vector<HostTensor> pp::testing::runLaunches(ModuleOp module,
                                                 RunLoops runLoops,
                                                 ArrayRef<HostTensor> inputs) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  DenseMap<Value, std::shared_ptr<Bytes>> values;
  for (auto [argument, tensor] : llvm::zip_equal(main.getArguments(), inputs))
    values[argument] = std::make_shared<Bytes>(toBytes(tensor));
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto launch = cast<LaunchOp>(op);
    auto kernel = module.lookupSymbol<func::FuncOp>(launch.getCallee());
    if (getKernelKind(kernel) == KernelKind::Contraction) {
      std::vector<HostTensor> arguments;
      for (Value operand : launch.getOperands())
        arguments.push_back(fromBytes(cast<RankedTensorType>(operand.getType()),
                                      *values[operand]));
      auto type = cast<RankedTensorType>(launch->getResult(0).getType());
      auto contraction = matchContraction(kernel);
      if (failed(contraction))
        return {};
      values[launch->getResult(0)] = std::make_shared<Bytes>(
          toBytes(runContraction(*contraction, type, arguments)));
      continue;
    }
    KernelParameters parameters = getKernelParameters(kernel);
    SmallVector<std::shared_ptr<Bytes>> buffers;
    for (Value operand : launch.getOperands())
      buffers.push_back(values[operand]);
    for (size_t index = buffers.size(); index < parameters.types.size();
         ++index)
      buffers.push_back(std::make_shared<Bytes>(parameters.bytes[index], 0xA5));
    buffers.push_back(std::make_shared<Bytes>(parameters.workspace, 0xA5));
    if (!runLoops(kernel, buffers))
      return {};
    for (auto [result, parameter] :
         llvm::zip_equal(launch.getResults(), parameters.ofResult))
      values[result] = buffers[parameter];
  }
  std::vector<HostTensor> results;
  for (Value value : main.getBody().front().getTerminator()->getOperands())
    results.push_back(
        fromBytes(cast<RankedTensorType>(value.getType()), *values[value]));
  return results;
}

std::vector<HostTensor> pp::testing::runLaunches(ModuleOp module,
                                                 const CompiledKernels &kernels,
                                                 ArrayRef<HostTensor> inputs) {
  const std::vector<int64_t> scalars = getLaunchScalars(module);
  auto runLoops = [&](func::FuncOp kernel,
                      ArrayRef<std::shared_ptr<Bytes>> buffers) {
    SmallVector<void *> arguments;
    for (const std::shared_ptr<Bytes> &buffer : buffers)
      arguments.push_back(buffer->data());
    KernelFunction function = kernels.lookup(getKernelSymbol(kernel));
    int64_t rows = getKernelRows(kernel);
    function(arguments.data(), scalars.data(), rows / 2, rows);
    function(arguments.data(), scalars.data(), 0, rows / 2);
    return true;
  };
  return runLaunches(module, runLoops, inputs);
}

std::vector<int64_t> pp::testing::getLaunchScalars(ModuleOp module) {
  std::vector<int64_t> scalars;
  int64_t microBatch = 0;
  if (MeshOp mesh = lookupMesh(module))
    for (MeshAxisAttr axis : mesh.getMesh().getAxes()) {
      const bool isTime = axis.getKind() == AxisKind::Time;
      scalars.push_back(isTime ? 0 : std::min<int64_t>(1, axis.getSize() - 1));
      if (isTime)
        microBatch = axis.getSize() - 1;
    }
  scalars.push_back(microBatch);
  scalars.push_back(0);
  return scalars;
}

/// Major to minor.
static int64_t indexAlong(AxisIndexOp op, MeshAttr mesh,
                          ArrayRef<int64_t> scalars) {
  int64_t index = 0;
  for (StringAttr name : op.getAxes().getAsRange<StringAttr>()) {
    MeshAxisAttr axis = mesh.lookup(name);
    const size_t place = axis.getKind() == AxisKind::Time
                             ? mesh.getAxes().size()
                             : mesh.indexOf(name);
    index = index * axis.getSize() + scalars[place];
  }
  return index;
}

std::vector<HostTensor> pp::testing::evaluateMain(ModuleOp module,
                                                  ArrayRef<HostTensor> inputs) {
  OwningOpRef<ModuleOp> copy = module.clone();
  const std::vector<int64_t> scalars = getLaunchScalars(module);
  copy->walk([&](AxisIndexOp op) {
    const int64_t index = indexAlong(op, lookupMesh(module).getMesh(), scalars);
    auto type = cast<RankedTensorType>(op.getType());
    OpBuilder builder(op);
    op.replaceAllUsesWith(Value(ConstantOp::create(
        builder, op.getLoc(), type,
        DenseElementsAttr::get(
            type, builder.getIntegerAttr(type.getElementType(), index)))));
    op.erase();
  });
  auto results =
      reference::evaluate(copy->lookupSymbol<func::FuncOp>("main"), inputs);
  return succeeded(results) ? std::move(*results) : std::vector<HostTensor>();
}

HostTensor pp::testing::randomTensor(RankedTensorType type,
                                     std::mt19937 &random, double low,
                                     double high) {
  HostTensor tensor(type);
  std::uniform_real_distribution<double> uniform(low, high);
  for (double &value : tensor.values)
    value = isa<FloatType>(type.getElementType()) ? uniform(random)
            : type.getElementType().isInteger(1)  ? double(random() % 2)
                                                  : double(random() % 9) - 1;
  tensor.roundToElement();
  return tensor;
}

void pp::testing::expectNear(ArrayRef<HostTensor> actual,
                             ArrayRef<HostTensor> expected, double tolerance,
                             const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t index = 0; index < actual.size(); ++index) {
    const HostTensor &want = expected[index], &got = actual[index];
    // What the interpreter does not round.
    Type element = want.elementType();
    const double ofResult = std::max(tolerance, element.isBF16()  ? 0x1p-8
                                                : element.isF16() ? 0x1p-11
                                                : element.isF32() ? 0x1p-24
                                                                  : 0.0);
    double largest = 1e-30;
    for (double value : want.values)
      if (std::isfinite(value))
        largest = std::max(largest, std::abs(value));
    for (size_t at = 0; at < want.values.size(); ++at) {
      const std::string where = "result " + std::to_string(index) +
                                " element " + std::to_string(at) + "\n" + what;
      // Beyond the type's largest number the interpreter goes on.
      const double rounded = reference::roundTo(element, want.values[at]);
      if (std::isnan(rounded))
        EXPECT_TRUE(std::isnan(got.values[at])) << where;
      else if (std::isinf(rounded) || !isa<FloatType>(element))
        ASSERT_EQ(got.values[at], rounded) << where;
      else
        ASSERT_NEAR(got.values[at], want.values[at], ofResult * largest)
            << where;
    }
  }
}

void pp::testing::compareKernels(
    const std::string &text, double low, double high, double tolerance,
    const std::string &target,
    function_ref<std::vector<HostTensor>(ModuleOp, ArrayRef<HostTensor>)> run) {
  pp::testing::Context context;
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (Type type : main.getArgumentTypes())
    inputs.push_back(
        randomTensor(cast<RankedTensorType>(type), random, low, high));
  auto expected = evaluateMain(*module, inputs);
  ASSERT_FALSE(expected.empty());
  ASSERT_TRUE(formKernels(*module, target));
  std::string formed;
  llvm::raw_string_ostream(formed) << *module;
  expectNear(run(*module, inputs), expected, tolerance, formed);
}
