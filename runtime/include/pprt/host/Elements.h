//===- Elements.h - Tensors as they lie in files ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Spellings and floating-point conversions shared by the file formats.
// Elements are little endian everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_ELEMENTS_H
#define PPRT_HOST_ELEMENTS_H

#include "pprt/Ppx.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Prints `[2, 3]`.
std::string printShape(const std::vector<uint64_t> &shape);

/// Converts `count` floats of type `from` to floats of type `to`, rounding to
/// nearest, ties to even.
void convertFloats(ppx::ElementType from, const void *in, ppx::ElementType to,
                   void *out, size_t count);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_ELEMENTS_H
