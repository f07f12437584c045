//===- Shardings.h - the shardings of a source ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// JAX says shardings in Shardy's ops and attributes, by name or as text. Those
// over whole axes of one mesh become pp's, and the mesh the model's. A remark
// names each of the others, which are dropped: parts of axes, orders of
// devices, a second mesh, those of GSPMD.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_SHARDINGS_H
#define PP_LIB_IMPORT_SHARDINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace pp::hlo {

class Shardings {
public:
  /// The name of a model's mesh.
  static constexpr llvm::StringLiteral kMesh = "mesh";

  /// With `keeps` unset all are dropped.
  Shardings(mlir::ModuleOp source, bool keeps);

  /// pp's form of a sharding of a tensor of `type` at `at`; null if it is
  /// dropped, or says nothing. The first decides which mesh is the model's.
  ShardingAttr convert(mlir::Attribute sharding, mlir::Type type,
                       mlir::Location at);
  /// Remarks a sharding that is dropped.
  static void drop(mlir::Location at, llvm::StringRef reason);

  /// Those of arguments, null for one without.
  llvm::SmallVector<mlir::Attribute>
  convertArguments(mlir::func::FuncOp source);

  /// The axes of the mesh that shardings name; null without any.
  MeshAttr getMesh() const;

private:
  llvm::StringMap<MeshAttr> meshes;
  MeshAttr mesh;
  llvm::DenseSet<mlir::StringAttr> used;
  const bool keeps;
};

/// Makes barriers of constraints on values that have another sharding already,
/// as where JAX gathers a parameter that it stores in shards.
void separateLayouts(mlir::func::FuncOp main);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_SHARDINGS_H
