//===- Stages.h - a pipeline as programs of its stages ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of level 3. Out: a file of functions for each stage, and JSON:
// arguments and results of the step, who calls which function when, and which
// values travel, add up or stay.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_STAGES_H
#define PP_LIB_EXPORT_STAGES_H

#include "Interface.h"
#include "OpWriter.h"
#include "pp/Export/StableHLO.h"

namespace pp::hlo {

mlir::FailureOr<std::vector<ExportedFile>>
exportStages(mlir::func::FuncOp main, MeshAttr mesh, llvm::StringRef path);

/// The text of a module of these functions, for so many replicas.
std::string writeModule(llvm::StringRef name, const OpWriter &functions);

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_STAGES_H
