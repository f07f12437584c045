//===- KernelCacheTest.cpp - kernels kept between runs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A second compilation takes its objects from the cache, each kernel its own;
// an entry that was damaged is compiled again and mended, whatever the damage.
// The key holds all that decides what the machine code is. Nobody else can put
// code there, what stands in the way does not stop a run, and it does not grow
// for ever.
//
//===----------------------------------------------------------------------===//
#include "../../lib/Target/KernelPipeline.h"
#include "../Reference/Testing.h"
#include "KernelRunner.h"
#include "pprt/Processor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/TargetParser/Host.h"
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace pp;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

class KernelCache : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pp-cache", directory));
    options.cacheDirectory = directory.str().str();
    use("neg");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  /// Makes `module` the kernel of a unary op.
  void use(const std::string &op) {
    module = context.parse(
        "func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {\n"
        "  %y = pp." +
        op + " %x : tensor<3x5xf32>\n  return %y : tensor<3x5xf32>\n}");
    ASSERT_TRUE(module && pp::testing::formKernels(*module));
  }

  /// What the kernel makes of 2; counts what came from the cache.
  double compileAndRun(size_t &cached) {
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
    EXPECT_TRUE(succeeded(kernels) && succeeded(kernels->load()));
    cached = kernels->getNumCached();
    auto type = RankedTensorType::get({3, 5}, Float32Type::get(&context));
    reference::HostTensor input(type, 2.0);
    return pp::testing::runLaunches(*module, *kernels, input)[0].values[14];
  }

  /// What is kept, without the cache's own bookkeeping.
  std::vector<std::string> entries() {
    std::vector<std::string> paths;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(directory, error), end;
         !error && entry != end; entry.increment(error))
      if (llvm::sys::path::filename(entry->path()).starts_with("llvmcache-"))
        paths.push_back(entry->path());
    llvm::sort(paths);
    return paths;
  }
  /// As if the entry had been used for the last time `seconds` ago.
  void setAge(const std::string &path, time_t seconds) {
    const timespec then = {time(nullptr) - seconds, 0};
    const timespec times[] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  llvm::SmallString<128> directory;
  pp::testing::Context context;
  OwningOpRef<ModuleOp> module;
  CompileOptions options;
};

TEST_F(KernelCache, CompilesForSeveralTargetsWhatEachGetsAlone) {
  SmallVector<func::FuncOp> kernels = pp::testing::loopsKernels(*module);
  const bool isSecond = pprt::processorLevel() == "x86-64-v2";
  std::vector<KernelSet> sets;
  for (const char *level : {"", isSecond ? "x86-64-v3" : "x86-64-v2", ""})
    sets.push_back({kernels, level});
  auto all = CompiledKernels::compileAll(sets, options);
  ASSERT_TRUE(succeeded(all));
  EXPECT_EQ(entries().size(), 2u); // of each level
  CompileOptions alone;
  alone.useCache = false;
  for (auto [set, compiled] : llvm::zip_equal(sets, *all)) {
    EXPECT_EQ(compiled.getNumCached(), 0u);
    alone.processor = set.processor;
    auto one = CompiledKernels::compile(kernels, alone);
    ASSERT_TRUE(succeeded(one));
    EXPECT_EQ(*compiled.link(), *one->link());
  }
  // One object is there, the other is not.
  sets[2].processor = "x86-64";
  auto again = CompiledKernels::compileAll(sets, options);
  ASSERT_TRUE(succeeded(again));
  EXPECT_EQ((*again)[0].getNumCached(), 1u);
  EXPECT_EQ((*again)[1].getNumCached(), 1u);
  EXPECT_EQ((*again)[2].getNumCached(), 0u);
}

TEST_F(KernelCache, CompilesDamagedEntriesAgain) {
  /// The number of objects that came from the cache, after a run that must be
  /// right.
  auto compileAndRun = [&] {
    size_t cached = 0;
    EXPECT_EQ(KernelCache::compileAndRun(cached), -2.0);
    return cached;
  };

  EXPECT_EQ(compileAndRun(), 0u);
  EXPECT_EQ(compileAndRun(), 1u);
  ASSERT_EQ(entries().size(), 1u);
  const std::string path = entries()[0], whole = readFile(path);
  ASSERT_GT(whole.size(), 100u);

  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string &damaged :
       {std::string(), whole.substr(0, 20), whole.substr(0, whole.size() / 2),
        flipped, whole + "x", std::string(whole.size(), '\0')}) {
    writeFile(path, damaged);
    EXPECT_EQ(compileAndRun(), 0u) << damaged.size() << " bytes";
    EXPECT_EQ(readFile(path), whole);
    EXPECT_EQ(compileAndRun(), 1u);
  }
}

