//===- Execute.cpp - the threads of a block: what instructions do ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each works on the lanes that are active, one after another: what they do to
// each other is found by the bytes that they touch (Shadow.h).
//
//===----------------------------------------------------------------------===//
#include "Block.h"

#include <algorithm>
#include <cstring>

using namespace ptx;

static constexpr uint32_t kWarp = 32;

bool Block::execute(const Instruction &i) {
  // Under a predicate, fewer lanes are active while it runs.
  if (i.guard.kind == Operand::None)
    return scalar(i);
  Values guard = valuesOf(i.guard);
  std::vector<uint32_t> all = active;
  std::vector<uint32_t> some;
  for (uint32_t lane : all) {
    if (guard.unknown[lane * guard.step])
      return fail(i, "a value that was never written decides what to do", lane);
    const bool runs =
        bool(guard.bits[lane * guard.step] & 1) != i.guard.negated;
    isActive[lane] = runs;
    if (runs)
      some.push_back(lane);
  }
  active = some;
  const bool succeeded = active.empty() || scalar(i);
  active = all;
  for (uint32_t lane : all)
    isActive[lane] = 1;
  return succeeded;
}

bool Block::scalar(const Instruction &i) {
  switch (i.op) {
  case Op::Ld:
    return load(i);
  case Op::St:
    return store(i);
  case Op::Atom:
  case Op::Red:
    return atomic(i);
  case Op::Shfl:
    return shuffle(i);
  case Op::Vote:
  case Op::Activemask:
    return vote(i);
  case Op::BarWarp:
    return warpBarrier(i);
  case Op::Mov:
    return move(i);
  case Op::Selp:
    return select(i);
  case Op::Setp:
  case Op::Set:
    return setPredicate(i);
  case Op::Cvta:
    return convertAddress(i);
  case Op::Membar:
    return true;
  case Op::Trap:
    return fail(i, "a trap", active.front());
  default:
    break;
  }
  const size_t count = i.operands.size();
  if (count > 4 || i.results.size() != 1)
    return fail(i, "operands that are not known here");
  static const Operand none;
  Values x[4];
  for (size_t index = 0; index < 4; ++index)
    x[index] = valuesOf(index < count ? i.operands[index] : none);
  // bf16x2 takes its halves from two numbers, the first one on top.
  const bool packs = i.op == Op::Cvt && i.type == Type::BF16x2;
  for (uint32_t lane : active) {
    auto bitsOf = [&](int index) {
      return x[index].bits[lane * x[index].step];
    };
    bool unknown = false;
    for (size_t index = 0; index < count; ++index)
      unknown |= x[index].unknown[lane * x[index].step] != 0;
    uint64_t result = 0;
    if (packs) {
      result = uint32_t(toBFloat(double(toFloat(bitsOf(0))))) << 16 |
               toBFloat(double(toFloat(bitsOf(1))));
    } else if (i.op == Op::Cvt) {
      result = convert(i, bitsOf(0));
    } else if (i.op == Op::Bfi) {
      const uint32_t bits = bytesOf(i.type) * 8, position = bitsOf(2) & 255,
                     length = bitsOf(3) & 255;
      result = bitsOf(1);
      for (uint32_t bit = 0; bit < length && position + bit < bits; ++bit) {
        const uint64_t one = uint64_t(1) << (position + bit);
        result = (bitsOf(0) >> bit) & 1 ? result | one : result & ~one;
      }
    } else if (!compute(i, bitsOf(0), bitsOf(1), bitsOf(2), carries[lane],
                        approximation, result)) {
      return fail(i, "an instruction that is not known for this type", lane);
    }
    set(i.results[0], lane, result, unknown);
  }
  return true;
}

bool Block::move(const Instruction &i) {
  std::vector<Values> from;
  for (const Operand &operand : i.operands)
    from.push_back(valuesOf(operand));
  const unsigned bits =
      bytesOf(i.type) * 8 / std::max(i.results.size(), i.operands.size());
  for (uint32_t lane : active) {
    uint64_t packed = 0;
    bool unknown = false;
    for (size_t index = 0; index < from.size(); ++index) {
      uint64_t value = from[index].bits[lane * from[index].step];
      if (from.size() > 1)
        value &= (uint64_t(1) << bits) - 1;
      packed |= value << (from.size() > 1 ? bits * index : 0);
      unknown |= from[index].unknown[lane * from[index].step] != 0;
    }
    if (i.results.size() == 1) {
      set(i.results[0], lane, packed, unknown);
      continue;
    }
    for (size_t index = 0; index < i.results.size(); ++index)
      set(i.results[index], lane,
          (packed >> (bits * index)) & ((uint64_t(1) << bits) - 1), unknown);
  }
  return true;
}

