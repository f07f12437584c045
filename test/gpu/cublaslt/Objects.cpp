//===- Objects.cpp - descriptors of the emulated library of cublasLt ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Problem.h"

#include <memory>
#include <mutex>

using namespace emulated;
using namespace emulated::blas;

/// How a test tells it from the library.
extern "C" const int ppEmulatorBlas = 1;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Of each kind, those that the engine sets, as cublasLt 13.1 takes them: a
/// byte more or less is refused.
static const std::map<int, size_t> &sizesOf(Kind kind) {
  static const std::map<int, size_t> none,
      operation = {{CUBLASLT_MATMUL_DESC_TRANSA, 4},
                   {CUBLASLT_MATMUL_DESC_TRANSB, 4},
                   {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},
                   {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8},
                   {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8},
                   {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8}},
      layout = {{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4},
                {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8},
                {CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 4}},
      preference = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8},
                    {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4}};
  return kind == Kind::operation    ? operation
         : kind == Kind::layout     ? layout
         : kind == Kind::preference ? preference
                                    : none;
}

cublasStatus_t Object::set(int attribute, const void *value, size_t size) {
  const auto &sizes = sizesOf(kind);
  const auto found = sizes.find(attribute);
  if (found == sizes.end())
    notModelled("attribute " + std::to_string(attribute) + " of " +
                (kind == Kind::operation ? "an operation"
                 : kind == Kind::layout  ? "a layout"
                                         : "a preference"));
  if (found->second != size || !value)
    return CUBLAS_STATUS_INVALID_VALUE;
  values[attribute] = 0;
  std::memcpy(&values[attribute], value, size);
  return CUBLAS_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Those that are there
//===----------------------------------------------------------------------===//

static std::mutex lock;
static std::map<const void *, std::unique_ptr<Object>> objects;

static void hold(Kind kind, int change) {
  if (const Host *its = host())
    its->hold(kind == Kind::handle ? "cublasLt handle" : "cublasLt descriptor",
              change);
}

Object *blas::create(Kind kind) {
  auto made = std::make_unique<Object>(kind);
  Object *result = made.get();
  hold(kind, 1);
  std::lock_guard guard(lock);
  objects[result] = std::move(made);
  return result;
}

Object *blas::find(const void *handle, Kind kind) {
  if (!handle)
    return nullptr;
  {
    std::lock_guard guard(lock);
    const auto found = objects.find(handle);
    if (found != objects.end() && found->second->kind == kind)
      return found->second.get();
  }
  fault("the host uses an object of cublasLt that is not there, or of another "
        "kind");
  return nullptr;
}

void blas::destroy(Object *object) {
  hold(object->kind, -1);
  std::lock_guard guard(lock);
  objects.erase(object);
}