TEST_F(KernelCache, KeepsKernelsApart) {
  for (size_t run = 0; run < 2; ++run)
    for (std::string op : {"neg", "abs"}) {
      use(op);
      size_t cached = 0;
      EXPECT_EQ(compileAndRun(cached), op == "neg" ? -2.0 : 2.0);
      EXPECT_EQ(cached, run);
    }
}

TEST_F(KernelCache, MissesEntriesUnderAnothersName) {
  size_t cached = 0;
  compileAndRun(cached);
  ASSERT_EQ(entries().size(), 1u);
  const std::string negs = entries()[0];
  use("abs");
  compileAndRun(cached);
  ASSERT_EQ(entries().size(), 2u);
  const std::string abss = entries()[entries()[0] == negs];
  writeFile(abss, readFile(negs));
  EXPECT_EQ(compileAndRun(cached), 2.0);
  EXPECT_EQ(cached, 0u);
  EXPECT_EQ(compileAndRun(cached), 2.0);
  EXPECT_EQ(cached, 1u);
}

TEST_F(KernelCache, KnowsCompilerAndProcessor) {
  const std::string target = describeTarget(pprt::processorLevel());
  for (std::string part :
       {std::string(LLVM_VERSION_STRING), llvm::sys::getProcessTriple(),
        pprt::processorLevel(), llvm::sys::getHostCPUName().str()})
    EXPECT_NE((target + "\n").find("\n" + part + "\n"), std::string::npos)
        << part;
  // The digest of our sources, and the builds of LLVM and MLIR.
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(target).split(lines, '\n');
  ASSERT_GT(lines.size(), 4u);
  for (auto [line, digits] : {std::pair(0, 64u), {2, 40u}, {3, 40u}}) {
    EXPECT_EQ(lines[line].size(), digits) << target;
    EXPECT_TRUE(llvm::all_of(lines[line], llvm::isHexDigit)) << target;
  }
  EXPECT_NE(lines[2], lines[3]);
  // An entry is named by the hash of its kernel and all of that.
  size_t cached = 0;
  compileAndRun(cached);
  const std::string key =
      getKernelSymbol(pp::testing::loopsKernels(*module).front()) + "\n" +
      target;
  const std::string name =
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(key)),
                  /*LowerCase=*/true);
  EXPECT_TRUE(llvm::sys::fs::exists(directory + "/llvmcache-" + name));
}

TEST_F(KernelCache, StaysBelowItsLimit) {
  auto sizeOf = [&] {
    uint64_t bytes = 0;
    for (const std::string &path : entries()) {
      uint64_t size = 0; // reading the file would make it younger
      EXPECT_FALSE(llvm::sys::fs::file_size(path, size));
      bytes += size;
    }
    return bytes;
  };
  size_t cached = 0;
  compileAndRun(cached);
  ASSERT_EQ(entries().size(), 1u);
  // What a killed process left counts, and is the first to go.
  const std::string left = entries()[0] + ".1234abcd";
  writeFile(left, std::string(1000, 'x'));
  setAge(left, 3000);
  setAge(entries()[0], 2000);
  options.cacheLimit = sizeOf() + 1000;
  use("abs");
  compileAndRun(cached);
  EXPECT_FALSE(llvm::sys::fs::exists(left));
  EXPECT_EQ(entries().size(), 2u);

  // A hit is a use: of these two, the one that was made first stays.
  for (const std::string &path : entries())
    setAge(path, 1000);
  use("neg");
  compileAndRun(cached);
  EXPECT_EQ(cached, 1u);
  // Also where the system does not note reads.
  EXPECT_EQ(llvm::count_if(entries(),
                           [](const std::string &path) {
                             struct stat info;
                             return stat(path.c_str(), &info) == 0 &&
                                    info.st_mtime > time(nullptr) - 500;
                           }),
            1);
  options.cacheLimit = sizeOf() * 5 / 4;
  use("sqrt");
  compileAndRun(cached);
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_LE(sizeOf(), options.cacheLimit);
  use("neg");
  compileAndRun(cached);
  EXPECT_EQ(cached, 1u);

  options.cacheLimit = 0; // none
  for (std::string op : {"abs", "exp", "tanh"}) {
    use(op);
    compileAndRun(cached);
  }
  EXPECT_EQ(entries().size(), 5u);
}

