//===- Ptx.cpp - GPU kernels to PTX ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Structured control flow and scalars become the LLVM dialect, functions of
// mathematics become calls of libdevice, whose bodies are linked in, so the
// result has no calls. PTX is of the oldest version that knows the
// architecture, but at least that of CUDA 12.0, so that most drivers take it.
//
//===----------------------------------------------------------------------===//
#include "Ptx.h"
#include "../KernelPipeline.h"
#include "RowMapping.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/Passes.h"
#include "pp/IR/Aspects.h"
#include "pprt/Target.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <mutex>

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

namespace {

/// Makes calls of libdevice of mathematics, but for instructions, which round
/// correctly.
LogicalResult callLibdevice(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  populateLibDeviceConversionPatterns(types, patterns, /*benefit=*/1);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalDialect<math::MathDialect>();
  target.addLegalOp<math::AbsFOp, math::AbsIOp, math::FmaOp, math::SqrtOp>();
  return applyPartialConversion(module, target, std::move(patterns));
}

LogicalResult lowerGpuToLLVM(ModuleOp module) {
  PassManager cleanup(module.getContext());
  cleanup.addPass(createCanonicalizerPass());
  cleanup.addPass(createCSEPass());
  cleanup.addPass(createSCFToControlFlowPass());
  if (failed(cleanup.run(module)) || failed(callLibdevice(module)))
    return failure();
  PassManager passes(module.getContext());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

std::string featuresOf(StringRef processor) {
  const pprt::Target *target = pprt::findTarget(processor.str());
  return target ? target->features() : "";
}

/// For `processor`; reports at `location` if there is none.
std::unique_ptr<llvm::TargetMachine> createMachine(StringRef processor,
                                                   ModuleOp location) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    location.emitError("expects an LLVM that knows GPUs: ") << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, processor, featuresOf(processor), llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

void runPasses(llvm::Module &module, llvm::TargetMachine &machine,
               StringRef symbol) {
  // Loads of vectors, whose elements are then worked on one by one, would
  // become loads of elements: right for processors with vectors in registers.
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [](StringRef pass, const llvm::Any &) {
        return pass != "VectorCombinePass";
      });
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(),
                            std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::InternalizePass([&](const llvm::GlobalValue &value) {
    return value.getName() == symbol;
  }));
  passes.addPass(
      builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2));
  passes.run(module, modules);
}

/// Loops have several steps at once under way. Left to itself, ptxas unrolls
/// all of a loop, and of those beside it, and then has too few registers.
void limitUnrolling(llvm::Module &module) {
  constexpr unsigned kSteps = 4;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    auto meets = [](const llvm::BasicBlock *block) {
      return llvm::any_of(*block, [](const llvm::Instruction &op) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(&op);
        return call && call->isConvergent();
      });
    };
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (loop->isInnermost() && llvm::none_of(loop->blocks(), meets))
        llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.count", kSteps);
      else // LLVM would rather not
        llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.disable", 1);
  }
}

/// Links the functions that `module` calls. Reads only those of the library:
/// all of it would take longer than the rest of a kernel's compilation.
llvm::Error linkLibdevice(llvm::Module &module) {
  if (llvm::all_of(module.functions(), [](const llvm::Function &function) {
        return !function.isDeclaration() || function.isIntrinsic();
      }))
    return llvm::Error::success();
  auto library = llvm::getLazyBitcodeModule(
      llvm::MemoryBufferRef(getLibdevice(), "libdevice"), module.getContext());
  if (!library)
    return library.takeError();
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library),
                                llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("it cannot be linked");
  // Subnormal numbers are numbers.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  return llvm::Error::success();
}

/// Work that is the same for all architectures: inlining, optimization. Rules
/// that ask for an architecture get the oldest.
FailureOr<std::unique_ptr<llvm::Module>>
optimize(ModuleOp kernel, StringRef symbol, llvm::LLVMContext &context) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine("sm_80", kernel);
  if (!machine)
    return failure();
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(kernel, context);
  if (!code)
    return failure();
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  limitUnrolling(*code);
  if (llvm::Error failure = linkLibdevice(*code))
    return kernel.emitError("cannot use libdevice: ")
           << llvm::toString(std::move(failure));
  runPasses(*code, *machine, symbol);
  // Modules of several kernels become one.
  for (llvm::GlobalValue &value : code->global_values())
    if (!value.isDeclaration() && value.getName() != symbol)
      value.setName(symbol + "_" + value.getName());
  return code;
}

