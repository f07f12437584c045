//===- Precompiled.h - GoogleTest, once for all tests -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// 10 s once instead of 2 s a file. Included by no file: the build adds it.
//
//===----------------------------------------------------------------------===//
#include "../runtime/Precompiled.h"

#include <gtest/gtest.h>
