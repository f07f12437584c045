//===- DigestModel.cpp - tells a model from others ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model. Out: the same with a digest of what it computes, which no plan
// changes: the text of its functions, without shardings.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_DIGESTMODEL
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {
struct DigestModelPass : pp::impl::DigestModelBase<DigestModelPass> {
  void runOnModule() override {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      OwningOpRef<func::FuncOp> plain = function.clone();
      dropShardings(*plain);
      plain->print(os, OpPrintingFlags()
                           .useLocalScope()
                           .enableDebugInfo(false)
                           .printGenericOpForm(false));
    }
    constexpr unsigned digits = 16;
    const std::string digest =
        llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, digits);
    getOperation()->setAttr(attrs::kModel,
                            StringAttr::get(&getContext(), digest));
  }
};
} // namespace
