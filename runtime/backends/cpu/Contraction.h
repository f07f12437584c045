//===- Contraction.h - one library contraction, ready to run ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction and the number of threads. Out: an object that computes
// it on a rank's team without allocating. The split of the work over the team
// depends on shapes and threads alone, so equal runs give equal bits.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_CONTRACTION_H
#define PPRT_BACKENDS_CPU_CONTRACTION_H

#include "Team.h"
#include "pprt/Contraction.h"

#include <memory>

namespace pprt::cpu {

class Contraction {
public:
  /// Assumes verifyContraction() succeeded. Keeps a reference to the argument.
  static std::unique_ptr<Contraction> create(const ppx::ContractionT &,
                                             unsigned threads);
  virtual ~Contraction() = default;

  /// `arguments` are the kernel's parameters in order.
  virtual void run(void *const *arguments, const Team &team) const = 0;
  virtual uint64_t workspaceBytes() const = 0;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_CONTRACTION_H
