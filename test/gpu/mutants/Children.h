//===- Children.h - judges mutants, each in a process of its own -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0
//
// A mutant may end the process it is in, or never end: so each is a child,
// which says in its last line how it went.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_CHILDREN_H
#define PP_TEST_GPU_MUTANTS_CHILDREN_H

#include <functional>
#include <string>
#include <vector>

namespace pprt::mutants {

/// How a mutant was found, or that it was not.
enum class Outcome : uint8_t {
  fault,    ///< the bench reports a fault
  error,    ///< a call fails that did not
  bits,     ///< other bits are left
  died,     ///< the process ended: a call or instruction that is not modelled
  hang,     ///< it did not end
  survived, ///< nothing differs
  unseen,   ///< nobody looks at what was edited
  none,     ///< there was nothing to edit
};
constexpr size_t kOutcomes = size_t(Outcome::none) + 1;
extern const char *const kOutcomeNames[kOutcomes];

struct Judged {
  Outcome outcome = Outcome::none;
  std::string text; ///< what was said
};

/// What happens in the child; returns how it went, if it comes that far.
using Attempt = std::function<Judged()>;

/// By attempt. Two at a time.
std::vector<Judged> judge(const std::vector<Attempt> &attempts);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_CHILDREN_H
