//===- ElementRulesDetail.h - the rules that ElementRules.cpp lists -*- C++ -*//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each is told a place in the op's result and gives the elements there, or
// nothing for a run that it cannot take at once.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H
#define PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H

#include "ElementRules.h"
#include "pp/IR/PP.h"

namespace pp::gpu {

// ElementRules.cpp
Scalars getElements(const Question &question, ConstantOp op);
Scalars getElements(const Question &question, IotaOp op);
Scalars getElements(const Question &question, AxisIndexOp op);
Scalars getElements(const Question &question, RandomBitsOp op);

// ElementRulesShape.cpp
Scalars getElements(const Question &question, BroadcastOp op);
Scalars getElements(const Question &question, ReshapeOp op);
Scalars getElements(const Question &question, TransposeOp op);
Scalars getElements(const Question &question, SliceOp op);
Scalars getElements(const Question &question, PadOp op);
Scalars getElements(const Question &question, ConcatenateOp op);
Scalars getElements(const Question &question, DynamicSliceOp op);
Scalars getElements(const Question &question, DynamicUpdateSliceOp op);

// ElementRulesIndexing.cpp
Scalars getElements(const Question &question, GatherOp op);
Scalars getElements(const Question &question, ScatterAddOp op);
Scalars getElements(const Question &question, TopKOp op);
Scalars getElements(const Question &question, CumsumOp op);

// ElementRulesReduce.cpp
Scalars getElements(const Question &question, ReduceOp op);
Scalars getElements(const Question &question, ArgmaxOp op);
Scalars getElements(const Question &question, DotGeneralOp op);

// ElementRulesWindow.cpp
Scalars getElements(const Question &question, ConvolutionOp op);
Scalars getElements(const Question &question, ReduceWindowOp op);
Scalars getElements(const Question &question, SelectAndScatterOp op);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H
