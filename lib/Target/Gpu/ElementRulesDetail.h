//===- ElementRulesDetail.h - attaches element rules ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rule gets a place in the op's result and returns the elements there, or
// nothing for a run that it cannot build at once.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H
#define PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H

#include "ElementRules.h"
#include "pp/IR/PP.h"

namespace pp::gpu {

template <typename OpT, Scalars (*rule)(const Question &, OpT)>
struct GpuModel : GpuOpInterface::ExternalModel<GpuModel<OpT, rule>, OpT> {
  Scalars getElements(mlir::Operation *op, const Question &question) const {
    return rule(question, mlir::cast<OpT>(op));
  }
};
/// Attaches `rule` as an op's.
template <typename OpT, Scalars (*rule)(const Question &, OpT)>
void attachRule(mlir::MLIRContext *context) {
  OpT::template attachInterface<GpuModel<OpT, rule>>(*context);
}

// Each attaches those of its file.
void attachShapeRules(mlir::MLIRContext *context);
void attachIndexingRules(mlir::MLIRContext *context);
void attachReduceRules(mlir::MLIRContext *context);
void attachWindowRules(mlir::MLIRContext *context);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H
