//===- Precompiled.h - headers of most files of the runtime -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Precompiled once for all code without MLIR: the artifact's generated header
// and what it includes, 2 s a file otherwise.
//
//===----------------------------------------------------------------------===//
#include "pprt/Ppx.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>
