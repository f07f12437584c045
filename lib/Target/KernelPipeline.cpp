//===- KernelPipeline.cpp - from linalg to the LLVM dialect ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a function with one loop over rows, whose body is linalg on the tensors
// of a row. Out: the same in the LLVM dialect, without calls but to libm and
// without memory but its arguments and its stack. The order of the steps
// matters: elementwise ops are fused while they are tensors, results are
// written where they belong before buffers are made, and math functions are
// replaced by polynomials once loops are scalar.
//
//===----------------------------------------------------------------------===//
#include "KernelPipeline.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "pp/IR/Kernel.h"

using namespace mlir;

/// Scratch of one row beyond this is in the kernel's workspace.
static constexpr int64_t kMaxStackBytes = 512 << 10;
/// A cache line, and the widest vector.
static constexpr int64_t kScratchAlignment = 64;
/// A tensor's own buffer, and a copy where it begins and where it ends.
static constexpr int64_t kMaxBuffersPerTensor = 3;

static void addConversions(OpPassManager &passes) {
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createSCFToControlFlowPass());
  ConvertMathToLLVMPassOptions mathematics;
  mathematics.approximateLog1p = false; // log(1 + x) is none of a small x
  passes.addPass(createConvertMathToLLVMPass(mathematics));
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void pp::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, bufferization::BufferizationDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  // Kernels are compiled in parallel, and a context may not load a dialect
  // while another thread reads it.
  OpPassManager passes(ModuleOp::getOperationName());
  addConversions(passes);
  passes.getDependentDialects(registry);
}

namespace {

/// Copies are free to repeat; anything else is fused into its only user, once
/// that reads it as one operand: each operand would get a body of its own.
bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  if (!producer)
    return false;
  bool isCopy = producer.getBody()->without_terminator().empty();
  return isCopy || operand->get().hasOneUse();
}

LogicalResult fuseElementwise(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractOp::getCanonicalizationPatterns(patterns, context);
  // Each leaves fewer ops or operands, so they end; long chains, as those of
  // random numbers, take more rounds than MLIR allows by itself.
  GreedyRewriteConfig config;
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  return applyPatternsGreedily(module, std::move(patterns), config);
}

Value baseOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<memref::SubViewOp>())
    buffer = view.getSource();
  return buffer;
}

/// True if every use of `load` happens before `writer` overwrites its memory,
/// or in `writer` itself at the element it writes.
bool isReadInTime(bufferization::ToTensorOp load, Operation *writer) {
  return llvm::all_of(load->getUses(), [&](OpOperand &use) {
    auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!reader || reader->getBlock() != writer->getBlock())
      return false;
    if (reader != writer)
      return reader->isBeforeInBlock(writer);
    return reader.getNumReductionLoops() == 0 &&
           reader.getMatchingIndexingMap(&use).isIdentity();
  });
}

/// The value that the op of `value` overwrites; null for other values.
OpOperand *destinationOf(Value value) {
  if (auto op = value.getDefiningOp<DestinationStyleOpInterface>())
    return op.getTiedOpOperand(cast<OpResult>(value));
  if (auto loop = value.getDefiningOp<scf::ForOp>())
    return loop.getTiedLoopInit(cast<OpResult>(value));
  return nullptr;
}

/// The use of an empty tensor with which the computation of the stored value
/// begins, if all of it may happen in the memory that `store` writes; otherwise
/// null.
///
/// Bufferization knows what tensors read and write of each other, but not that
/// a store overwrites every tensor in its memory. So only the stored value may
/// be there, and values that only the next step towards it reads.
/// `bufferization::eliminateEmptyTensors` does not check that: with two results
/// inserted into one base it puts the base where the first one is stored; the
/// second is inserted there, and lost when the first is stored.
OpOperand *findScratch(bufferization::MaterializeInDestinationOp store) {
  Value value = store.getSource();
  while (OpOperand *destination = destinationOf(value)) {
    value = destination->get();
    if (!value.hasOneUse())
      return nullptr;
    if (value.getDefiningOp<tensor::EmptyOp>())
      return destination;
  }
  return nullptr;
}

/// A result that shares an argument's memory overwrites it, from `writer` on; a
/// late reader of the argument gets a copy made in time.
void protectInplaceArguments(bufferization::MaterializeInDestinationOp store,
                             Operation *writer) {
  store->getBlock()->walk([&](bufferization::ToTensorOp load) {
    if (baseOf(load.getBuffer()) != baseOf(store.getDest()) ||
        isReadInTime(load, writer))
      return;
    OpBuilder builder(load->getContext());
    builder.setInsertionPointAfter(load);
    auto copy = bufferization::AllocTensorOp::create(
        builder, load.getLoc(), cast<RankedTensorType>(load.getType()),
        ValueRange(), load.getResult());
    load.getResult().replaceAllUsesExcept(copy.getResult(), copy);
  });
}

/// Computes results where they belong, rather than in scratch that is copied.
void computeInDestinations(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  function.walk([&](bufferization::MaterializeInDestinationOp store) {
    OpOperand *scratch = findScratch(store);
    Operation *writer = scratch ? scratch->getOwner() : store;
    protectInplaceArguments(store, writer);
    if (!scratch)
      return;
    builder.setInsertionPoint(writer);
    scratch->set(store.buildSubsetExtraction(builder, store.getLoc()));
  });
}

LogicalResult bufferize(ModuleOp module) {
  bufferization::OneShotBufferizationOptions options;
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(module, options, state);
}

/// The buffers that bufferization left in a row, and a place for each.
struct Scratch {
  SmallVector<std::pair<memref::AllocOp, int64_t>> places;
  int64_t bytes = 0;
};

