//===- KernelObject.cpp - from the LLVM dialect to machine code -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A short list of LLVM passes does for these loop nests the work of -O3, in a
// third of its time. The module carries the host's triple and data layout:
// without them LLVM silently does not vectorise. Code is for a level of the
// host's architecture; for the host's own level it is tuned for the host.
//
//===----------------------------------------------------------------------===//
#include "KernelPipeline.h"
#include "NarrowFloats.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "pprt/Processor.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <dlfcn.h>
#include <mutex>

using namespace mlir;

/// A digest of all sources on which code depends; see CMakeLists.txt.
static constexpr const char *kSourceDigest =
#include "KernelSources.inc"
    ;

static constexpr const char *kPasses =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-"
    "simplify,lcssa,"
    "loop(loop-rotate),loop-mssa(licm),loop(indvars),gvn,loop-vectorize,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm))";

/// Architectures without levels get code for their very processor.
static std::string targetProcessor(llvm::StringRef level) {
  return level.empty() ? llvm::sys::getHostCPUName().str() : level.str();
}

/// A level covers many processors.
static std::string tunedProcessor(llvm::StringRef level) {
  return level == pprt::processorLevel() ? llvm::sys::getHostCPUName().str()
                                         : "generic";
}

/// The build id of the library that holds `function`: another build of the same
/// version may make other code. Empty if it has none.
static std::string buildIdOf(const void *function) {
  Dl_info info;
  if (dladdr(function, &info) == 0)
    return "";
  auto library = llvm::object::ObjectFile::createObjectFile(info.dli_fname);
  if (!library) {
    llvm::consumeError(library.takeError());
    return "";
  }
  return llvm::toHex(llvm::object::getBuildID(library->getBinary()),
                     /*LowerCase=*/true);
}

std::string pp::describeTarget(llvm::StringRef level) {
  static const std::string llvmBuild =
      buildIdOf(reinterpret_cast<const void *>(&llvm::sys::getHostCPUName));
  static const std::string mlirBuild = buildIdOf(reinterpret_cast<const void *>(
      static_cast<std::unique_ptr<llvm::Module> (*)(
          Operation *, llvm::LLVMContext &, llvm::StringRef, bool)>(
          &translateModuleToLLVMIR)));
  return llvm::join_items("\n", kSourceDigest, LLVM_VERSION_STRING, llvmBuild,
                          mlirBuild, kPasses, llvm::sys::getProcessTriple(),
                          targetProcessor(level), tunedProcessor(level));
}

static std::unique_ptr<llvm::TargetMachine> createMachine(llvm::StringRef level,
                                                          std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, targetProcessor(level), /*Features=*/"", llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Less));
}

/// void name(ptr arguments, ptr scalars, i64 begin, i64 end): unpacks the
/// buffers, whose noalias attributes sit on the function called.
static void addEntry(llvm::Module &module, llvm::StringRef name) {
  llvm::Function *rows = module.getFunction((name + ".rows").str());
  rows->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *i64 = llvm::Type::getInt64Ty(context);
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                              {pointer, pointer, i64, i64}, /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (unsigned index = 0; index + 3 < rows->arg_size(); ++index) {
    llvm::Value *slot =
        builder.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), index);
    arguments.push_back(builder.CreateLoad(pointer, slot));
  }
  for (unsigned index = 1; index < 4; ++index)
    arguments.push_back(entry->getArg(index));
  builder.CreateCall(rows, arguments);
  builder.CreateRetVoid();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder passBuilder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passBuilder.registerModuleAnalyses(modules);
  passBuilder.registerCGSCCAnalyses(components);
  passBuilder.registerFunctionAnalyses(functions);
  passBuilder.registerLoopAnalyses(loops);
  passBuilder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(passBuilder.parsePassPipeline(passes, kPasses));
  passes.run(module, modules);
}

FailureOr<pp::ObjectCode> pp::compileObject(ModuleOp module,
                                            llvm::StringRef name,
                                            llvm::StringRef level) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(level, error);
  if (!machine)
    return module.emitError("expects a processor that LLVM can compile for: ")
           << error;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return failure();
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  addEntry(*code, name);
  keepNarrowFloatsAsBits(*code, *machine);
  for (llvm::Function &function : *code)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine->getTargetCPU());
      function.addFnAttr("tune-cpu", tunedProcessor(level));
      // LLVM takes half of AVX-512 on Intel's processors, for the clock that
      // their first ones lost by it. Row loops here are 1.5 times as fast with
      // all of it; where there is no AVX-512 nothing changes.
      function.addFnAttr("prefer-vector-width", "512");
    }
  optimize(*code, *machine);

  ObjectCode object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("expects a target that can emit object files");
  emitter.run(*code);
  return object;
}
