//===- ConformanceCases.h - comm ops and what they must leave ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of collectives and transfers, over types, sizes, shapes and groups. A
// member's values before a round follow from the case, the round, the member
// and the place of the element; the expected values after it are computed here
// from the definition of the collective, element by element, and not from
// moves.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_CONFORMANCECASES_H
#define PP_TEST_RUNTIME_CONFORMANCECASES_H

#include "pprt/CommOps.h"

#include <memory>
#include <string>

namespace pprt::conformance {

using Shape = std::vector<uint64_t>;

/// One operand of a comm op.
struct Operand {
  Shape in;
  uint32_t dimension = 0, split = 0;
};

struct Case {
  bool isTransfer = false;
  ppx::CollectiveKind kind = ppx::CollectiveKind_all_reduce;
  ppx::Reduction reduction = ppx::Reduction_sum;
  ppx::ElementType element = ppx::ElementType_f32;
  std::vector<Operand> operands;
  bool inPlace = false;
  /// Small whole numbers, whose sums are the same in any order.
  bool isExact = false;
  std::vector<uint32_t> ranks;     ///< the group, in member order
  std::vector<uint32_t> receivers; ///< of a permute
  uint32_t rounds = 3;

  std::string name() const;
  uint32_t memberCount() const { return uint32_t(ranks.size()); }
  Shape outShape(size_t operand) const;
  /// Bytes of a member's input or output; 0 for sides that it does not have.
  uint64_t inputBytes(uint32_t member, size_t operand) const;
  uint64_t outputBytes(uint32_t member, size_t operand) const;
  std::vector<Move> moves() const;
  /// Bytes that a member sends in a round, by the definition of the collective.
  uint64_t sentBytes(uint32_t member) const;

  void fillInput(uint32_t round, uint32_t member, size_t operand,
                 std::byte *input) const;
  /// Returns nothing, or the first wrong element.
  std::string findFault(uint32_t round, uint32_t member, size_t operand,
                        const std::byte *output) const;
};

/// Every collective x type x size x group of a world, in place or not.
std::vector<Case> smallCases(uint32_t worldSize);
/// Cases with 64 MiB for each member.
std::vector<Case> largeCases(uint32_t worldSize);

} // namespace pprt::conformance

#endif // PP_TEST_RUNTIME_CONFORMANCECASES_H
