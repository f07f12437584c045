//===- FindingList.h - the findings of one check ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the checks. One wrong loop in a compiler breaks thousands of
// instructions in the same way, so each check reports its first few findings.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_FINDINGLIST_H
#define PPRT_LIB_CHECKS_FINDINGLIST_H

#include "pprt/Checks.h"

#include <sstream>

namespace pprt::checks {

/// Concatenates `parts` as a stream prints them.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// `and_` and `or_` have their underscore only because `and` is a keyword.
inline std::string nameOf(ppx::Reduction reduction) {
  std::string name = ppx::EnumNameReduction(reduction);
  if (!name.empty() && name.back() == '_')
    name.pop_back();
  return name;
}

/// Prints `rank 1, body #12 '0F1 send'`, and the source location if known.
std::string describe(const InstructionRef &ref, const Instruction &instruction);

class FindingList {
public:
  static constexpr size_t kMaximumFindings = 16;
  const FindingKind kind; ///< of what is found here

  FindingList(FindingKind kind, uint64_t &operations)
      : kind(kind), operations(operations) {}

  /// Counts `steps` elementary steps.
  void work(uint64_t steps) { operations += steps; }

  void add(std::string message, std::optional<uint32_t> rank = {}) {
    if (!full())
      findings.push_back({kind, std::move(message), rank, {}});
  }
  /// `message` is complete; `ref` is where to look first.
  void add(const InstructionRef &ref, std::string message) {
    if (!full())
      findings.push_back({kind, std::move(message), ref.rank, ref});
  }
  /// Adds `message` after a description of the instruction.
  void add(const InstructionRef &ref, const Instruction &instruction,
           const std::string &message) {
    if (!full())
      findings.push_back(
          {kind, describe(ref, instruction) + ": " + message, ref.rank, ref});
  }

  /// Adds as many as there is place for.
  void append(std::vector<Finding> others) {
    for (Finding &finding : others)
      if (!full())
        findings.push_back(std::move(finding));
  }

  bool full() const { return findings.size() >= kMaximumFindings; }
  bool empty() const { return findings.empty(); }
  std::vector<Finding> take() { return std::move(findings); }

private:
  uint64_t &operations;
  std::vector<Finding> findings;
};

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_FINDINGLIST_H
