//===- AxisDivisions.h - axes of a mesh, divided into parts -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Where a factor has too few elements for an axis, or is not divided by it, it
// may take the axis's major part and leave the rest to the next one: 16 heads
// of 4 x 4 lie over tp=8 as 4 over tp.0=4 and 4 over tp.1=2. The ranks stay
// numbered as they were: a group over all parts is one over the axis.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_AXISDIVISIONS_H
#define PP_ANALYSIS_AXISDIVISIONS_H

#include "mlir/IR/AttrTypeSubElements.h"
#include "pp/IR/PP.h"

namespace pp {

/// `dim`, with the parts of an axis where it names one that `mesh` has in
/// parts.
DimShardingAttr inParts(DimShardingAttr dim, MeshAttr mesh);

class AxisDivisions {
public:
  explicit AxisDivisions(MeshAttr mesh)
      : mesh(mesh), majors(mesh.getAxes().size()) {}

  /// Asks for a major part of `size` devices in an axis. What was asked for
  /// before stays: parts of 2 and of 3 cannot both begin an axis.
  void add(int axis, int64_t size);
  bool empty() const;

  /// What has the mesh, and shardings that name its axes, name their parts.
  mlir::AttrTypeReplacer getReplacer() const;

private:
  /// Sizes of an axis's parts, major to minor.
  llvm::SmallVector<int64_t> sizesOf(int axis) const;

  MeshAttr mesh;
  /// Per axis, the products of sizes of its parts from the major one on.
  std::vector<llvm::SmallVector<int64_t, 2>> majors;
};

} // namespace pp

#endif // PP_ANALYSIS_AXISDIVISIONS_H
