//===- Precompiled.h - MLIR and the dialect, for most files -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Precompiled once and reused by every target of the compiler: 10 s once
// instead of 5 s a file. Of our own headers only the dialect's is here, which
// every file includes: a change of its definitions rebuilds all of them anyway.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/PP.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
