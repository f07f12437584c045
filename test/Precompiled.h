//===- Precompiled.h - GoogleTest, once for all tests -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "../runtime/Precompiled.h"

#include <gtest/gtest.h>
