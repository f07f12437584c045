//===- Objects.h - objects of the emulated cublasLt -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A descriptor has attributes, each of a size of its own. The real library
// takes any value of the right size, so nothing is said of values before a
// descriptor is used. What was destroyed is told by name.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUBLASLT_OBJECTS_H
#define PP_TEST_GPU_CUBLASLT_OBJECTS_H

#include "cuda/Host.h"

#include <cublasLt.h>

#include <cstring>
#include <map>

namespace emulated::blas {

enum class Kind { handle, operation, layout, preference };

class Object {
public:
  explicit Object(Kind kind) : kind(kind) {}

  template <typename T> T get(int attribute) const {
    T value = {};
    if (const auto found = values.find(attribute); found != values.end())
      std::memcpy(&value, &found->second, sizeof(T));
    return value;
  }
  template <typename T> void set(int attribute, T value) {
    values[attribute] = 0;
    std::memcpy(&values[attribute], &value, sizeof(T));
  }
  /// As the library's call does it.
  cublasStatus_t set(int attribute, const void *value, size_t size);

  const Kind kind;

private:
  std::map<int, uint64_t> values; ///< those that were set
};

/// Makes one, with its attributes as the library has them at first.
Object *create(Kind kind);
/// Null for null; a fault, and null, if it is none or of another kind.
Object *find(const void *handle, Kind kind);
void destroy(Object *object);

} // namespace emulated::blas

#endif // PP_TEST_GPU_CUBLASLT_OBJECTS_H
