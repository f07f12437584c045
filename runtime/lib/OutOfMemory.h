//===- OutOfMemory.h - where memory lacks -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For files that are compiled with exceptions. The runtime throws none but
// those of the standard library, where memory lacks; in the programs of others
// they end as a Status.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_OUTOFMEMORY_H
#define PPRT_LIB_OUTOFMEMORY_H

#include "pprt/Status.h"

#include <exception>

namespace pprt {

/// So short that it takes none.
inline Status outOfMemory() {
  return Status(ExitCode::outOfMemory, "out of memory");
}

/// What `call` returns, or that memory lacks.
template <typename Call>
auto orOutOfMemory(const Call &call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception &) {
    return outOfMemory();
  }
}

} // namespace pprt

#endif // PPRT_LIB_OUTOFMEMORY_H