bool Block::select(const Instruction &i) {
  Values x = valuesOf(i.operands[0]), y = valuesOf(i.operands[1]),
         condition = valuesOf(i.operands[2]);
  for (uint32_t lane : active) {
    const bool isFirst = (condition.bits[lane * condition.step] & 1) != 0;
    Values &chosen = isFirst ? x : y;
    set(i.results[0], lane, chosen.bits[lane * chosen.step],
        condition.unknown[lane * condition.step] ||
            chosen.unknown[lane * chosen.step]);
  }
  return true;
}

bool Block::setPredicate(const Instruction &i) {
  Values x = valuesOf(i.operands[0]), y = valuesOf(i.operands[1]);
  const bool combines = i.operands.size() > 2;
  Values z = valuesOf(i.operands[combines ? 2 : 0]);
  for (uint32_t lane : active) {
    bool result = compare(i, x.bits[lane * x.step], y.bits[lane * y.step]);
    bool other = !result;
    bool unknown = x.unknown[lane * x.step] || y.unknown[lane * y.step];
    if (combines) {
      const bool with =
          bool(z.bits[lane * z.step] & 1) != i.operands[2].negated;
      auto join = [&](bool value) {
        return i.combine == Op::And  ? value && with
               : i.combine == Op::Or ? value || with
                                     : value != with;
      };
      result = join(result);
      other = join(other);
      unknown |= z.unknown[lane * z.step] != 0;
    }
    set(i.results[0], lane,
        i.op == Op::Set && result
            ? (i.from == Type::F32 ? fromFloat(1) : ~uint32_t(0))
            : result,
        unknown);
    if (i.results.size() > 1)
      set(i.results[1], lane, other, unknown);
  }
  return true;
}

