//===- Target.h - what a compiler asks about a target -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A target is a kind of device and the libraries that are at hand there. A
// compiler that forms kernels asks it what it can be given whole: which
// contractions, with what added in passing, and how much memory a library wants
// for them. No pass names a library, and a target answers by rules, without
// loading one: the result does not depend on the machine that compiles.
//
// Each level of this machine's processors is a target, named as the psABI names
// it; "cpu" stands for the highest one that the machine has. GPUs of NVIDIA are
// targets by their architecture, sm_80 and so on.
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

/// What an image has of compiled kernels.
enum class Code {
  sharedObject, ///< of the host's architecture
  ptx           ///< the text of one module
};

/// What a target wants of compiled kernels. Passes that form kernels go by
/// this, and ask no target what it is. The figures here are those of
/// processors.
struct KernelTuning {
  /// A row at a time, a kernel keeps what its ops hand to each other, and
  /// stores the row's results when it has read what it needs for them. Else
  /// threads compute and store elements apart, each again for whoever reads it;
  /// sums along a row alone are computed once, before the row stores anything.
  bool keepsRows = true;
  /// Elements of a kernel up to which it may be one row, hence run on one core;
  /// and of one that is a sum and nothing else.
  int64_t serialElements = 32 << 10, serialSumElements = 32 << 10;
  /// A longer sum of all elements becomes sums of rows, and the sum of these.
  bool dividesSums = false;
  /// So many sums at once, of a row or of a few columns, keep all cores busy;
  /// where there are fewer (0: however few), and each has more elements than
  /// this, they are divided, and so are those of products.
  int64_t leastSums = 0, mostSumElements = 0;
  /// For that: lanes that add up a row together; columns that a core adds up
  /// side by side; and by which factor there may be more parts, or fewer, than
  /// keep all cores busy.
  int64_t lanesOfRow = 256, columnsOfCore = 16, mostMoreParts = 4;
  /// A core of the library computes so many rows and columns of a product.
  /// Products with fewer such tiles are divided: with `leastTilesOfHalves`
  /// those of halves, most of which the library divides itself. Parts of their
  /// sums have at least `leastPartLength` elements.
  int64_t productTile = 128, leastTiles = 32, leastTilesOfHalves = 0,
          leastPartLength = 256;
  /// A sum over rows, which leaves columns, becomes sums over blocks of so many
  /// rows, which the kernel that makes the rows adds up as it goes, and the sum
  /// of these; 0: columns are added up from memory.
  int64_t sumBlockRows = 16;
  /// Elements of a row, so that it fills vectors and stays near: at least, at
  /// most, and where a dimension is cut.
  int64_t leastRowElements = 128, mostRowElements = 4096, rowElements = 1024;
  /// So many rows keep all cores busy.
  int64_t leastRows = 8;
  /// Columns of a block in a reduction over rows, where there are few, and what
  /// divides them if it can; columns where there are many.
  int64_t leastColumns = 16, columnFactor = 1, columnsOfBlock = 64;
  /// Neighbours in memory that are had at once.
  int64_t leastRunBytes = 1;
  /// Elementwise results, and sums, of kernels that need nothing of each other
  /// and so may share a launch, where that costs much; 1: each has its own.
  unsigned tensorsPerLaunch = 1, sumsPerLaunch = 1;
  /// Tensors that a kernel reads and writes, whose addresses it is told; and
  /// values of a row that it has at once.
  unsigned mostBuffers = 128, mostLiveValues = 32;
  /// For a library that knows no windows, a convolution is a product of copies
  /// of what they meet, if each of these is read so often (0: never), and they
  /// are at most so many times what it reads and writes.
  int64_t leastCopyUses = 0, mostCopies = 64;
  /// Bytes that wait in memory for a kernel's last operand, and would not if
  /// each op ran as soon as it can.
  int64_t mostHeldBytes = 64 << 20;
};

class Target {
public:
  virtual ~Target() = default;

  /// As artifacts and --targets= spell it.
  virtual const std::string &name() const = 0;
  /// What the code of compiled kernels needs of the processor that loads it.
  virtual const std::string &processor() const = 0;
  virtual Code code() const { return Code::sharedObject; }
  /// Features that LLVM is told of when it makes the code; empty: its own
  /// choice.
  virtual std::string features() const { return ""; }
  virtual KernelTuning kernelTuning() const { return {}; }

  /// Fails (badArtifact), with what was expected, if the target cannot compute
  /// the contraction with its views and epilogues as they are.
  virtual Status verify(const ppx::ContractionT &contraction) const = 0;
  /// Whether its library may refuse epilogues on the device that verify()
  /// takes, so that each product has an unfused form of them with it.
  virtual bool mayRefuseEpilogues() const { return false; }
  /// Chooses for a team of `threads` who multiplies, and how large a scratchpad
  /// that needs, the last byte of which is written. A rule of shape, layout and
  /// the target, so the same every time. Takes back `tf32` where nothing rounds
  /// so. Assumes that verify() succeeded.
  virtual void plan(ppx::ContractionT &contraction, unsigned threads) const = 0;
  /// How many elements apart rows of `size` had better be that a contraction
  /// reads or writes and, besides, compiled kernels alone: `size`, or a few
  /// more that nobody reads.
  virtual uint64_t rowPitch(ppx::ElementType, uint64_t size) const {
    return size;
  }
};

/// Null if there is none of that name.
const Target *findTarget(const std::string &name);

/// Of those whose code a processor of this level runs, the one that asks for
/// most of it (pprt/Processor.h); null if there is none.
const Target *bestTarget(const std::string &level);

/// What to say of a name that findTarget() does not know, as sm_86: the target
/// that such a GPU takes, "; ..."; empty of other names.
std::string adviseTarget(const std::string &name);

/// All names, "cpu" first.
std::vector<std::string> targetNames();

/// Makes another one known, before anybody looks for it.
void addTarget(std::unique_ptr<const Target> target);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_TARGET_H
