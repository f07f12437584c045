//===- Mutants.h - programs that edits are made to, and judges --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An artifact for GPUs runs a few steps on a device, over drawn inputs, and
// leaves bits: outputs of every step, parameters and states of every rank. A
// mutant of it may end the process it is in, or never end: so each is a child,
// which says in its last line how it went.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_MUTANTS_H
#define PP_TEST_GPU_MUTANTS_MUTANTS_H

#include "pprt/StreamDevice.h"

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

struct Bits {
  uint64_t sum = 0; ///< of all bits, in order
};

/// Runs the setup, the steps and the teardown.
Expected<Bits> runSubject(std::shared_ptr<const ppx::ArtifactT> artifact,
                          std::shared_ptr<enqueued::StreamDevice> device,
                          bool records);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_MUTANTS_H
