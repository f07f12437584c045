//===- FormKernels.h - the steps of pp-form-kernels -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the order of the pass: rewrite graph ops as the target wants them (divide
// long sums, turn convolutions into products, pad rows), form the contractions
// that a library computes, then the loops kernels of everything else
// (KernelClusters.h). Equal kernels share one function (KernelTable).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_FORMKERNELS_H
#define PP_LIB_TRANSFORMS_LOWER_FORMKERNELS_H

#include "mlir/IR/SymbolTable.h"
#include "pp/IR/Model.h"
#include "pprt/Target.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

/// A reduction of all elements is one row, which runs on one core. If there are
/// many elements, this makes it the reduction of many rows' reductions.
void divideSum(ReduceOp sum, const pprt::KernelTuning &tuning);

/// A sum over leading dimensions, which leaves columns, becomes the sum of sums
/// over blocks of the last of these dimensions: the kernel that makes a block
/// can add it up. True if it was divided.
bool divideColumnSum(ReduceOp sum, const pprt::KernelTuning &tuning);

/// A sum, or a product, of many elements for each of few results would keep few
/// cores busy. It becomes the sum of partial sums over parts of its outermost
/// dimensions (for a product: of lhs's outermost one). narrow floats are
/// rounded once, at the end. Left as it is if no divisor makes such parts.
bool divideFewSums(ReduceOp sum, const pprt::KernelTuning &tuning);
void divideFewProducts(DotGeneralOp dot, const pprt::KernelTuning &tuning);

/// Rows of a block of divideColumnSum() for a dimension of `size`; 1: no
/// blocks.
int64_t getSumBlock(int64_t size, const pprt::KernelTuning &tuning);

/// Replaces a convolution by the dot_general of the same result, for targets
/// whose library multiplies matrices only. Its lhs is a copy of the elements
/// that each position and tap of the windows reads ("im2col": Chellapilla et
/// al., 2006). The copies are a gather of rows, so neighbours behind the
/// windows (the channels of NHWC) are copied together; padding and dilation of
/// lhs are computed on the way. For kernel x kernel taps they are kernel^2 /
/// stride^2 times as large as lhs, for as long as the dot runs.
///
/// Returns the dot; null, with nothing changed, if the target does not want it,
/// the windows are not neighbours in lhs, the elements are not floats, or a
/// tensor has no elements.
DotGeneralOp unfoldWindows(ConvolutionOp convolution,
                           const pprt::KernelTuning &tuning);

/// Moves the rows of values that a dot_general reads or writes further apart if
/// the target wants that (pprt::Target::rowPitch); other readers read them
/// through a slice (pp/IR/PaddedRows.h). Parameters, and values that are sent,
/// summed up or updated, keep their layout.
void padRows(mlir::ModuleOp module, const pprt::Target &target);

/// Names the kernels of all functions and fragments of a module, and keeps one
/// of several equal kernels.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : symbols(module) {}

  /// Takes a kernel that is in no module; returns it, or its equal.
  mlir::func::FuncOp insert(mlir::func::FuncOp kernel);

private:
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp>
      kernels; ///< by their text, without names and locations
  unsigned numContractions = 0, numLoops = 0, numEpilogues = 0;
};

/// Replaces every dot_general of floats in `block` that the target can run,
/// with the ops around it that it can include, by a launch; without `epilogues`
/// only with ops before it. `threads`: how many run a kernel.
void formContractions(mlir::Block &block, KernelTable &table,
                      const pprt::Target &target, unsigned threads,
                      bool epilogues);

/// A library may refuse a product with epilogues on the device. Then it
/// computes the product alone, and this loops kernel (in no module yet) applies
/// the epilogues of `kernel`, which `contraction` describes, in place. Its
/// parameters are pprt::unfusedParameters(). Null if no single kernel can do
/// that in place.
mlir::func::FuncOp
formUnfusedEpilogues(mlir::func::FuncOp kernel,
                     const pprt::ppx::ContractionT &contraction,
                     const pprt::KernelTuning &tuning);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_FORMKERNELS_H