/// Chooses instructions, by passes that change `code`.
FailureOr<std::string> emitPtx(std::unique_ptr<llvm::Module> code,
                               StringRef processor, ModuleOp kernel) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(processor, kernel);
  if (!machine)
    return failure();
  // Accesses are vectors where they should be. The back end's own vectors would
  // also read between and behind elements; this attribute forbids them. Blocks
  // find their group of results by few comparisons rather than by a table.
  for (llvm::Function &function : *code)
    if (!function.isDeclaration()) {
      function.addFnAttr(llvm::Attribute::NoImplicitFloat);
      function.addFnAttr("no-jump-tables", "true");
    }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return kernel.emitError("expects an LLVM that writes PTX");
  emitter.run(*code);
  return text.str().str();
}

/// The place behind the common head of modules: a version, a target and the
/// size of addresses.
size_t findKernels(StringRef module) {
  static constexpr StringLiteral kLast(".address_size 64\n");
  const size_t start = module.find(kLast);
  assert(start != StringRef::npos && "LLVM writes it into every module");
  return start + kLast.size();
}

} // namespace

void pp::gpu::registerGpuDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  NVVM::NVVMDialect, scf::SCFDialect>();
  registerGpuModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// Parameters of 8 bytes each, in the 4352 bytes of every architecture.
static constexpr unsigned kMostParameters = 544;

FailureOr<SmallVector<std::string>>
pp::gpu::compileToPtx(func::FuncOp kernel, StringRef symbol,
                      ArrayRef<StringRef> processors) {
  if (getLibdevice().empty())
    return kernel.emitError("expects a compiler that was built with libdevice "
                            "(scripts/install-dependencies --cuda), got none "
                            "for ")
           << llvm::join(processors, ", ");
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto launch = getLaunchShape(kernel);
  if (failed(launch) || failed(buildGpuKernel(builder, kernel, symbol)) ||
      failed(lowerGpuToLLVM(*module)))
    return failure();
  auto entry = module->lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (entry.getNumArguments() > kMostParameters)
    return kernel.emitError("expects a kernel of at most ")
           << kMostParameters
           << " parameters, which is what a launch takes, got "
           << entry.getNumArguments()
           << ": take its op apart, as a concatenation of many into some of "
              "fewer";
  entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                 builder.getUnitAttr());
  entry->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                 builder.getDenseI32ArrayAttr({int32_t(launch->block), 1, 1}));
  entry->setAttr(
      NVVM::NVVMDialect::getMinctasmAttrName(),
      builder.getI32IntegerAttr(int32_t(getLeastBlocks(launch->block))));

  llvm::LLVMContext context;
  auto code = optimize(*module, symbol, context);
  if (failed(code))
    return failure();
  SmallVector<std::string> modules;
  for (StringRef processor : processors) {
    auto text = emitPtx(llvm::CloneModule(**code), processor, *module);
    if (failed(text))
      return failure();
    if (StringRef(*text).contains(".extern .func"))
      return kernel.emitError("expects functions that libdevice has, got\n")
             << *text;
    text->insert(findKernels(*text),
                 "\n// " + symbol.str() + ": " + describeGpuKernel(kernel) +
                     "\n// " + std::to_string(launch->grid) + " blocks of " +
                     std::to_string(launch->block));
    modules.push_back(std::move(*text));
  }
  return modules;
}

FailureOr<std::string> pp::gpu::compileToPtx(func::FuncOp kernel,
                                             StringRef symbol,
                                             StringRef processor) {
  auto modules = compileToPtx(kernel, symbol, ArrayRef(processor));
  return failed(modules) ? FailureOr<std::string>(failure())
                         : std::move(modules->front());
}

std::string pp::gpu::joinPtx(ArrayRef<StringRef> modules) {
  std::string joined;
  for (StringRef module : modules)
    joined += joined.empty() ? module : module.substr(findKernels(module));
  return joined;
}

std::string pp::gpu::describePtx(StringRef processor) {
  return llvm::join_items("\n", describeTarget(""), getLibdeviceOrigin(),
                          processor, featuresOf(processor));
}
