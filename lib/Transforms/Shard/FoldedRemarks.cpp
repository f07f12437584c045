//===- FoldedRemarks.cpp - joins equal remarks ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "FoldedRemarks.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

void FoldedRemarks::add(Location at, StringRef name, ArrayRef<Metric> metrics,
                        Metric detail) {
  std::string key = name.str();
  for (const auto &[what, value] : metrics)
    key += "\n" + what.str() + "=" + value;
  auto [entry, isNew] = numbers.try_emplace(key, remarks.size());
  if (isNew)
    remarks.push_back(
        {at, name, SmallVector<Metric>(metrics), detail.first, {}});
  Remark &remark = remarks[entry->second];
  ++remark.times;
  if (!detail.first.empty() &&
      !llvm::is_contained(remark.details, detail.second))
    remark.details.push_back(std::move(detail.second));
}

void FoldedRemarks::emit() const {
  for (const Remark &entry : remarks) {
    auto remark = remark::missed(
        entry.at, remark::RemarkOpts::name(entry.name).category(category));
    for (const auto &[what, value] : entry.metrics)
      remark << remark::metric(what, value);
    if (!entry.detail.empty())
      remark << remark::metric(entry.detail, llvm::join(entry.details, ", "));
    if (entry.times > 1)
      remark << remark::metric("times", entry.times);
  }
}
