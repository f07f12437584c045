//===- Random.cpp - Philox in StableHLO -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10, as pp.random_bits defines it, so that dropout is the same
// whoever compiles it. StableHLO's generator has an order of counters of its
// own. Words of 32 bits are kept in 64, where products do not overflow.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

namespace {

/// Arithmetic on words, all of one shape.
struct Words {
  HloWriter &out;
  RankedTensorType type;

  Hlo constant(uint64_t value) { return out.constant(type, int64_t(value)); }
  Hlo low(const Hlo &word) {
    return out.same("and", {word, constant(0xFFFFFFFF)});
  }
  Hlo high(const Hlo &word) {
    return out.same("shift_right_logical", {word, constant(32)});
  }
  Hlo multiply(const Hlo &word, uint64_t factor) {
    return out.same("multiply", {word, constant(factor)});
  }
  Hlo exclusiveOr(const Hlo &a, const Hlo &b, const Hlo &c) {
    return out.same("xor", {out.same("xor", {a, b}), c});
  }
  /// A scalar of 32 or 64 bits, with its sign, for all elements.
  Hlo spread(const Hlo &scalar) {
    Hlo wide = out.convert(scalar, out.integer(64));
    return out.broadcast(out.bitcast(wide, out.unsignedInteger(64)), {},
                         type.getShape());
  }
};

} // namespace

/// The global row-major index of every element.
static Hlo writeIndex(RandomBitsOp op, ArrayRef<Hlo> offsets, Words &words) {
  HloWriter &out = words.out;
  ArrayRef<int64_t> global =
      op.getGlobalShape().value_or(words.type.getShape());
  Hlo index = words.constant(0);
  int64_t stride = 1;
  for (size_t dim = global.size(); dim-- > 0;) {
    Hlo place = out.iota(words.type, dim);
    if (!offsets.empty())
      place = out.same("add", {place, words.spread(offsets[dim])});
    index = out.same("add", {index, words.multiply(place, stride)});
    stride *= global[dim];
  }
  return index;
}

Hlo hlo::writeRandomBits(RandomBitsOp op, ArrayRef<Hlo> operands,
                         HloWriter &out) {
  Words words{out, RankedTensorType::get(resultType(op).getShape(),
                                         out.unsignedInteger(64))};
  Hlo seed = words.spread(operands[0]);
  Hlo index = writeIndex(op, operands.drop_front(2), words);
  Hlo counter[] = {words.low(index), words.high(index),
                   words.low(words.spread(operands[1])),
                   words.constant(uint32_t(op.getStream()))};
  Hlo keys[] = {words.low(seed), words.high(seed)};
  for (int round = 0; round < 10; ++round) {
    Hlo first = words.multiply(counter[0], 0xD2511F53);
    Hlo second = words.multiply(counter[2], 0xCD9E8D57);
    Hlo next[] = {words.exclusiveOr(words.high(second), counter[1], keys[0]),
                  words.low(second),
                  words.exclusiveOr(words.high(first), counter[3], keys[1]),
                  words.low(first)};
    std::copy(std::begin(next), std::end(next), counter);
    keys[0] = words.low(out.same("add", {keys[0], words.constant(0x9E3779B9)}));
    keys[1] = words.low(out.same("add", {keys[1], words.constant(0xBB67AE85)}));
  }
  return out.bitcast(out.convert(counter[0], out.unsignedInteger(32)),
                     out.integer(32));
}
