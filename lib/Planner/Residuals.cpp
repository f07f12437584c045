//===- Residuals.cpp - what forward keeps for backward --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each node has an entry and an exit. The exit lies behind the cut if backward
// has the value, the entry if it computes the value; a kept value is an edge
// from entry to exit that is cut. An entry behind the cut costs its work.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/Residuals.h"
#include "MinCut.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace pp;

ResidualChoice pp::chooseResiduals(llvm::ArrayRef<ResidualNode> nodes,
                                   double bytePrice) {
  MinCut cut;
  auto entry = [](unsigned node) { return 2 * node; };
  auto exit = [](unsigned node) { return 2 * node + 1; };
  cut.addVertices(2 * nodes.size());
  for (auto [number, node] : llvm::enumerate(nodes)) {
    cut.connect(entry(number), exit(number),
                std::llround(static_cast<double>(node.bytes) * bytePrice));
    cut.connectSource(entry(number), node.work.value_or(MinCut::kInfinite));
    for (unsigned operand : node.operands)
      cut.connect(exit(operand), entry(number), MinCut::kInfinite);
    if (node.isNeeded)
      cut.connectSink(exit(number));
  }
  const llvm::BitVector behind = cut.solve();
  ResidualChoice choice;
  choice.kept.resize(nodes.size());
  choice.recomputed.resize(nodes.size());
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (behind[entry(number)]) {
      choice.recomputed.set(number);
      choice.work += *node.work;
    } else if (behind[exit(number)]) {
      choice.kept.set(number);
      choice.bytes += node.bytes;
    }
  }
  return choice;
}
