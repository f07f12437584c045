//===- ElementTypes.h - element types of the artifact -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From MLIR's types to those of runtime/schema/ppx.fbs. Whoever is given other
// input than a verified module reports a type that has none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_ELEMENTTYPES_H
#define PP_ANALYSIS_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include "pprt/Ppx.h"
#include <optional>

namespace pp {

/// The artifact's word for the element type; nothing for types that no tensor
/// of the dialect has.
std::optional<pprt::ppx::ElementType> toElementType(mlir::Type element);

} // namespace pp

#endif // PP_ANALYSIS_ELEMENTTYPES_H
