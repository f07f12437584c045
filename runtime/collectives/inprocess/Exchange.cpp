//===- Exchange.cpp - the data movement of one collective -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Exchange.h"
#include "Reduce.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

using namespace pprt;
using namespace pprt::inprocess;

/// Small enough to balance over the members' threads and to stay in the
/// second-level cache, large enough that claiming a piece costs nothing.
static constexpr uint64_t kPieceElements = 1 << 15;

static uint64_t product(const std::vector<uint64_t> &shape, size_t begin,
                        size_t end) {
  return std::accumulate(shape.begin() + begin, shape.begin() + end,
                         uint64_t(1), std::multiplies<uint64_t>());
}

void Exchange::add(Piece piece, const std::vector<const std::byte *> &from,
                   const std::vector<std::byte *> &to) {
  piece.firstSource = uint32_t(sources.size());
  piece.sourceCount = uint32_t(from.size());
  piece.firstTarget = uint32_t(targets.size());
  piece.targetCount = uint32_t(to.size());
  const uint64_t width = elementSize(piece.element);
  const Region whole = piece.region;
  totalBytes += whole.outer * whole.middle * whole.run * width * from.size();
  if (whole.outer * whole.middle > 1) {
    sources.insert(sources.end(), from.begin(), from.end());
    targets.insert(targets.end(), to.begin(), to.end());
    pieces.push_back(piece);
    return;
  }
  // One run: cut it.
  for (uint64_t begin = 0; begin < whole.run; begin += kPieceElements) {
    piece.region.run = std::min(kPieceElements, whole.run - begin);
    piece.firstSource = uint32_t(sources.size());
    piece.firstTarget = uint32_t(targets.size());
    for (const std::byte *source : from)
      sources.push_back(source + begin * width);
    for (std::byte *target : to)
      targets.push_back(target + begin * width);
    pieces.push_back(piece);
  }
}

Exchange Exchange::transfer(const std::byte *source, std::byte *destination,
                            uint64_t bytes) {
  Exchange exchange;
  Piece piece = {};
  piece.element = ppx::ElementType_i1; // one byte
  piece.region.run = bytes;
  exchange.add(piece, {source}, {destination});
  return exchange;
}

Exchange Exchange::collective(const ppx::InstructionT &instruction,
                              const std::vector<Participant> &members,
                              const std::vector<uint32_t> &receivers) {
  Exchange exchange;
  const uint64_t n = members.size();
  const size_t operands = members[0].inputs.size();
  for (size_t operand = 0; operand < operands; ++operand) {
    const ppx::SlotT &in = *members[0].inputSlots[operand];
    const std::vector<uint64_t> &shape = in.shape;
    const uint64_t width = elementSize(in.element);
    Piece piece = {};
    piece.element = in.element;
    piece.reduction = instruction.reduction;
    Region &region = piece.region;
    const size_t rank = shape.size();
    const size_t dimension =
        instruction.dimensions.empty() ? 0 : instruction.dimensions[operand];
    std::vector<const std::byte *> inputs;
    std::vector<std::byte *> outputs;
    for (const Participant &member : members) {
      inputs.push_back(member.inputs[operand]);
      outputs.push_back(member.outputs[operand]);
    }
    switch (instruction.collective) {
    case ppx::CollectiveKind_all_reduce:
      region.run = product(shape, 0, rank);
      exchange.add(piece, inputs, outputs);
      break;
    case ppx::CollectiveKind_all_gather:
      // Member m's input is block m of every member's output.
      region.outer = product(shape, 0, dimension);
      region.run = product(shape, dimension, rank);
      region.sourceOuter = region.run;
      region.targetOuter = n * region.run;
      for (uint64_t m = 0; m < n; ++m) {
        std::vector<std::byte *> blocks = outputs;
        for (std::byte *&block : blocks)
          block += m * region.run * width;
        exchange.add(piece, {inputs[m]}, blocks);
      }
      break;
    case ppx::CollectiveKind_reduce_scatter:
      // Member m's output is the reduction of block m of every input.
      region.outer = product(shape, 0, dimension);
      region.run = product(shape, dimension, rank) / n;
      region.sourceOuter = n * region.run;
      region.targetOuter = region.run;
      for (uint64_t m = 0; m < n; ++m) {
        std::vector<const std::byte *> blocks = inputs;
        for (const std::byte *&block : blocks)
          block += m * region.run * width;
        exchange.add(piece, blocks, {outputs[m]});
      }
      break;
    case ppx::CollectiveKind_all_to_all: {
      // Part m of member j's input, cut along `split`, is part j of member m's
      // output along `dimension`. The dimensions before the first of the two
      // are the outer loop, those between are the middle one.
      const size_t split = instruction.split_dimensions[operand];
      const uint64_t total = product(shape, 0, rank);
      if (total == 0)
        break;
      region.outer = product(shape, 0, std::min(split, dimension));
      const uint64_t part = total / n;
      uint64_t sourcePart, targetPart;
      if (split <= dimension) {
        region.run =
            product(shape, dimension, rank) / (split == dimension ? n : 1);
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
      for (uint64_t j = 0; j < n; ++j)
        for (uint64_t m = 0; m < n; ++m)
          exchange.add(piece, {inputs[j] + m * sourcePart * width},
                       {outputs[m] + j * targetPart * width});
      break;
    }
    case ppx::CollectiveKind_permute:
      region.run = product(shape, 0, rank);
      for (uint64_t m = 0; m < n; ++m)
        exchange.add(piece, {inputs[m]}, {outputs[receivers[m]]});
      break;
    }
  }
  return exchange;
}

void Exchange::run(uint32_t index) const {
  const Piece &piece = pieces[index];
  const Region &region = piece.region;
  const uint64_t width = elementSize(piece.element);
  const std::byte *const *from = &sources[piece.firstSource];
  std::byte *const *to = &targets[piece.firstTarget];
  for (uint64_t outer = 0; outer < region.outer; ++outer)
    for (uint64_t middle = 0; middle < region.middle; ++middle) {
      const uint64_t source =
          (outer * region.sourceOuter + middle * region.sourceMiddle) * width;
      const uint64_t target =
          (outer * region.targetOuter + middle * region.targetMiddle) * width;
      if (piece.sourceCount > 1) {
        reduce(piece.element, piece.reduction, from, piece.sourceCount, source,
               to, piece.targetCount, target, region.run);
        continue;
      }
      for (uint32_t t = 0; t < piece.targetCount; ++t)
        if (to[t] + target != from[0] + source)
          std::memcpy(to[t] + target, from[0] + source, region.run * width);
    }
}
