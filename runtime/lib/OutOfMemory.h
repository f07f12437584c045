//===- OutOfMemory.h - failures for want of memory --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The standard library throws when memory or threads run out. Where programs
// call the runtime these exceptions become a Status.
// Exceptions of the program's callbacks pass through.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_OUTOFMEMORY_H
#define PPRT_LIB_OUTOFMEMORY_H

#include "pprt/Status.h"

#include <new>
#include <stdexcept>
#include <system_error>

namespace pprt {

/// The text is so short that it needs no heap memory.
inline Status outOfMemory() {
  return Status(ExitCode::outOfMemory, "out of memory");
}

/// Returns the result of `call`, or outOfMemory() if memory runs out.
template <typename Call>
auto orOutOfMemory(const Call &call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::length_error &) {
    return outOfMemory();
  } catch (const std::system_error &) { // the system refuses a thread
    return outOfMemory();
  }
}

} // namespace pprt

#endif // PPRT_LIB_OUTOFMEMORY_H
