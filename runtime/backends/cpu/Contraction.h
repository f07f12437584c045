//===- Contraction.h - one contraction, ready to run ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction and the number of threads. Out: an object that computes
// it on a rank's team without allocating. The bits of the result depend neither
// on the number of threads nor on timing.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_CONTRACTION_H
#define PPRT_BACKENDS_CPU_CONTRACTION_H

#include "Team.h"
#include "pprt/Ppx.h"

#include <limits>
#include <memory>

namespace pprt::cpu {

class Contraction {
public:
  /// Assumes that verifyContraction() (targets/Targets.h) succeeded. Tries the
  /// library that the contraction names first. If `workspace` bytes do not
  /// suffice, takes fewer threads, then another library. Returns null if
  /// nothing fits, or a library is missing.
  static std::unique_ptr<Contraction>
  create(const ppx::ContractionT &contraction, unsigned threads,
         uint64_t workspace = std::numeric_limits<uint64_t>::max());
  virtual ~Contraction() = default;

  /// `arguments` are the kernel's parameters in order. The team has at least
  /// the threads of create().
  virtual void run(void *const *arguments, Team &team) const = 0;
  virtual uint64_t workspaceBytes() const = 0;

  /// The library that multiplies.
  ppx::MatrixLibrary library = ppx::MatrixLibrary_any;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_CONTRACTION_H
