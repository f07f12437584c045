//===- KernelCompiler.h - kernels to machine code ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: loops kernels, private functions of graph ops that compute row by row
// (`pp.rows`). Out: functions of CompiledKernel's ABI (runtime/schema/ppx.fbs),
// to call in this process or to put into an artifact.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TARGET_KERNELCOMPILER_H
#define PP_TARGET_KERNELCOMPILER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pprt/Target.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pp {

/// As in ppx.fbs.
enum class Access { Read, Write, ReadWrite };

/// The buffers a kernel is called with: its arguments in order, then the
/// results that do not share an argument's memory (`pp.inplace`).
struct KernelParameters {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<Access> access;
  llvm::SmallVector<int64_t> bytes;
  /// Parameter of each result. Argument i is parameter i.
  llvm::SmallVector<unsigned> ofResult;
  /// Bytes of the last parameter, behind these; 0: none.
  int64_t workspace = 0;
};
KernelParameters getKernelParameters(mlir::func::FuncOp kernel);

/// The cost of one launch, for predictions: the operations of its ops
/// (CostOpInterface; a coordinate costs none), and the bytes of its parameters
/// once, or twice if they are read and written.
struct KernelCost {
  double flops = 0, bytes = 0;
};
KernelCost getKernelCost(mlir::func::FuncOp kernel);

/// Rows of a loops kernel: those of `pp.rows`, or of its leading dimensions
/// without it; 0 if `pp.rows` does not fit the kernel.
int64_t getKernelRows(mlir::func::FuncOp kernel);

/// Scratch of a loops kernel for one range of rows, one thread's part of
/// `pp.workspace`; 0: the stack suffices.
int64_t getScratchBytes(mlir::func::FuncOp kernel);

/// Sets the blocks and threads of a launch if the module's target is a GPU.
void setLaunch(mlir::func::FuncOp kernel, pprt::ppx::CompiledKernelT &body);

/// The signature of a CompiledKernel.
using KernelFunction = void (*)(void *const *arguments, const int64_t *scalars,
                                int64_t begin, int64_t end);

struct CompileOptions {
  /// Where objects are kept between runs; empty: $XDG_CACHE_HOME/pp or
  /// ~/.cache/pp. An unusable cache is skipped with a warning.
  std::string cacheDirectory;
  /// Limit of their bytes there; 0: no limit.
  uint64_t cacheLimit = uint64_t(256) << 20;
  bool useCache = true;
  /// The level of the processors that run the code; empty: this machine's.
  std::string processor;
  pprt::Code code = pprt::Code::sharedObject;
  /// 0: one per core.
  unsigned threads = 0;
};

/// The loops kernels of an image, and the processor or GPU that runs them, as
/// in CompileOptions.
struct KernelSet {
  llvm::SmallVector<mlir::func::FuncOp> kernels;
  std::string processor;
  pprt::Code code = pprt::Code::sharedObject;
};

/// The loops kernels of a module.
llvm::SmallVector<mlir::func::FuncOp> getLoopsKernels(mlir::ModuleOp module);

/// Name of a kernel's function in machine code. It depends only on what the
/// kernel computes, so that equal kernels of different programs share objects,
/// and ends in the signature that the runtime compares before it calls it.
std::string getKernelSymbol(mlir::func::FuncOp kernel);

/// Machine code of a set of kernels.
class CompiledKernels {
public:
  /// Compiles loops kernels; reports those that cannot be compiled.
  static mlir::FailureOr<CompiledKernels>
  compile(llvm::ArrayRef<mlir::func::FuncOp> kernels,
          const CompileOptions &options = {});
  /// Compiles all loops kernels of a module.
  static mlir::FailureOr<CompiledKernels>
  compile(mlir::ModuleOp module, const CompileOptions &options = {});
  /// Compiles those of several images. Work that equal kernels share, whatever
  /// runs them, is done once. `options` has no processor.
  static mlir::FailureOr<std::vector<CompiledKernels>>
  compileAll(llvm::ArrayRef<KernelSet> sets, const CompileOptions &options);

  CompiledKernels(CompiledKernels &&);
  CompiledKernels &operator=(CompiledKernels &&);
  ~CompiledKernels();

  /// Loads the code into this process, for the lifetime of this object.
  mlir::LogicalResult load();
  /// A function of a loaded kernel; null if there is none.
  KernelFunction lookup(llvm::StringRef symbol) const;

  /// All kernels as one ELF shared object or PTX module.
  mlir::FailureOr<std::vector<uint8_t>> link() const;

  /// Number of objects that came from the cache.
  unsigned getNumCached() const;

private:
  struct State;
  explicit CompiledKernels(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace pp

#endif // PP_TARGET_KERNELCOMPILER_H
