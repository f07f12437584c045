//===- TensorAxis.h - the axis of tensors, in parts -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Seeds may give one dimension of a parameter the major part of `tp` and
// another one the rest, as 4 groups of 4 heads over 8 devices. The mesh is
// divided where such parts begin, and seeds name its axes.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_TENSORAXIS_H
#define PP_LIB_PLANNER_TENSORAXIS_H

#include "NamedSeeds.h"
#include "pp/Analysis/FactorClasses.h"

namespace pp {

inline constexpr llvm::StringLiteral kTensorAxis = "tp";

/// The part of an axis that has `before` devices in the parts before it, and
/// `size` itself: the 2 of an axis of 8 behind its major 4.
struct AxisPart {
  int64_t before = 1, size = 1;

  int64_t end() const { return before * size; }
  bool operator==(const AxisPart &other) const {
    return before == other.before && size == other.size;
  }
  bool operator!=(const AxisPart &other) const { return !(*this == other); }
};

/// By class, the part of `tp` that it has, where it has not all of it.
using AxisParts = llvm::SmallDenseMap<FactorClasses::Class, AxisPart>;

class TensorAxis {
public:
  /// The axis of `mesh`, divided where these parts begin and end; nothing if
  /// they do not nest, as 2 and 3 of 6, or do not fit its division.
  static std::optional<TensorAxis> divide(MeshAttr mesh,
                                          const AxisParts &parts);

  MeshAttr mesh() const { return divided; }
  /// The names of the whole axis, and of a part.
  llvm::SmallVector<mlir::StringAttr> names() const {
    return divided.partsOf(kTensorAxis);
  }
  llvm::SmallVector<mlir::StringAttr> namesOf(AxisPart part) const;
  /// With the mesh's names of the axis or its parts in place of the axis.
  llvm::SmallVector<NamedSharding>
  rename(llvm::ArrayRef<NamedSharding> shardings) const;

private:
  explicit TensorAxis(MeshAttr divided) : divided(divided) {}
  bool hasPartsAt(int64_t end) const;

  MeshAttr divided;
};

} // namespace pp

#endif // PP_LIB_PLANNER_TENSORAXIS_H
