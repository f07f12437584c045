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

#include "StepWriter.h"
#include "llvm/Support/JSON.h"

namespace pp::hlo {

/// The version of the keys.
inline constexpr int kInterfaceVersion = 1;

/// A value on one line.
void writeLine(llvm::json::OStream &json, llvm::StringRef key,
               llvm::json::Value value);

/// Axes, the number of replicas and that of micro-batches.
void writeMesh(llvm::json::OStream &json, const Device &device);

/// An argument or result of a step; `shape` is that of the text. In a pipeline
/// it is called `value`. Without a mesh nothing is divided.
void writeTensor(llvm::json::OStream &json, MeshAttr mesh,
                 mlir::DictionaryAttr attributes, mlir::RankedTensorType local,
                 mlir::RankedTensorType shape, llvm::StringRef value = "");

/// All arguments and results of a step.
void writeBorder(llvm::json::OStream &json, mlir::func::FuncOp main,
                 const StepWriter &step);

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_INTERFACE_H
