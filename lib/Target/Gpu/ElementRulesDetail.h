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

// ElementRulesShape.cpp
Scalars broadcast(const Question &question, BroadcastOp op);
Scalars reshape(const Question &question, ReshapeOp op);
Scalars transpose(const Question &question, TransposeOp op);
Scalars slice(const Question &question, SliceOp op);
Scalars pad(const Question &question, PadOp op);
Scalars concatenate(const Question &question, ConcatenateOp op);
Scalars dynamicSlice(const Question &question, DynamicSliceOp op);
Scalars dynamicUpdateSlice(const Question &question, DynamicUpdateSliceOp op);

// ElementRulesIndexing.cpp
Scalars gather(const Question &question, GatherOp op);
Scalars scatterAdd(const Question &question, ScatterAddOp op);
Scalars topK(const Question &question, TopKOp op);
Scalars cumsum(const Question &question, CumsumOp op);

// ElementRulesReduce.cpp
Scalars reduce(const Question &question, ReduceOp op);
Scalars argmax(const Question &question, ArgmaxOp op);
Scalars dot(const Question &question, DotGeneralOp op);

// ElementRulesWindow.cpp
Scalars convolution(const Question &question, ConvolutionOp op);
Scalars reduceWindow(const Question &question, ReduceWindowOp op);
Scalars selectAndScatter(const Question &question, SelectAndScatterOp op);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ELEMENTRULESDETAIL_H
