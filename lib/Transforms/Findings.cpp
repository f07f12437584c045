//===- Findings.cpp - possible improvements of a plan ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Findings.h"
#include "mlir/IR/Builders.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

static constexpr StringLiteral kFindings = "findings";

std::string Finding::printWays() const {
  return changes.empty() ? avoid : llvm::join(changes, ", or ");
}

void pp::setFindings(func::FuncOp main, const std::vector<Finding> &findings) {
  if (findings.empty())
    return;
  Builder builder(main.getContext());
  SmallVector<Attribute> texts;
  for (const Finding &finding : findings)
    texts.push_back(builder.getArrayAttr(
        {builder.getStringAttr(finding.at), builder.getStringAttr(finding.what),
         builder.getStringAttr(finding.avoid),
         builder.getStrArrayAttr(SmallVector<StringRef>(
             llvm::make_range(finding.changes.begin(), finding.changes.end()))),
         builder.getI64IntegerAttr(finding.bytes)}));
  main->setLoc(FusedLoc::get(main.getContext(), main.getLoc(),
                             builder.getDictionaryAttr(builder.getNamedAttr(
                                 kFindings, builder.getArrayAttr(texts)))));
}

std::vector<Finding> pp::getFindings(func::FuncOp main) {
  std::vector<Finding> findings;
  auto fused = dyn_cast<FusedLoc>(main.getLoc());
  auto entries =
      fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : nullptr;
  auto texts = entries ? entries.getAs<ArrayAttr>(kFindings) : ArrayAttr();
  if (!texts)
    return findings;
  // A file may hold anything.
  for (Attribute text : texts) {
    auto parts = dyn_cast<ArrayAttr>(text);
    if (!parts || parts.size() != 5 || !isa<StringAttr>(parts[0]) ||
        !isa<StringAttr>(parts[1]) || !isa<StringAttr>(parts[2]) ||
        !isa<ArrayAttr>(parts[3]) || !isa<IntegerAttr>(parts[4]))
      continue;
    Finding finding{cast<StringAttr>(parts[0]).str(),
                    cast<StringAttr>(parts[1]).str(),
                    cast<StringAttr>(parts[2]).str(),
                    {},
                    cast<IntegerAttr>(parts[4]).getValue().getSExtValue()};
    for (Attribute change : cast<ArrayAttr>(parts[3]))
      if (auto text = dyn_cast<StringAttr>(change))
        finding.changes.push_back(text.str());
    findings.push_back(std::move(finding));
  }
  return findings;
}

void Subjects::add(Operation *op, double cost) {
  const std::string at = generalize(describeLocation(op->getLoc()));
  auto &[number, total] = kinds[op->getName().getStringRef().str() +
                                (at.empty() ? "" : " at " + at)];
  ++number;
  total += cost;
}

int64_t Subjects::count() const {
  int64_t all = 0;
  for (const auto &[kind, its] : kinds)
    all += its.first;
  return all;
}

std::string Subjects::print() const {
  constexpr size_t kMost = 4;
  std::vector<std::pair<std::string, std::pair<int64_t, double>>> sorted(
      kinds.begin(), kinds.end());
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) {
    return a.second.second > b.second.second;
  });
  std::string text;
  for (auto [index, kind] : llvm::enumerate(sorted)) {
    if (index == kMost)
      return text + " and " + std::to_string(sorted.size() - kMost) +
             " more kinds";
    text += (index ? ", " : "") + kind.first;
    if (kind.second.first > 1)
      text += " x" + std::to_string(kind.second.first);
  }
  return text;
}
