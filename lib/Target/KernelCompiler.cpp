//===- KernelCompiler.cpp - kernels to machine code -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Equal kernels, also of several images, are compiled once, each in a separate
// module, on a pool of threads; work that depends on the target comes last.
// Objects come from the cache if it has them.
//
//===----------------------------------------------------------------------===//
#include "pp/Target/KernelCompiler.h"
#include "Gpu/Ptx.h"
#include "KernelCache.h"
#include "KernelPipeline.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pprt/Lack.h"
#include "pprt/Processor.h"
#include "pprt/Status.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace pp;

struct CompiledKernels::State {
  /// The place of diagnostics; null if there are no kernels.
  LocationAttr location;
  llvm::StringMap<ObjectCode> objects;
  unsigned numCached = 0;
  pprt::Code code = pprt::Code::sharedObject;
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

/// One object for each of `levels`.
static FailureOr<SmallVector<ObjectCode>>
compileKernel(func::FuncOp kernel, StringRef symbol, pprt::Code code,
              ArrayRef<StringRef> levels) {
  SmallVector<ObjectCode> objects;
  if (code == pprt::Code::ptx) {
    auto modules = pp::gpu::compileToPtx(kernel, symbol, levels);
    if (failed(modules))
      return failure();
    for (const std::string &ptx : *modules)
      objects.emplace_back(ptx.begin(), ptx.end());
    return objects;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  if (failed(buildRowLoop(builder, kernel, (symbol + ".rows").str())) ||
      failed(lowerToLLVM(*module)))
    return failure();
  for (StringRef level : levels) {
    auto object = compileObject(*module, symbol, level);
    if (failed(object))
      return failure();
    objects.push_back(std::move(*object));
  }
  return objects;
}

namespace {

/// Makes objects of a kernel, or finds them.
struct Task {
  struct Object {
    /// Empty until compiled, and if that fails.
    std::optional<ObjectCode> code;
    bool isCached = false;
  };

  void run(const std::optional<KernelCache> &cache) {
    SmallVector<StringRef> levels;
    SmallVector<std::pair<std::string, Object *>> missing;
    for (auto &[level, object] : objects) {
      std::string key = symbol + "\n" +
                        (code == pprt::Code::ptx ? pp::gpu::describePtx(level)
                                                 : describeTarget(level));
      if (cache)
        object.code = cache->lookup(key);
      object.isCached = object.code.has_value();
      if (object.isCached)
        continue;
      levels.push_back(level);
      missing.emplace_back(std::move(key), &object);
    }
    if (missing.empty())
      return;
    auto compiled = compileKernel(kernel, symbol, code, levels);
    if (failed(compiled))
      return;
    for (auto &&[place, made] : llvm::zip_equal(missing, *compiled)) {
      auto &[key, object] = place;
      if (cache)
        cache->store(key, made);
      object->code = std::move(made);
    }
  }

  func::FuncOp kernel;
  std::string symbol;
  pprt::Code code;
  std::map<std::string, Object> objects; ///< by level
};

} // namespace

static std::string getLevel(const KernelSet &set) {
  return set.processor.empty() ? pprt::processorLevel() : set.processor;
}

FailureOr<std::vector<CompiledKernels>>
CompiledKernels::compileAll(ArrayRef<KernelSet> sets,
                            const CompileOptions &options) {
  // Kernels of a name do the same, so that the first one stands for all.
  std::vector<Task> tasks;
  std::map<std::pair<std::string, pprt::Code>, size_t> known;
  std::vector<SmallVector<size_t>> tasksOf(sets.size());
  for (auto [set, mine] : llvm::zip_equal(sets, tasksOf)) {
    llvm::StringSet<> seen;
    for (func::FuncOp kernel : set.kernels) {
      std::string symbol = getKernelSymbol(kernel);
      if (!seen.insert(symbol).second)
        continue;
      auto [it, isNew] = known.try_emplace({symbol, set.code}, tasks.size());
      if (isNew)
        tasks.push_back({kernel, symbol, set.code, {}});
      tasks[it->second].objects[getLevel(set)];
      mine.push_back(it->second);
    }
  }

  std::optional<KernelCache> cache;
  if (!tasks.empty()) {
    MLIRContext *context = tasks.front().kernel->getContext();
    DialectRegistry registry;
    registerKernelDialects(registry);
    registerLinalgModels(registry);
    pp::gpu::registerGpuDialects(registry);
    context->appendDialectRegistry(registry);
    context->loadAllAvailableDialects();
    if (options.useCache)
      cache.emplace(options.cacheDirectory, options.cacheLimit);
    if (cache && !cache->getObstacle().empty())
      emitWarning(UnknownLoc::get(context))
          << "compiled kernels are not kept for later runs: "
          << cache->getObstacle();
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
    for (Task &task : tasks)
      pool.async([&cache, &task] { task.run(cache); });
  }
  if (cache && llvm::any_of(tasks, [](const Task &task) {
        return llvm::any_of(task.objects, [](const auto &object) {
          return !object.second.isCached;
        });
      }))
    cache->prune();

  std::vector<CompiledKernels> all;
  for (auto [set, mine] : llvm::zip_equal(sets, tasksOf)) {
    auto state = std::make_unique<State>();
    state->code = set.code;
    if (!set.kernels.empty())
      state->location = set.kernels.front()->getLoc();
    for (size_t index : mine) {
      const Task &task = tasks[index];
      const Task::Object &object = task.objects.at(getLevel(set));
      if (!object.code)
        return failure();
      state->numCached += object.isCached;
      state->objects[task.symbol] = *object.code;
    }
    all.push_back(CompiledKernels(std::move(state)));
  }
  return all;
}

FailureOr<CompiledKernels>
CompiledKernels::compile(ArrayRef<func::FuncOp> kernels,
                         const CompileOptions &options) {
  KernelSet set{llvm::to_vector(kernels), options.processor, options.code};
  auto compiled = compileAll(set, options);
  if (failed(compiled))
    return failure();
  return std::move(compiled->front());
}

SmallVector<func::FuncOp> pp::getLoopsKernels(ModuleOp module) {
  return llvm::to_vector(
      llvm::make_filter_range(module.getOps<func::FuncOp>(), [](auto function) {
        return getKernelKind(function) == KernelKind::Loops;
      }));
}

FailureOr<CompiledKernels>
CompiledKernels::compile(ModuleOp module, const CompileOptions &options) {
  return compile(getLoopsKernels(module), options);
}

//===----------------------------------------------------------------------===//
// Loading and linking
//===----------------------------------------------------------------------===//

LogicalResult CompiledKernels::load() {
  if (state->objects.empty())
    return success();
  assert(state->code == pprt::Code::sharedObject && "a device loads the rest");
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

namespace {
/// A file in memory that has a path while it is open, for this process and for
/// those that it starts. However the process ends, nothing stays behind.
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : descriptor(memfd_create(name, 0)) {}
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }
  std::error_code write(StringRef content) {
    if (descriptor < 0)
      return std::error_code(errno, std::generic_category());
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
    stream << content;
    stream.flush();
    std::error_code error = stream.error();
    stream.clear_error();
    return error;
  }
  /// The content, as far as it can be read, without the last end of line.
  std::string read() const {
    auto content = llvm::MemoryBuffer::getFile(path());
    return content ? (*content)->getBuffer().rtrim().str() : std::string();
  }

private:
  int descriptor;
};

/// The linker maps LLVM's library, and runs within this process's limit.
constexpr uint64_t kLinkerBytes = 160 << 20;
} // namespace

FailureOr<std::vector<uint8_t>> CompiledKernels::link() const {
  if (state->objects.empty())
    return std::vector<uint8_t>();
  if (state->code == pprt::Code::ptx) {
    std::map<StringRef, StringRef> bySymbol; // bytes depend on kernels alone
    for (auto &[symbol, object] : state->objects)
      bySymbol[symbol] = StringRef(object.data(), object.size());
    std::string text =
        pp::gpu::joinPtx(llvm::to_vector(llvm::make_second_range(bySymbol)));
    return std::vector<uint8_t>(text.begin(), text.end());
  }
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
  // One archive of all objects: a process has few descriptors.
  std::vector<llvm::NewArchiveMember> members;
  for (auto &[symbol, object] : state->objects)
    members.emplace_back(
        llvm::MemoryBufferRef(StringRef(object.data(), object.size()), symbol));
  llvm::sort(members, [](const auto &left, const auto &right) {
    return left.MemberName < right.MemberName;
  }); // the artifact's bytes depend on the kernels alone
  auto archive = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU,
      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return fail(llvm::toString(archive.takeError()));
  MemoryFile objects("pp-objects"), linked("pp-kernels"), errors("pp-errors");
  for (auto [file, content] : {std::pair(&objects, (*archive)->getBuffer()),
                               {&linked, StringRef()},
                               {&errors, StringRef()}})
    if (std::error_code error = file->write(content))
      return fail("cannot write them: " + error.message());

  const std::string input = objects.path(), output = linked.path(),
                    errorOutput = errors.path();
  // An existing file is replaced by its name; this one has to be written.
  StringRef arguments[] = {"ld.lld", "-shared", "--build-id=none",
                           "-o",     "-",       "--whole-archive",
                           input};
  const std::optional<StringRef> redirects[] = {std::nullopt, output,
                                                errorOutput};
  std::string message;
  if (llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, 0,
                                0, &message) != 0) {
    const pprt::Status lack = pprt::findLack(
        "ld.lld", kLinkerBytes,
        pprt::Status(pprt::ExitCode::io,
                     "ld.lld failed: " + message + errors.read()));
    return fail(lack.message(), lack.code());
  }
  auto file = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  return std::vector<uint8_t>(bytes.bytes_begin(), bytes.bytes_end());
}
