//===- Looks.h - how actions look in pictures -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One table for all pictures. Forward is blue, the gradients of inputs light
// teal and those of weights green, as in the papers on zero-bubble schedules;
// the three also differ in lightness, for readers who see no colours.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_LOOKS_H
#define PP_SCHEDULE_LOOKS_H

#include <string>

namespace pp::schedule {

/// A kind of work, by its letter in the names of actions.
struct Look {
  char kind;
  const char *label;
  /// Of the first of the stages that a row has; and of one after the last,
  /// lighter.
  unsigned first, last;
};

/// Of F, B, W, U(pdate), or of P(rologue) and all other letters.
const Look &lookOf(char kind);

/// The fill of the `index`-th of `stages` stages, as #rrggbb.
std::string fillOf(char kind, unsigned index = 0, unsigned stages = 1);

/// Black or white, whichever can be read on it.
const char *inkOn(const std::string &fill);

/// A mixture of two fills: all of `a` at 0, all of `b` at 1.
std::string mix(const std::string &a, const std::string &b, double share);

inline constexpr const char *idleFill = "#e9e9e9";

} // namespace pp::schedule

#endif // PP_SCHEDULE_LOOKS_H
