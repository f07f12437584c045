//===- Lanes.cpp - threads that work on one row together ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

int64_t Lanes::countBytes(Type element, int64_t count) {
  return llvm::alignTo(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) *
                           count,
                       kVectorBytes);
}

int64_t Lanes::countHandedBytes(int64_t lanes, int64_t columns, int64_t bytes) {
  return lanes <= kWarp
             ? 0
             : 2 * llvm::alignTo(lanes / kWarp * columns * bytes, kVectorBytes);
}

Lanes::Lanes(Elements &elements, Value thread, int64_t block, int64_t lanes,
             int64_t handedBytes)
    : e(elements), block(block), lanes(lanes), handedBytes(handedBytes) {
  Index all = e.indices.known(thread, block);
  self = e.indices.remainder(all, lanes);
  rowOfBlock = e.indices.divide(all, lanes);
}

/// The value of the lane `distance` away, within a warp, in words of 32 bits.
Value Lanes::exchange(Value value, int64_t distance) {
  Type type = value.getType(), i32 = e.b.getI32Type();
  auto literal = [&](int64_t number) {
    return arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(number));
  };
  SmallVector<Value> words;
  for (Value word :
       LLVM::decomposeValue(e.b, e.loc, value, type.isF32() ? type : i32))
    words.push_back(NVVM::ShflOp::create(
        e.b, e.loc, word.getType(), literal(-1), word, literal(distance),
        literal(kWarp - 1), NVVM::ShflKind::bfly, UnitAttr()));
  return LLVM::composeValue(e.b, e.loc, words, type);
}

void Lanes::meet() { NVVM::Barrier0Op::create(e.b, e.loc); }

Value Lanes::allocate(Type element, int64_t count) {
  const int64_t bytes = countBytes(element, count * (block / lanes));
  const std::string name = "shared" + std::to_string(usedBytes);
  usedBytes += bytes;
  assert(usedBytes + handedBytes <= kSharedBytes && "of RowMapping.cpp");
  return e.getRoom(name, bytes);
}

Value Lanes::loadShared(Value room, Type element, const Index &index) {
  return e.load(room, element, e.at({index.bound}, ArrayRef(index))).front();
}

void Lanes::storeShared(Value room, Value value, const Index &index) {
  e.store(room, value.getType(), e.at({index.bound}, ArrayRef(index)), value);
}

Value Lanes::isBelow(const Index &index, int64_t end) {
  return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult,
                               e.indices.get(index), e.indices.getLiteral(end));
}

/// Over lanes of a warp that are `apart` from each other.
Scalars Lanes::combineWarp(const Reducer &reducer, Scalars mine,
                           int64_t apart) {
  for (int64_t distance = std::min(lanes, kWarp) / 2; distance >= apart;
       distance /= 2) {
    Scalars theirs;
    for (Value value : mine)
      theirs.push_back(exchange(value, distance));
    mine = reducer.combine(mine, theirs);
  }
  return mine;
}

SmallVector<Value> Lanes::getRooms(TypeRange types, int64_t count) {
  SmallVector<Value> rooms;
  int64_t offset = isSecondRoom ? handedBytes / 2 : 0;
  isSecondRoom = !isSecondRoom;
  for (Type type : types) {
    Value room = e.getRoom("handed", handedBytes);
    rooms.push_back(LLVM::GEPOp::create(e.b, e.loc, room.getType(),
                                        e.b.getI8Type(), room,
                                        ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                                        LLVM::GEPNoWrapFlags::inbounds));
    offset += count * std::max<int64_t>(
                          llvm::divideCeil(type.getIntOrFloatBitWidth(), 8), 4);
  }
  return rooms;
}

Scalars Lanes::combineWarps(const Reducer &reducer, ArrayRef<Value> rooms,
                            TypeRange types, const Index &first,
                            int64_t stride) {
  Scalars all;
  for (int64_t number = 0; number < lanes / kWarp; ++number) {
    Index from = e.indices.add(e.indices.literal(number * stride), first);
    Scalars next;
    for (auto [room, type] : llvm::zip_equal(rooms, types))
      next.push_back(loadShared(room, type, from));
    all = number == 0 ? next : reducer.combine(all, next);
  }
  return all;
}

Scalars Lanes::combine(const Reducer &reducer, Scalars mine) {
  mine = combineWarp(reducer, std::move(mine), 1);
  if (lanes <= kWarp)
    return mine;
  const SmallVector<Type> types(ValueRange(mine).getTypes());
  SmallVector<Value> rooms = getRooms(types, lanes / kWarp);
  Index warp = e.indices.divide(self, kWarp),
        inWarp = e.indices.remainder(self, kWarp);
  e.choose(
      isBelow(inWarp, 1), {},
      [&]() -> Scalars {
        for (auto [room, value] : llvm::zip_equal(rooms, mine))
          storeShared(room, value, warp);
        return {};
      },
      [] { return Scalars(); });
  meet();
  return combineWarps(reducer, rooms, types, IndexBuilder::literal(0), 1);
}

void Lanes::combineApart(
    const Reducer &reducer, Scalars mine, int64_t apart, int64_t step,
    llvm::function_ref<void(const Index &column, Scalars)> take) {
  const size_t parts = reducer.start.size();
  auto partsOf = [&](int64_t number) {
    return Scalars(ArrayRef(mine).slice(number * parts, parts));
  };
  for (int64_t number = 0; number < step; ++number)
    llvm::copy(combineWarp(reducer, partsOf(number), apart),
               mine.begin() + number * parts);
  Index inWarp = e.indices.remainder(self, kWarp),
        column = e.indices.multiply(e.indices.remainder(inWarp, apart), step);
  auto forEachOfStep =
      [&](const Index &first,
          llvm::function_ref<void(const Index &, Scalars)> body) {
        for (int64_t number = 0; number < step; ++number)
          body(e.indices.add(first, e.indices.literal(number)),
               partsOf(number));
      };
  if (lanes <= kWarp)
    return e.onlyIf(isBelow(self, apart), [&] { forEachOfStep(column, take); });
  const int64_t warps = lanes / kWarp, columns = apart * step;
  const SmallVector<Type> types(
      ValueRange(ArrayRef(mine).take_front(parts)).getTypes());
  SmallVector<Value> rooms = getRooms(types, warps * columns);
  Index place = e.indices.add(
      e.indices.multiply(e.indices.divide(self, kWarp), columns), column);
  e.onlyIf(isBelow(inWarp, apart), [&] {
    forEachOfStep(place, [&](const Index &at, Scalars values) {
      for (auto [room, value] : llvm::zip_equal(rooms, values))
        storeShared(room, value, at);
    });
  });
  meet();
  for (int64_t base = 0; base < columns; base += lanes) {
    Index mineNow = e.indices.add(IndexBuilder::literal(base), self);
    e.onlyIf(isBelow(mineNow, columns), [&] {
      Index now = mineNow;
      now.bound = std::min(now.bound, columns);
      take(now, combineWarps(reducer, rooms, types, now, columns));
    });
  }
}
