//===- Target.h - what a compiler asks about a target -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A target is a kind of device and the libraries that are at hand there. A
// compiler that forms kernels asks it what it can be given whole: which
// contractions, with what added in passing, and how much memory a library wants
// for them. No pass names a library.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGET_H
#define PPRT_TARGET_H

#include "pprt/Status.h"
#include "pprt/ppx_generated.h"

#pragma GCC visibility push(default)
namespace pprt {

class Target {
public:
  virtual ~Target() = default;

  /// As artifacts spell it: "cpu".
  virtual const char *name() const = 0;

  /// Fails (badArtifact), with what was expected, if the target cannot compute
  /// the contraction with its views and epilogues as they are.
  virtual Status verify(const ppx::ContractionT &contraction) const = 0;
  /// Chooses for a team of `threads` who multiplies, and how large a scratchpad
  /// that needs, the last byte of which is written. A rule of shape, layout and
  /// the target, so the same every time. Assumes that verify() succeeded.
  virtual void plan(ppx::ContractionT &contraction, unsigned threads) const = 0;
};

/// The processors of one machine, of the kind that this process runs on.
const Target &cpuTarget();

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_TARGET_H