TEST_F(KernelCache, IsLookedThroughOnlyWhenItMayBeFull) {
  options.cacheLimit = 16 << 20;
  size_t cached = 0;
  compileAndRun(cached);
  ASSERT_EQ(entries().size(), 1u);
  // More than the limit, but nobody said that he stored it.
  const std::string planted = entries()[0] + ".1234abcd";
  auto plant = [&] {
    writeFile(planted, std::string(17 << 20, 'x'));
    setAge(planted, 3000);
  };
  auto isThereAfter = [&](const std::string &op) {
    use(op);
    compileAndRun(cached);
    EXPECT_EQ(cached, 0u);
    return llvm::sys::fs::exists(planted);
  };
  plant();
  EXPECT_TRUE(isThereAfter("abs"));
  options.cacheLimit += 1; // another limit
  EXPECT_FALSE(isThereAfter("rsqrt"));
  plant();
  EXPECT_TRUE(isThereAfter("sqrt"));
  // What others have stored has filled the room that was left.
  const uint64_t others[] = {options.cacheLimit, options.cacheLimit / 16};
  std::ofstream(directory.str().str() + "/llvmcache.stored",
                std::ios::app | std::ios::binary)
      .write(reinterpret_cast<const char *>(others), sizeof(others));
  EXPECT_FALSE(isThereAfter("exp"));
  plant();
  EXPECT_TRUE(isThereAfter("tanh"));
  // Half a note says nothing.
  std::ofstream(directory.str().str() + "/llvmcache.stored",
                std::ios::app | std::ios::binary)
      << "half";
  EXPECT_FALSE(isThereAfter("log"));
}

// A pipe would be waited for, to be opened or to end.
TEST_F(KernelCache, PassesOverWhatIsNoFile) {
  size_t cached = 0;
  compileAndRun(cached);
  const std::string path = entries()[0];
  for (auto plant :
       {+[](const char *path) { return mkfifo(path, 0600); },
        +[](const char *path) { return mkdir(path, 0700); },
        +[](const char *path) { return symlink("/dev/zero", path); }}) {
    llvm::sys::fs::remove_directories(path);
    llvm::sys::fs::remove(path);
    ::unlink((directory + "/llvmcache.timestamp").str().c_str());
    ASSERT_EQ(plant(path.c_str()), 0);
    ASSERT_EQ(mkfifo((directory + "/llvmcache.timestamp").str().c_str(), 0600),
              0);
    // Nor is one waited for to which somebody may write.
    const int writer = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT_EQ(compileAndRun(cached), -2.0);
    EXPECT_EQ(cached, 0u);
    if (writer >= 0)
      ::close(writer);
  }
}

TEST_F(KernelCache, IsNotSharedWithOthers) {
  size_t cached = 0;
  compileAndRun(cached);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  for (mode_t mode : {0777, 0775}) {
    ASSERT_EQ(chmod(directory.c_str(), mode), 0);
    compileAndRun(cached);
    EXPECT_EQ(cached, 0u);
    EXPECT_EQ(said, "compiled kernels are not kept for later runs: " +
                        options.cacheDirectory +
                        ": other users can write to this directory; fix it "
                        "with chmod go-w");
    said.clear();
  }
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  compileAndRun(cached);
  EXPECT_EQ(cached, 1u);
  // One that it makes is its own.
  const std::string made = (directory + "/a/b").str();
  options.cacheDirectory = made;
  compileAndRun(cached);
  struct stat info;
  ASSERT_EQ(stat(made.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

/// A variable of the environment that has its old value again in the end.
class Variable {
public:
  Variable(const char *name, const std::string &value)
      : name(name), had(getenv(name)), old(had ? getenv(name) : "") {
    setenv(name, value.c_str(), /*overwrite=*/1);
  }
  ~Variable() {
    had ? setenv(name, old.c_str(), /*overwrite=*/1) : unsetenv(name);
  }

private:
  const char *name;
  bool had;
  std::string old;
};

// As the XDG Base Directory Specification wants it.
TEST_F(KernelCache, IgnoresARelativePath) {
  options.cacheDirectory = "";
  Variable home("HOME", directory.str().str());
  Variable cache("XDG_CACHE_HOME", "relative");
  size_t cached = 0;
  for (size_t run = 0; run < 2; ++run) {
    compileAndRun(cached);
    EXPECT_EQ(cached, run);
  }
  EXPECT_FALSE(llvm::sys::fs::exists("relative"));
  EXPECT_TRUE(llvm::sys::fs::exists(directory + "/.cache/pp"));
}

TEST_F(KernelCache, DoesWithoutADirectory) {
  options.cacheDirectory = "/dev/null/cache";
  for (int run = 0; run < 2; ++run) {
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
    ASSERT_TRUE(succeeded(kernels));
    EXPECT_EQ(kernels->getNumCached(), 0u);
  }
}

} // namespace
