//===- Target.h - what a compiler asks about a target -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A target is a kind of device and the libraries that are at hand there. A
// compiler that forms kernels asks it what it can be given whole: which
// contractions, with what added in passing, and how much memory a library wants
// for them. No pass names a library.
//
// Each level of this machine's processors is a target, named as the psABI names
// it; "cpu" stands for the highest one that the machine has. Libraries cannot
// be asked about higher levels: for those they are given what they take here.
// GPUs of NVIDIA are targets by their architecture, sm_80 and so on, with or
// without one at hand.
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

class Target {
public:
  virtual ~Target() = default;

  /// As artifacts and --targets= spell it.
  virtual const std::string &name() const = 0;
  /// What the code of compiled kernels needs of the processor that loads it.
  virtual const std::string &processor() const = 0;
  virtual Code code() const { return Code::sharedObject; }
  /// Whether compiled kernels keep, a row at a time, what their ops hand to
  /// each other. Else an element is computed again for each that reads it; sums
  /// along a row alone are computed once.
  virtual bool keepsRows() const { return true; }

  /// Fails (badArtifact), with what was expected, if the target cannot compute
  /// the contraction with its views and epilogues as they are.
  virtual Status verify(const ppx::ContractionT &contraction) const = 0;
  /// Chooses for a team of `threads` who multiplies, and how large a scratchpad
  /// that needs, the last byte of which is written. A rule of shape, layout and
  /// the target, so the same every time. Takes back `tf32` where nothing rounds
  /// so. Assumes that verify() succeeded.
  virtual void plan(ppx::ContractionT &contraction, unsigned threads) const = 0;
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
