//===- Target.h - what a compiler asks about a target -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A target is a kind of device and the libraries available there. A compiler
// that forms kernels asks which contractions it can give to the target whole,
// with which epilogues, and how much memory a library needs for them. No pass
// names a library, and a target answers by rules, without loading one: the
// result does not depend on the machine that compiles.
//
// Each level of this machine's processors is a target, named as the psABI names
// it; "cpu" stands for the machine's highest level. NVIDIA GPUs are targets by
// their architecture, sm_80 and so on.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGET_H
#define PPRT_TARGET_H

#include "pprt/Ppx.h"
#include "pprt/Status.h"

#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Form of the compiled kernels in an image.
enum class Code {
  sharedObject, ///< for the host's architecture
  ptx           ///< the text of one module
};

/// Preferences of a target for compiled kernels. Passes that form kernels use
/// only these, and never ask which target it is. The values here are those of
/// processors.
struct KernelTuning {
  /// The kernel works row by row: it keeps values that its ops pass to each
  /// other, and stores the row's results after it has read their operands. Else
  /// threads compute and store elements separately, recomputed for each reader;
  /// only sums along a row are computed once, before the row stores anything.
  bool keepsRows = true;
  /// Largest number of elements of a kernel that may be one row, hence run on
  /// one core; and of one that is only a sum.
  int64_t serialElements = 32 << 10, serialSumElements = 32 << 10;
  /// A longer sum of all elements becomes sums of rows, and the sum of these.
  bool dividesSums = false;
  /// Number of simultaneous sums, of a row or of a few columns, that keeps all
  /// cores busy. If there are fewer, sums of more elements than the second
  /// number are divided, also those of products. 0: never.
  int64_t leastSums = 0, mostSumElements = 0;
  /// For dividing: lanes that add up a row together; columns that a core adds
  /// up side by side; and the factor by which there may be more parts, or
  /// fewer, than keep all cores busy.
  int64_t lanesOfRow = 256, columnsOfCore = 16, mostMoreParts = 4;
  /// Rows and columns of a product that one core of the library computes.
  /// Products with fewer such tiles are divided, those of halves with fewer
  /// than `leastTilesOfHalves`, because the library divides most of these
  /// itself. Parts of their sums have at least `leastPartLength` elements.
  int64_t productTile = 128, leastTiles = 32, leastTilesOfHalves = 0,
          leastPartLength = 256;
  /// A sum over rows, which leaves columns, becomes sums over blocks of this
  /// many rows, which the kernel that makes the rows adds up as it goes, and
  /// the sum of these; 0: columns are added up from memory.
  int64_t sumBlockRows = 16;
  /// Elements of a row, so that it fills vectors and stays near: minimum,
  /// maximum, and where a dimension is cut.
  int64_t leastRowElements = 128, mostRowElements = 4096, rowElements = 1024;
  /// Number of rows that keeps all cores busy.
  int64_t leastRows = 8;
  /// Columns of a block in a reduction over rows if there are few, their
  /// preferred divisor; columns of a block if there are many.
  int64_t leastColumns = 16, columnFactor = 1, columnsOfBlock = 64;
  /// Bytes of neighbouring memory that one access fetches.
  int64_t leastRunBytes = 1;
  /// Independent elementwise results, or numbers of all gradients, and other
  /// sums, that may share a launch, where launches are expensive; 1: each has
  /// its own.
  unsigned tensorsPerLaunch = 1, sumsPerLaunch = 1;
  /// Tensors that a kernel reads and writes, whose addresses it is passed; and
  /// values of a row that it holds at once.
  unsigned mostBuffers = 128, mostLiveValues = 32;
  /// If the library has no windows, a convolution becomes a product of copies
  /// of the elements that they meet, if each is read this often (0: never) and
  /// copies are at most this many times what the convolution reads and writes.
  int64_t leastCopyUses = 0, mostCopies = 64;
  /// Bytes that may wait in memory for a kernel's last operand and would not if
  /// each op ran as soon as it can.
  int64_t mostHeldBytes = 64 << 20;
};

class Target {
public:
  virtual ~Target() = default;

  /// Name in artifacts and in --targets=.
  virtual const std::string &name() const = 0;
  /// Processor level that the code of compiled kernels needs to be loaded.
  virtual const std::string &processor() const = 0;
  virtual Code code() const { return Code::sharedObject; }
  /// Features that LLVM gets when it generates code; empty: its own choice.
  virtual std::string features() const { return ""; }
  virtual KernelTuning kernelTuning() const { return {}; }

  /// Fails (badArtifact), with what was expected, if the target cannot compute
  /// the contraction with its views and epilogues as they are.
  virtual Status verify(const ppx::ContractionT &contraction) const = 0;
  /// Whether its library may refuse, on the device, epilogues that verify()
  /// accepts, so that each product also needs an unfused form of them.
  virtual bool mayRefuseEpilogues() const { return false; }
  /// Chooses the library that multiplies for a team of `threads`, and the size
  /// of its scratchpad, whose last byte is written. A rule of shape, layout and
  /// target, so the same every time. Clears `tf32` if the product does not
  /// round so. Assumes that verify() succeeded.
  virtual void plan(ppx::ContractionT &contraction, unsigned threads) const = 0;
  /// Returns the preferred distance, in elements, between rows of `size` that
  /// only contractions and compiled kernels access: `size`, or a few more that
  /// are never read.
  virtual uint64_t rowPitch(ppx::ElementType, uint64_t size) const {
    return size;
  }
};

/// Returns null if no target has that name.
const Target *findTarget(const std::string &name);

/// Returns the target that needs the most of a processor of this level, among
/// those whose code it runs (pprt/Processor.h); null if there is none.
const Target *bestTarget(const std::string &level);

/// Returns advice for a name that findTarget() does not know, as sm_86: "; "
/// and the target that such a GPU takes; empty for other names.
std::string adviseTarget(const std::string &name);

/// Returns all names, "cpu" first.
std::vector<std::string> targetNames();

/// Registers another target, before the first look-up.
void addTarget(std::unique_ptr<const Target> target);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_TARGET_H
