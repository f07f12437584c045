//===- Execute.cpp - the threads of a block: what instructions do ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each works on the lanes that are active, one after another: what they do to
// each other is found by the bytes that they touch (Shadow.h). Whoever a mask
// names has to be there: Block.cpp lets those who come wait for those who are
// on their way.
//
//===----------------------------------------------------------------------===//
#include "Block.h"

#include <algorithm>
#include <cstring>

using namespace ptx;

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
  case Op::Red:
    return atomic(i);
  case Op::Shfl:
    return shuffle(i);
  case Op::Vote:
  case Op::Activemask:
    return vote(i);
  case Op::Redux:
    return reduceWarp(i);
  case Op::Mov:
    return move(i);
  case Op::Selp:
    return select(i);
  case Op::Setp:
    return setPredicate(i);
  case Op::Trap:
    return fail(i, "a trap", active.front());
  default:
    break;
  }
  const size_t count = i.operands.size();
  if (count > 3 || i.results.size() != 1)
    return fail(i, "operands that are not known here");
  static const Operand none;
  Values x[3];
  for (size_t index = 0; index < 3; ++index)
    x[index] = valuesOf(index < count ? i.operands[index] : none);
  for (uint32_t lane : active) {
    auto bitsOf = [&](int index) {
      return x[index].bits[lane * x[index].step];
    };
    bool unknown = false;
    for (size_t index = 0; index < count; ++index)
      unknown |= x[index].unknown[lane * x[index].step] != 0;
    uint64_t result = 0;
    if (i.op == Op::Cvt)
      result = count == 2 ? convertPair(i, bitsOf(0), bitsOf(1))
                          : convert(i, bitsOf(0));
    else if (i.op == Op::Cvta) // to the global space, whose addresses are all
      result = bitsOf(0);
    else if (!compute(i, bitsOf(0), bitsOf(1), bitsOf(2), carries[lane],
                      launch.errors, result))
      return fail(i, "an instruction that is not known for this type", lane);
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
    uint32_t unknown = 0;
    const uint32_t some = (uint32_t(1) << bits / 8) - 1;
    for (size_t index = 0; index < from.size(); ++index) {
      uint64_t value = from[index].bits[lane * from[index].step];
      uint32_t mask = from[index].unknown[lane * from[index].step];
      if (from.size() > 1) {
        value &= (uint64_t(1) << bits) - 1;
        mask &= some;
      }
      packed |= value << (from.size() > 1 ? bits * index : 0);
      unknown |= mask << (from.size() > 1 ? bits / 8 * index : 0);
    }
    if (i.results.size() == 1) {
      setBytes(i.results[0], lane, packed, unknown);
      continue;
    }
    for (size_t index = 0; index < i.results.size(); ++index)
      setBytes(i.results[index], lane,
               (packed >> (bits * index)) & ((uint64_t(1) << bits) - 1),
               (unknown >> (bits / 8 * index)) & some);
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
  for (uint32_t lane : active)
    set(i.results[0], lane,
        compare(i, x.bits[lane * x.step], y.bits[lane * y.step]),
        x.unknown[lane * x.step] || y.unknown[lane * y.step]);
  return true;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

template <typename Function>
bool Block::together(const Instruction &i, const char *what, const Values &mask,
                     Function f) {
  std::vector<std::pair<uint64_t, bool>> results;
  uint32_t first = ~uint32_t(0), here = 0;
  for (uint32_t lane : active) {
    if (lane / kWarp * kWarp != first) {
      first = lane / kWarp * kWarp;
      here = activeMask(first);
    }
    uint32_t wanted = uint32_t(mask.bits[lane * mask.step]);
    if (mask.unknown[lane * mask.step])
      return fail(i, std::string(what) + " whose mask was never written", lane);
    if (!((wanted >> lane % kWarp) & 1))
      return fail(
          i, std::string(what) + " whose mask leaves out the thread itself",
          lane);
    if (threads - first < kWarp) // the last warp of a block may have few
      wanted &= (uint32_t(1) << (threads - first)) - 1;
    if (wanted & ~here)
      return fail(i,
                  std::string(what) + " that not all threads of its mask reach",
                  lane);
    auto &[bits, unknown] = results.emplace_back(0, false);
    if (!f(lane, wanted, bits, unknown))
      return false;
  }
  for (size_t index = 0; index < active.size(); ++index)
    set(i.results[0], active[index], results[index].first,
        results[index].second);
  return true;
}

bool Block::shuffle(const Instruction &i) {
  const Values value = valuesOf(i.operands[0]), by = valuesOf(i.operands[1]),
               bounds = valuesOf(i.operands[2]), mask = valuesOf(i.operands[3]);
  std::vector<bool> inside(threads);
  const auto take = [&](uint32_t lane, uint32_t wanted, uint64_t &bits,
                        bool &unknown) {
    if (by.unknown[lane * by.step] || bounds.unknown[lane * bounds.step])
      return fail(i, "a shuffle from a lane whose number was never written",
                  lane);
    const uint32_t self = lane % kWarp,
                   b = uint32_t(by.bits[lane * by.step]) & 31,
                   c = uint32_t(bounds.bits[lane * bounds.step]);
    const uint32_t segment = (c >> 8) & 31,
                   last = (self & segment) | (c & ~segment & 31);
    uint32_t from = i.shuffle == ShuffleMode::Butterfly
                        ? self ^ b
                        : (self & segment) | (b & ~segment & 31);
    inside[lane] = from <= last;
    from = inside[lane] ? from : self;
    if (!((wanted >> from) & 1))
      return fail(i, "a shuffle from a thread that is not there", lane);
    const uint32_t source = lane - self + from;
    bits = value.bits[source * value.step];
    unknown = value.unknown[source * value.step] != 0;
    return true;
  };
  if (!together(i, "a shuffle", mask, take))
    return false;
  for (size_t index = 0; i.results.size() > 1 && index < active.size(); ++index)
    set(i.results[1], active[index], inside[active[index]], false);
  return true;
}

bool Block::vote(const Instruction &i) {
  if (i.op == Op::Activemask) {
    for (uint32_t lane : active)
      set(i.results[0], lane, activeMask(lane / kWarp * kWarp), false);
    return true;
  }
  const Values condition = valuesOf(i.operands[0]);
  return together(
      i, "a vote", valuesOf(i.operands[1]),
      [&](uint32_t lane, uint32_t all, uint64_t &ballot, bool &unknown) {
        for (uint32_t other = 0; other < kWarp; ++other)
          if (all >> other & 1) {
            const size_t place =
                (lane / kWarp * kWarp + other) * condition.step;
            const bool is =
                bool(condition.bits[place] & 1) != i.operands[0].negated;
            ballot |= uint64_t(is) << other;
            unknown |= condition.unknown[place] != 0;
          }
        return true;
      });
}

bool Block::reduceWarp(const Instruction &i) {
  const Values value = valuesOf(i.operands[0]);
  Instruction combine = i;
  combine.op = i.combine;
  return together(
      i, "a reduction", valuesOf(i.operands[1]),
      [&](uint32_t lane, uint32_t all, uint64_t &result, bool &unknown) {
        bool isFirst = true;
        for (uint32_t other = 0; other < kWarp; ++other) {
          if (!(all >> other & 1))
            continue;
          const size_t place = (lane / kWarp * kWarp + other) * value.step;
          Carry none;
          if (isFirst)
            result = value.bits[place];
          else if (!compute(combine, result, value.bits[place], 0, none,
                            launch.errors, result))
            return fail(i, "a reduction that is not known here", lane);
          unknown |= value.unknown[place] != 0;
          isFirst = false;
        }
        return true;
      });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Block::Bytes Block::find(const Instruction &i, uint64_t address, uint32_t size,
                         uint32_t lane, bool writes) {
  Bytes result;
  const bool isAtomic = i.op == Op::Red;
  Space space = i.space;
  if (space == Space::Global && address >= kGlobalsBase)
    space = Space::Constant;
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
    const Moment now = momentOf(lane, isAtomic);
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
  Moment now = momentOf(lane, isAtomic);
  now.isNonCoherent = i.isNonCoherent;
  if (!(writes ? global.write(address, size, now, conflict)
               : global.read(address, size, now, conflict))) {
    fail(i, "race in global memory: " + conflict, lane);
    return {};
  }
  return result;
}

void Block::observe(const Instruction &i, const Values &base, uint32_t bytes) {
  if (!launch.observe || i.space != Space::Global)
    return;
  WarpAccess access{i.op != Op::Ld, bytes, {}};
  for (size_t index = 0; index < active.size(); ++index) {
    const uint32_t lane = active[index];
    access.addresses.push_back(base.bits[lane * base.step] + i.offset);
    if (index + 1 < active.size() && active[index + 1] / kWarp == lane / kWarp)
      continue;
    launch.observe(access);
    access.addresses.clear();
  }
}

bool Block::load(const Instruction &i) {
  const uint32_t bytes = bytesOf(i.type);
  const uint32_t size = bytes * i.results.size();
  Values base = valuesOf(i.operands[0]);
  observe(i, base, size);
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
      uint8_t unknown = 0;
      for (uint32_t byte = 0; found.written && byte < bytes; ++byte)
        unknown |= (found.written[index * bytes + byte] == std::byte(0))
                   << byte;
      // Where the sign was never written, nothing is known.
      if (isSigned(i.type) && unknown)
        unknown = 0xFF;
      setBytes(i.results[index], lane, extend(i.type, value), unknown);
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
  observe(i, base, bytes * count);
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
      const uint8_t unknown = values[index].unknown[lane * values[index].step];
      for (uint32_t byte = 0; byte < bytes; ++byte)
        found.written[index * bytes + byte] = std::byte(!(unknown >> byte & 1));
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
                 launch.errors, after))
      return fail(i, "a reduction that is not known here", lane);
    std::memcpy(found.data, &after, bytes);
    bool unknown = value.unknown[lane * value.step];
    for (uint32_t byte = 0; byte < bytes; ++byte)
      unknown |= found.written[byte] == std::byte(0);
    std::memset(found.written, unknown ? 0 : 1, bytes);
  }
  return true;
}
