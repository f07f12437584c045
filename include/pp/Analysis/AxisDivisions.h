//===- AxisDivisions.h - axes of a mesh, divided into parts -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A factor with too few elements for an axis, or not divisible by it, may take
// the axis's major part and leave the rest to the next factor: 16 heads of 4 x
// 4 lie over tp=8 as 4 over tp.0=4 and 4 over tp.1=2. Ranks keep their numbers:
// a group over all parts is one over the axis.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_AXISDIVISIONS_H
#define PP_ANALYSIS_AXISDIVISIONS_H

#include "mlir/IR/AttrTypeSubElements.h"
#include "pp/IR/PP.h"

namespace pp {

/// `dim`, with parts in place of each axis that `mesh` has in parts.
DimShardingAttr inParts(DimShardingAttr dim, MeshAttr mesh);

class AxisDivisions {
public:
  explicit AxisDivisions(MeshAttr mesh)
      : mesh(mesh), majors(mesh.getAxes().size()) {}

  /// Asks for a major part of `size` devices in an axis. Earlier requests stay:
  /// parts of 2 and of 3 cannot both begin an axis.
  void add(int axis, int64_t size);
  bool empty() const;

  /// Replaces axes by their parts in the mesh and in shardings.
  mlir::AttrTypeReplacer getReplacer() const;

private:
  /// Sizes of an axis's parts, major to minor.
  llvm::SmallVector<int64_t> sizesOf(int axis) const;

  MeshAttr mesh;
  /// Per axis, the cumulative products of its parts' sizes, from the major one.
  std::vector<llvm::SmallVector<int64_t, 2>> majors;
};

} // namespace pp

#endif // PP_ANALYSIS_AXISDIVISIONS_H
