//===- Findings.cpp - what a plan could do better -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Findings.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pp;

static constexpr StringLiteral kFindings = "findings";

void pp::setFindings(func::FuncOp main, const std::vector<Finding> &findings) {
  if (findings.empty())
    return;
  Builder builder(main.getContext());
  SmallVector<Attribute> texts;
  for (const Finding &finding : findings)
    texts.push_back(builder.getArrayAttr(
        {builder.getStringAttr(finding.at), builder.getStringAttr(finding.what),
         builder.getStringAttr(finding.avoid),
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
    if (!parts || parts.size() != 4 || !isa<StringAttr>(parts[0]) ||
        !isa<StringAttr>(parts[1]) || !isa<StringAttr>(parts[2]) ||
        !isa<IntegerAttr>(parts[3]))
      continue;
    findings.push_back({cast<StringAttr>(parts[0]).str(),
                        cast<StringAttr>(parts[1]).str(),
                        cast<StringAttr>(parts[2]).str(),
                        cast<IntegerAttr>(parts[3]).getValue().getSExtValue()});
  }
  return findings;
}
