//===- Moves.cpp - the data movement of transfers and collectives ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/CommOps.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace pprt;

static uint64_t product(const std::vector<uint64_t> &shape, size_t begin,
                        size_t end) {
  return std::accumulate(shape.begin() + begin, shape.begin() + end,
                         uint64_t(1), std::multiplies<uint64_t>());
}

std::vector<Move> pprt::movesOfTransfer(uint64_t bytes) {
  Move move;
  move.element = ppx::ElementType_i1; // one byte
  move.region.run = bytes;
  move.sources = {{0, 0, 0}};
  move.targets = {{1, 0, 0}};
  return {move};
}

/// Returns the same place of operand `operand` in every member.
static std::vector<Part> partOfAll(uint32_t members, uint32_t operand,
                                   uint64_t offset) {
  std::vector<Part> parts;
  for (uint32_t member = 0; member < members; ++member)
    parts.push_back({member, operand, offset});
  return parts;
}

/// Part m of member j's input, cut along `split`, is part j of member m's
/// output along `dimension`. The dimensions before the first of the two are the
/// outer loop, those between are the middle one.
static void addAllToAll(Move move, const std::vector<uint64_t> &shape,
                        uint32_t operand, size_t split, size_t dimension,
                        uint32_t n, std::vector<Move> &moves) {
  const size_t rank = shape.size();
  const uint64_t total = product(shape, 0, rank);
  if (total == 0)
    return;
  Region &region = move.region;
  region.outer = product(shape, 0, std::min(split, dimension));
  const uint64_t part = total / n;
  uint64_t sourcePart, targetPart;
  if (split <= dimension) {
    region.run = product(shape, dimension, rank) / (split == dimension ? n : 1);
    region.middle = part / region.outer / region.run;
    region.sourceMiddle = region.run;
    region.targetMiddle = split == dimension ? region.run : n * region.run;
    sourcePart = part / region.outer;
    targetPart = region.run;
  } else {
    region.run = product(shape, split, rank) / n;
    region.middle = part / region.outer / region.run;
    region.sourceMiddle = n * region.run;
    region.targetMiddle = region.run;
    sourcePart = region.run;
    targetPart = part / region.outer;
  }
  region.sourceOuter = region.targetOuter = total / region.outer;
  for (uint32_t j = 0; j < n; ++j)
    for (uint32_t m = 0; m < n; ++m) {
      move.sources = {{j, operand, m * sourcePart}};
      move.targets = {{m, operand, j * targetPart}};
      moves.push_back(move);
    }
}

std::vector<Move>
pprt::movesOfCollective(const ppx::InstructionT &instruction,
                        const std::vector<const ppx::SlotT *> &inputs,
                        uint32_t n, const std::vector<uint32_t> &receivers) {
  std::vector<Move> moves;
  for (uint32_t operand = 0; operand < inputs.size(); ++operand) {
    const std::vector<uint64_t> &shape = inputs[operand]->shape;
    const size_t rank = shape.size();
    const size_t dimension =
        instruction.dimensions.empty() ? 0 : instruction.dimensions[operand];
    Move move;
    move.element = inputs[operand]->element;
    move.reduction = instruction.reduction;
    Region &region = move.region;
    switch (instruction.collective) {
    case ppx::CollectiveKind_all_reduce:
      region.run = product(shape, 0, rank);
      move.sources = move.targets = partOfAll(n, operand, 0);
      moves.push_back(move);
      break;
    case ppx::CollectiveKind_all_gather:
      // Member m's input is block m of every member's output.
      region.outer = product(shape, 0, dimension);
      region.run = product(shape, dimension, rank);
      region.sourceOuter = region.run;
      region.targetOuter = n * region.run;
      for (uint32_t m = 0; m < n; ++m) {
        move.sources = {{m, operand, 0}};
        move.targets = partOfAll(n, operand, m * region.run);
        moves.push_back(move);
      }
      break;
    case ppx::CollectiveKind_reduce_scatter:
      // Member m's output is the reduction of block m of every input.
      region.outer = product(shape, 0, dimension);
      region.run = product(shape, dimension, rank) / n;
      region.sourceOuter = n * region.run;
      region.targetOuter = region.run;
      for (uint32_t m = 0; m < n; ++m) {
        move.sources = partOfAll(n, operand, m * region.run);
        move.targets = {{m, operand, 0}};
        moves.push_back(move);
      }
      break;
    case ppx::CollectiveKind_all_to_all:
      addAllToAll(move, shape, operand, instruction.split_dimensions[operand],
                  dimension, n, moves);
      break;
    case ppx::CollectiveKind_permute:
      region.run = product(shape, 0, rank);
      for (uint32_t m = 0; m < n; ++m) {
        move.sources = {{m, operand, 0}};
        move.targets = {{receivers[m], operand, 0}};
        moves.push_back(move);
      }
      break;
    }
  }
  return moves;
}
