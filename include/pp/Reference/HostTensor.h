//===- HostTensor.h - a tensor of the reference interpreter -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every element is a double, whatever the element type: integers are exact up
// to 2^53, i1 is 0 or 1. Elements lie row-major without gaps.
//
//===----------------------------------------------------------------------===//
#ifndef PP_REFERENCE_HOSTTENSOR_H
#define PP_REFERENCE_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <vector>

namespace pp::reference {

struct HostTensor {
  mlir::RankedTensorType type;
  std::vector<double> values;

  HostTensor() = default;
  explicit HostTensor(mlir::RankedTensorType type, double fill = 0.0)
      : type(type), values(type.getNumElements(), fill) {}
  HostTensor(mlir::RankedTensorType type, std::vector<double> values)
      : type(type), values(std::move(values)) {}

  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t rank() const { return type.getRank(); }
  mlir::Type elementType() const { return type.getElementType(); }
  int64_t size() const { return static_cast<int64_t>(values.size()); }

  /// The literal's elements; failure if they are not stored densely.
  static mlir::FailureOr<HostTensor> fromAttribute(mlir::ElementsAttr literal);
  /// A literal of this type.
  mlir::DenseElementsAttr toAttribute() const;

  /// Rounds every element to the element type.
  void roundToElement();
};

/// `value` rounded to nearest even in `element` (f64, f32, bf16, f16); integers
/// wrap to their width.
double roundTo(mlir::Type element, double value);
double wrapTo(mlir::IntegerType element, int64_t value);

} // namespace pp::reference

#endif // PP_REFERENCE_HOSTTENSOR_H