/// From a space's own addresses to those that name the space, or back.
bool Block::convertAddress(const Instruction &i) {
  Values x = valuesOf(i.operands[0]);
  const uint64_t base = i.space == Space::Shared  ? kSharedBase
                        : i.space == Space::Local ? kLocalBase
                                                  : 0;
  for (uint32_t lane : active) {
    uint64_t address = x.bits[lane * x.step];
    // `to`: the opcode has it, and an address of the space is beyond its base.
    address = address >= base && base != 0 ? address - base : address + base;
    set(i.results[0], lane, address, x.unknown[lane * x.step]);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Block::Bytes Block::find(const Instruction &i, uint64_t address, uint32_t size,
                         uint32_t lane, bool writes) {
  Bytes result;
  Space space = i.space;
  if (space == Space::Generic || space == Space::Global) {
    const uint64_t window = address >> 60;
    if (window == kSharedBase >> 60 && space == Space::Generic) {
      space = Space::Shared;
      address -= kSharedBase;
    } else if (window == kLocalBase >> 60 && space == Space::Generic) {
      space = Space::Local;
      address -= kLocalBase;
    } else {
      space = window == kGlobalsBase >> 60 ? Space::Constant : Space::Global;
    }
  }
  auto outside = [&](const std::string &what) {
    fail(i,
         "expects an address inside of " + what + ", got " +
             std::to_string(address) + " for " + std::to_string(size) +
             " bytes",
         lane);
    return Bytes();
  };
  if (address % size != 0) {
    fail(i,
         "expects an address that is a multiple of " + std::to_string(size) +
             ", got " + std::to_string(address),
         lane);
    return {};
  }
  std::string conflict;
  switch (space) {
  case Space::Shared: {
    if (address + size > shared.size())
      return outside("shared memory");
    const Moment now = momentOf(lane);
    if (!(writes ? sharedShadow->write(address, size, now, conflict)
                 : sharedShadow->read(address, size, now, conflict))) {
      fail(i, "race in shared memory: " + conflict, lane);
      return {};
    }
    return {shared.data() + address, sharedWritten.data() + address};
  }
  case Space::Local: {
    if (address + size > function.localBytes)
      return outside("the thread's local memory");
    const size_t base = size_t(function.localBytes) * lane + address;
    return {local.data() + base, localWritten.data() + base};
  }
  case Space::Constant:
    if (address < kGlobalsBase ||
        address - kGlobalsBase + size > program.globals.size())
      return outside("the module's variables");
    if (writes) {
      fail(i, "a variable of the module is written", lane);
      return {};
    }
    return {const_cast<std::byte *>(program.globals.data()) + address -
                kGlobalsBase,
            nullptr};
  default:
    break;
  }
  std::string message;
  result.data = memory.find(address, size, message);
  if (!result.data) {
    fail(i, message, lane);
    return {};
  }
  result.written = memory.isWritten(address);
  const Moment now = momentOf(lane, i.op == Op::Atom || i.op == Op::Red);
  if (!(writes ? global.write(address, size, now, conflict)
               : global.read(address, size, now, conflict))) {
    fail(i, "race in global memory: " + conflict, lane);
    return {};
  }
  (writes ? counters.globalBytesWritten : counters.globalBytesRead) += size;
  return result;
}

bool Block::load(const Instruction &i) {
  const uint32_t bytes = bytesOf(i.type);
  const uint32_t size = bytes * i.results.size();
  Values base = valuesOf(i.operands[0]);
  for (uint32_t lane : active) {
    if (base.unknown[lane * base.step])
      return fail(i, "an address that was never written", lane);
    const uint64_t address = base.bits[lane * base.step] + i.offset;
    Bytes found;
    if (i.space == Space::Parameter) {
      if (address + size > launch.parameters.size())
        return fail(i, "expects a parameter of the launch", lane);
      found.data = const_cast<std::byte *>(launch.parameters.data()) + address;
    } else {
      found = find(i, address, size, lane, /*writes=*/false);
      if (!found.data)
        return false;
    }
    for (size_t index = 0; index < i.results.size(); ++index) {
      uint64_t value = 0;
      std::memcpy(&value, found.data + index * bytes, bytes);
      bool unknown = false;
      for (uint32_t byte = 0; found.written && byte < bytes; ++byte)
        unknown |= found.written[index * bytes + byte] == std::byte(0);
      set(i.results[index], lane, extend(i.type, value), unknown);
    }
  }
  return true;
}

bool Block::store(const Instruction &i) {
  const uint32_t bytes = bytesOf(i.type);
  const size_t count = i.operands.size() - 1;
  Values base = valuesOf(i.operands[0]);
  std::vector<Values> values;
  for (size_t index = 0; index < count; ++index)
    values.push_back(valuesOf(i.operands[1 + index]));
  for (uint32_t lane : active) {
    if (base.unknown[lane * base.step])
      return fail(i, "an address that was never written", lane);
    const uint64_t address = base.bits[lane * base.step] + i.offset;
    Bytes found = find(i, address, bytes * count, lane, /*writes=*/true);
    if (!found.data)
      return false;
    for (size_t index = 0; index < count; ++index) {
      const uint64_t value = values[index].bits[lane * values[index].step];
      std::memcpy(found.data + index * bytes, &value, bytes);
      const bool unknown = values[index].unknown[lane * values[index].step];
      std::memset(found.written + index * bytes, unknown ? 0 : 1, bytes);
    }
  }
  return true;
}

bool Block::atomic(const Instruction &i) {
  const uint32_t bytes = bytesOf(i.type);
  Values base = valuesOf(i.operands[0]), value = valuesOf(i.operands[1]);
  Instruction combine = i;
  combine.op = i.combine;
  combine.type = i.type == Type::B32   ? Type::U32
                 : i.type == Type::B64 ? Type::U64
                                       : i.type;
  if (combine.op == Op::Mov)
    return fail(i, "an atomic operation that is not known here");
  for (uint32_t lane : active) {
    if (base.unknown[lane * base.step])
      return fail(i, "an address that was never written", lane);
    const uint64_t address = base.bits[lane * base.step] + i.offset;
    Bytes found = find(i, address, bytes, lane, /*writes=*/true);
    if (!found.data)
      return false;
    uint64_t before = 0, after = 0;
    std::memcpy(&before, found.data, bytes);
    Carry none;
    if (!compute(combine, before, value.bits[lane * value.step], 0, none,
                 approximation, after))
      return fail(i, "an atomic operation that is not known here", lane);
    std::memcpy(found.data, &after, bytes);
    if (i.op == Op::Atom)
      set(i.results[0], lane, extend(i.type, before),
          found.written[0] == std::byte(0));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

bool Block::shuffle(const Instruction &i) {
  Values value = valuesOf(i.operands[0]), by = valuesOf(i.operands[1]),
         bounds = valuesOf(i.operands[2]), mask = valuesOf(i.operands[3]);
  std::vector<std::pair<uint64_t, bool>> results;
  std::vector<bool> inside;
  for (uint32_t lane : active) {
    const uint32_t wanted = uint32_t(mask.bits[lane * mask.step]),
                   there = activeMask(lane), self = lane % kWarp;
    if (!((wanted >> self) & 1))
      return fail(i, "a shuffle whose mask leaves out the thread itself", lane);
    const uint32_t first = lane - self;
    const uint32_t exists = threads - first >= kWarp
                                ? ~uint32_t(0)
                                : (uint32_t(1) << (threads - first)) - 1;
    if ((wanted & exists) & ~there)
      return fail(i, "a shuffle that not all threads of its mask reach", lane);
    const uint32_t b = uint32_t(by.bits[lane * by.step]) & 31,
                   c = uint32_t(bounds.bits[lane * bounds.step]);
    const uint32_t clamp = c & 31, segment = (c >> 8) & 31;
    const int maxLane = (self & segment) | (clamp & ~segment & 31);
    const int minLane = self & segment;
    int from = self;
    bool isInside = false;
    switch (i.shuffle) {
    case ShuffleMode::Up:
      from = int(self) - int(b);
      isInside = from >= maxLane;
      break;
    case ShuffleMode::Down:
      from = self + b;
      isInside = from <= maxLane;
      break;
    case ShuffleMode::Butterfly:
      from = self ^ b;
      isInside = from <= maxLane;
      break;
    case ShuffleMode::Index:
      from = minLane | (b & ~segment & 31);
      isInside = from <= maxLane;
      break;
    }
    if (!isInside)
      from = self;
    if (!((there >> from) & 1))
      return fail(i, "a shuffle from a thread that is not there", lane);
    const uint32_t source = first + from;
    results.push_back({value.bits[source * value.step],
                       value.unknown[source * value.step] != 0});
    inside.push_back(isInside);
  }
  for (size_t index = 0; index < active.size(); ++index) {
    set(i.results[0], active[index], results[index].first,
        results[index].second);
    if (i.results.size() > 1)
      set(i.results[1], active[index], inside[index], false);
  }
  return true;
}

bool Block::vote(const Instruction &i) {
  std::vector<uint64_t> results;
  for (uint32_t lane : active) {
    const uint32_t there = activeMask(lane);
    if (i.op == Op::Activemask) {
      results.push_back(there);
      continue;
    }
    Values condition = valuesOf(i.operands[0]), mask = valuesOf(i.operands[1]);
    const uint32_t wanted = uint32_t(mask.bits[lane * mask.step]);
    const uint32_t first = lane / kWarp * kWarp;
    const uint32_t exists = threads - first >= kWarp
                                ? ~uint32_t(0)
                                : (uint32_t(1) << (threads - first)) - 1;
    if ((wanted & exists) & ~there)
      return fail(i, "a vote that not all threads of its mask reach", lane);
    uint32_t ballot = 0;
    for (uint32_t other = 0; other < kWarp; ++other)
      if ((wanted & there) >> other & 1)
        ballot |=
            uint32_t(bool(condition.bits[(first + other) * condition.step] &
                          1) != i.operands[0].negated)
            << other;
    const uint32_t all = wanted & there;
    results.push_back(i.vote == Vote::Ballot ? ballot
                      : i.vote == Vote::Any  ? ballot != 0
                      : i.vote == Vote::All  ? ballot == all
                                             : ballot == 0 || ballot == all);
  }
  for (size_t index = 0; index < active.size(); ++index)
    set(i.results[0], active[index], results[index], false);
  return true;
}

bool Block::warpBarrier(const Instruction &i) {
  Values mask = valuesOf(i.operands[0]);
  std::vector<uint8_t> warps(warpEpochs.size());
  for (uint32_t lane : active) {
    const uint32_t first = lane / kWarp * kWarp;
    const uint32_t exists = threads - first >= kWarp
                                ? ~uint32_t(0)
                                : (uint32_t(1) << (threads - first)) - 1;
    if ((uint32_t(mask.bits[lane * mask.step]) & exists) & ~activeMask(lane))
      return fail(i, "a warp's barrier that not all threads of its mask reach",
                  lane);
    warps[lane / kWarp] = 1;
  }
  for (size_t warp = 0; warp < warps.size(); ++warp)
    warpEpochs[warp] += warps[warp];
  return true;
}
