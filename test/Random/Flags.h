//===- Flags.h - which random programs to take ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of programs, for tests that take more of them by hand than in a
// build.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_FLAGS_H
#define PP_TEST_RANDOM_FLAGS_H

#include "llvm/ADT/StringRef.h"

namespace pp::testing {

struct Flags {
  unsigned first = 0, count = 0;
  /// Says how often each part of each rule was met.
  bool coverage = false;

  unsigned end() const { return first + count; }
  bool isOne() const { return count == 1; }

  /// False where an argument is none of them.
  bool parse(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
      llvm::StringRef argument = argv[i];
      if (argument == "--coverage")
        coverage = true;
      else if (argument.consume_front("--only=")) {
        count = 1;
        if (argument.getAsInteger(10, first))
          return false;
      } else if (argument.consume_front("--first=")
                     ? argument.getAsInteger(10, first)
                     : !argument.consume_front("--count=") ||
                           argument.getAsInteger(10, count))
        return false;
    }
    return true;
  }
};

} // namespace pp::testing

#endif // PP_TEST_RANDOM_FLAGS_H
