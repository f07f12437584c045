//===- KernelCompiler.cpp - kernels to machine code -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Equal kernels are compiled once, each in a module of its own, on a pool of
// threads; objects come from the cache where it has them.
//
//===----------------------------------------------------------------------===//
#include "pp/Target/KernelCompiler.h"
#include "KernelCache.h"
#include "KernelObject.h"
#include "KernelPipeline.h"
#include "RowLoop.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pprt/Status.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pp;

struct CompiledKernels::State {
  /// Where diagnostics point; null when there are no kernels.
  LocationAttr location;
  llvm::StringMap<ObjectCode> objects;
  unsigned numCached = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

CompiledKernels::CompiledKernels(std::unique_ptr<State> state)
    : state(std::move(state)) {}
CompiledKernels::CompiledKernels(CompiledKernels &&) = default;
CompiledKernels &CompiledKernels::operator=(CompiledKernels &&) = default;
CompiledKernels::~CompiledKernels() = default;
unsigned CompiledKernels::getNumCached() const { return state->numCached; }

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static FailureOr<ObjectCode> compileKernel(func::FuncOp kernel,
                                           StringRef symbol) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  if (failed(buildRowLoop(builder, kernel, (symbol + ".rows").str())) ||
      failed(lowerToLLVM(*module)))
    return failure();
  return compileObject(*module, symbol);
}

FailureOr<CompiledKernels>
CompiledKernels::compile(ArrayRef<func::FuncOp> kernels,
                         const CompileOptions &options) {
  auto state = std::make_unique<State>();
  if (kernels.empty())
    return CompiledKernels(std::move(state));
  state->location = kernels.front()->getLoc();
  MLIRContext *context = kernels.front()->getContext();
  DialectRegistry registry;
  registerKernelDialects(registry);
  registerLinalgModels(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();

  struct Task {
    func::FuncOp kernel;
    std::string symbol;
    FailureOr<ObjectCode> object = failure();
    bool isCached = false;
  };
  std::vector<Task> tasks;
  llvm::StringSet<> seen;
  for (func::FuncOp kernel : kernels)
    if (std::string symbol = getKernelSymbol(kernel);
        seen.insert(symbol).second)
      tasks.push_back({kernel, symbol});

  std::optional<KernelCache> cache;
  if (options.useCache)
    cache.emplace(options.cacheDirectory, options.cacheLimit);
  std::string target = describeTarget();
  auto run = [&](Task &task) {
    std::string key = task.symbol + "\n" + target;
    if (cache)
      if (auto object = cache->lookup(key)) {
        task.object = std::move(*object);
        task.isCached = true;
        return;
      }
    task.object = compileKernel(task.kernel, task.symbol);
    if (cache && succeeded(task.object))
      cache->store(key, *task.object);
  };
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
    for (Task &task : tasks)
      pool.async([&run, &task] { run(task); });
  }
  if (cache && llvm::any_of(tasks, [](Task &task) { return !task.isCached; }))
    cache->prune();
  for (Task &task : tasks) {
    if (failed(task.object))
      return failure();
    state->numCached += task.isCached;
    state->objects[task.symbol] = std::move(*task.object);
  }
  return CompiledKernels(std::move(state));
}

FailureOr<CompiledKernels>
CompiledKernels::compile(ModuleOp module, const CompileOptions &options) {
  SmallVector<func::FuncOp> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    if (getKernelKind(function) == KernelKind::Loops)
      kernels.push_back(function);
  return compile(kernels, options);
}

//===----------------------------------------------------------------------===//
// Loading and linking
//===----------------------------------------------------------------------===//

LogicalResult CompiledKernels::load() {
  if (state->objects.empty())
    return success();
  auto report = [&](llvm::Error error) {
    return emitError(Location(state->location))
           << "cannot load kernels: " << llvm::toString(std::move(error));
  };
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return report(jit.takeError());
  for (auto &[symbol, object] : state->objects) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        StringRef(object.data(), object.size()), symbol);
    if (auto error = (*jit)->addObjectFile(std::move(buffer)))
      return report(std::move(error));
  }
  for (auto &entry : state->objects)
    if (auto address = (*jit)->lookup(entry.getKey()); !address)
      return report(address.takeError());
  state->jit = std::move(*jit);
  return success();
}

KernelFunction CompiledKernels::lookup(StringRef symbol) const {
  if (!state->jit || !state->objects.count(symbol))
    return nullptr;
  auto address = state->jit->lookup(symbol);
  if (!address) {
    llvm::consumeError(address.takeError());
    return nullptr;
  }
  return address->toPtr<KernelFunction>();
}

FailureOr<std::vector<uint8_t>> CompiledKernels::linkSharedObject() const {
  if (state->objects.empty())
    return std::vector<uint8_t>();
  auto fail = [&](const Twine &message,
                  pprt::ExitCode code = pprt::ExitCode::io) {
    InFlightDiagnostic diagnostic = emitError(Location(state->location))
                                    << "cannot link kernels: " << message;
    setExitCode(diagnostic, int(code));
    return diagnostic;
  };
  auto linker = llvm::sys::findProgramByName("ld.lld", {PP_LLVM_TOOLS_DIR});
  if (!linker)
    linker = llvm::sys::findProgramByName("ld.lld");
  if (!linker)
    return fail("expects ld.lld in " PP_LLVM_TOOLS_DIR " or on PATH",
                pprt::ExitCode::doesNotCompile);
  SmallString<128> directory;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("pp-kernels", directory))
    return fail("cannot create " + directory + ": " + error.message());
  std::vector<std::string> files;
  llvm::scope_exit cleanup([&] {
    (void)llvm::sys::fs::remove_directories(directory);
    for (const std::string &file : files)
      llvm::sys::DontRemoveFileOnSignal(file);
  });
  auto makePath = [&](const Twine &name) {
    files.push_back((directory + "/" + name).str());
    llvm::sys::RemoveFileOnSignal(files.back());
    return files.back();
  };

  std::string output = makePath("kernels.so");
  std::vector<std::string> arguments{"ld.lld", "-shared", "--build-id=none",
                                     "-o", output};
  std::vector<StringRef> symbols;
  for (auto &entry : state->objects)
    symbols.push_back(entry.getKey());
  llvm::sort(symbols); // the artifact's bytes depend on the kernels alone
  for (StringRef symbol : symbols) {
    const ObjectCode &object = state->objects.find(symbol)->second;
    std::string path = makePath(symbol + ".o");
    std::error_code error;
    {
      llvm::raw_fd_ostream stream(path, error);
      if (!error) {
        stream << StringRef(object.data(), object.size());
        stream.close();
        error = stream.error();
        stream.clear_error();
      }
    }
    if (error)
      return fail(path + ": cannot write: " + error.message());
    arguments.push_back(path);
  }
  std::string message;
  std::vector<StringRef> views(arguments.begin(), arguments.end());
  if (llvm::sys::ExecuteAndWait(*linker, views, std::nullopt, {}, 0, 0,
                                &message) != 0)
    return fail("ld.lld failed " + message);
  auto file = llvm::MemoryBuffer::getFile(output);
  if (!file)
    return fail(file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  return std::vector<uint8_t>(bytes.bytes_begin(), bytes.bytes_end());
}
