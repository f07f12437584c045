//===- Objects.cpp - descriptors of the stand-in of cublasLt --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Objects.h"

#include <algorithm>
#include <memory>
#include <mutex>

using namespace standin;
using namespace standin::blas;

/// How a test tells it from the library.
extern "C" const int ppStandInBlas = 1;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Of each kind, as cublasLt 13.1 takes them: one more or less is refused.
static const std::map<int, size_t> &sizesOf(Kind kind) {
  static const std::map<int, size_t> none,
      operation = {{0, 4},  {1, 4},  {2, 4},  {3, 4},  {4, 4},  {5, 4},
                   {6, 4},  {7, 4},  {8, 8},  {10, 8}, {11, 8}, {12, 8},
                   {13, 8}, {14, 8}, {15, 4}, {16, 4}, {17, 8}, {18, 8},
                   {19, 8}, {20, 8}, {21, 8}, {22, 4}, {23, 8}, {24, 8},
                   {25, 1}, {26, 4}, {31, 4}, {32, 4}, {33, 4}, {34, 4},
                   {35, 4}, {36, 8}, {37, 4}, {38, 8}},
      layout = {{0, 4}, {1, 4}, {2, 8}, {3, 8}, {4, 8},
                {5, 4}, {6, 8}, {7, 8}, {8, 4}},
      preference = {{0, 4}, {1, 8}, {3, 4}, {5, 4}, {6, 4},
                    {7, 4}, {8, 4}, {9, 4}, {12, 8}};
  return kind == Kind::operation    ? operation
         : kind == Kind::layout     ? layout
         : kind == Kind::preference ? preference
                                    : none;
}

cublasStatus_t Object::set(int attribute, const void *value, size_t size) {
  const auto &sizes = sizesOf(kind);
  const auto found = sizes.find(attribute);
  if (found == sizes.end() || found->second != size || !value)
    return CUBLAS_STATUS_INVALID_VALUE;
  values[attribute] = 0;
  std::memcpy(&values[attribute], value, size);
  return CUBLAS_STATUS_SUCCESS;
}

void Object::expectOnly(std::initializer_list<int> known) const {
  for (const auto &[attribute, value] : values)
    if (std::find(known.begin(), known.end(), attribute) == known.end())
      notModelled("attribute " + std::to_string(attribute) + " of " +
                  (kind == Kind::operation ? "an operation"
                   : kind == Kind::layout  ? "a layout"
                                           : "a preference"));
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