Scratch layOutScratch(func::FuncOp function) {
  Scratch scratch;
  function.walk([&](memref::AllocOp alloc) {
    scratch.places.push_back({alloc, scratch.bytes});
    MemRefType type = alloc.getType();
    int64_t bytes =
        type.getNumElements() *
        llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    scratch.bytes += llvm::alignTo(bytes, kScratchAlignment);
  });
  return scratch;
}

/// Puts scratch on the stack or into the workspace, once for all rows.
LogicalResult hoistScratch(func::FuncOp function) {
  Scratch scratch = layOutScratch(function);
  Value workspace;
  if (auto index = function->getAttrOfType<IntegerAttr>(pp::attrs::kWorkspace))
    workspace = function.getArgument(index.getInt());
  function->removeAttr(pp::attrs::kWorkspace);
  int64_t room =
      workspace ? cast<MemRefType>(workspace.getType()).getNumElements() : 0;
  if (scratch.bytes > std::max(room, kMaxStackBytes))
    return function.emitError("expects a workspace of ")
           << scratch.bytes << " bytes for each thread, got " << room
           << "; pp-reserve-scratch gives kernels theirs";
  IRRewriter rewriter(function.getContext());
  for (auto [alloc, offset] : scratch.places) {
    rewriter.setInsertionPointToStart(&function.getBody().front());
    Location loc = alloc.getLoc();
    if (!workspace || scratch.bytes > room) {
      rewriter.replaceOp(alloc,
                         memref::AllocaOp::create(
                             rewriter, loc, alloc.getType(),
                             rewriter.getI64IntegerAttr(kScratchAlignment)));
      continue;
    }
    Value start = arith::ConstantIndexOp::create(rewriter, loc, offset);
    rewriter.replaceOp(alloc,
                       memref::ViewOp::create(rewriter, loc, alloc.getType(),
                                              workspace, start, ValueRange()));
  }
  return success();
}

LogicalResult convertToLoops(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<memref::CopyOp> copies;
  function.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    rewriter.eraseOp(copy);
  }
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToLoops(rewriter, op)))
      return op->emitError("expects an op that loops can compute");
    rewriter.eraseOp(op);
  }
  return success();
}

/// The polynomial of a logarithm takes a subnormal number for the smallest
/// normal one: such a number is scaled up first.
void scaleLogarithms(ModuleOp module) {
  constexpr double kScale = 0x1p24, kLogOfScale = 16.635532333438687;
  module.walk([](math::LogOp log) {
    Type type = log.getType();
    if (!type.isF32())
      return;
    OpBuilder b(log);
    Location loc = log.getLoc();
    auto literal = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
    };
    Value x = log.getOperand();
    Value isSmall =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x,
                              literal(std::numeric_limits<float>::min()));
    auto choose = [&](Value ifSmall, Value otherwise) -> Value {
      return arith::SelectOp::create(b, loc, isSmall, ifSmall, otherwise);
    };
    Value scaled = arith::MulFOp::create(b, loc, x, literal(kScale));
    log->setOperand(0, choose(scaled, x));
    b.setInsertionPointAfter(log);
    Value over = choose(literal(kLogOfScale), literal(0));
    auto result = arith::SubFOp::create(b, loc, log, over);
    log.getResult().replaceAllUsesExcept(result, result);
  });
}

/// f32 functions become polynomials that vectorise; f64 keeps libm's accuracy.
/// So do sine and cosine, whose polynomials lose digits from 100 on, where the
/// angles of positions are, and all of them at 1e9.
/// Conversions of bf16 become integer arithmetic; those of f16 wait for the
/// processor to be known (NarrowFloats.h). No other expansion is wanted:
/// a maximum made of a comparison would no longer be vectorised.
LogicalResult expandScalars(ModuleOp module) {
  scaleLogarithms(module);
  RewritePatternSet patterns(module.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(
        {math::ExpOp::getOperationName(), math::LogOp::getOperationName(),
         math::Log1pOp::getOperationName(), math::TanhOp::getOperationName(),
         math::ErfOp::getOperationName()},
        name);
  });
  arith::populateExpandBFloat16Patterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

LogicalResult convertToLLVM(ModuleOp module) {
  PassManager passes(module.getContext());
  // It would run thirteen times for every kernel, on the output of these passes
  // only.
  passes.enableVerifier(false);
  addConversions(passes);
  return passes.run(module);
}

} // namespace

/// From tensors to buffers, those of the arguments and scratch.
static LogicalResult makeBuffers(ModuleOp module) {
  if (failed(fuseElementwise(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    computeInDestinations(function);
  return bufferize(module);
}

FailureOr<int64_t> pp::measureScratch(func::FuncOp kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto function = buildRowLoop(builder, kernel, "rows");
  if (failed(function))
    return failure();
  // Every buffer is that of a tensor here, or a copy of one of those; few
  // kernels come near the limit.
  int64_t bound = 0;
  function->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (isa<RankedTensorType>(type))
        bound += kMaxBuffersPerTensor * pp::getTensorBytes(type);
  });
  if (bound <= kMaxStackBytes)
    return 0;
  if (failed(makeBuffers(*module)))
    return failure();
  int64_t bytes = layOutScratch(*function).bytes;
  return bytes > kMaxStackBytes ? bytes : 0;
}

LogicalResult pp::lowerToLLVM(ModuleOp module) {
  if (failed(makeBuffers(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(hoistScratch(function)) || failed(convertToLoops(function)))
      return failure();
  if (failed(expandScalars(module)))
    return failure();
  return convertToLLVM(module);
}
