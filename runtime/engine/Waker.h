//===- Waker.h - ends the sleep of a rank's thread --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a transport knows of the threads whose comm ops it carries out: that
// they can be woken. Called from any thread, whether or not anybody sleeps.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_WAKER_H
#define PPRT_ENGINE_WAKER_H

namespace pprt {

class Waker {
public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

} // namespace pprt

#endif // PPRT_ENGINE_WAKER_H
