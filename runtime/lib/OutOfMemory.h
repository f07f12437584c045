//===- OutOfMemory.h - where memory lacks -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For files that are compiled with exceptions. The runtime throws none but
// those of the standard library where memory or threads lack, which end as a
// Status. What a callback of the program around throws is left to it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_OUTOFMEMORY_H
#define PPRT_LIB_OUTOFMEMORY_H

#include "pprt/Status.h"

#include <new>
#include <stdexcept>
#include <system_error>

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
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::length_error &) {
    return outOfMemory();
  } catch (const std::system_error &) { // a thread that the system refuses
    return outOfMemory();
  }
}

} // namespace pprt

#endif // PPRT_LIB_OUTOFMEMORY_H
