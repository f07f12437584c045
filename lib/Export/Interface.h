//===- Interface.h - what a caller of a step gives and gets -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a step and its mesh. Out: JSON that names each argument and result of
// the text, with its role, its whole shape and the mesh axes that divide it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_INTERFACE_H
#define PP_LIB_EXPORT_INTERFACE_H

#include "Forms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace pp::hlo {

/// The version of the keys.
inline constexpr int kInterfaceVersion = 2;

/// A value on one line.
void writeLine(llvm::json::OStream &json, llvm::StringRef key,
               llvm::json::Value value);

/// Axes, the number of replicas and that of micro-batches.
void writeMesh(llvm::json::OStream &json, const Device &device);

/// All arguments and results of a step, with the shapes that they have in the
/// text and, in a pipeline, the names of the values. Without a mesh nothing is
/// divided.
void writeBorder(
    llvm::json::OStream &json, mlir::func::FuncOp main, MeshAttr mesh,
    llvm::function_ref<mlir::RankedTensorType(mlir::Value)> shapeOf,
    llvm::function_ref<std::string(mlir::Value)> nameOf = nullptr);

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_INTERFACE_H
