//===- Target.cpp - what a compiler asks about processors -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Target.h"
#include "Contraction.h"

using namespace pprt;

namespace {

class CpuTarget final : public Target {
public:
  const char *name() const override { return "cpu"; }
  Status verify(const ppx::ContractionT &contraction) const override {
    return cpu::verifyContraction(contraction);
  }
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    cpu::planContraction(contraction, threads);
  }
};

} // namespace

const Target &pprt::cpuTarget() {
  static const CpuTarget target;
  return target;
}
