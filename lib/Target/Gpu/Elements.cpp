//===- Elements.cpp - the elements of a kernel's values -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Elements.h"
#include "ElementRules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "pp/IR/Values.h"
#include <numeric>

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

const Place &Elements::intern(Place place) {
  std::vector<std::uintptr_t> key;
  auto addIndex = [&](const Index &index) {
    key.push_back(
        reinterpret_cast<std::uintptr_t>(index.value.getAsOpaquePointer()));
    key.push_back(index.literal);
  };
  key.push_back(place.run);
  key.push_back(place.crosses);
  for (int64_t size : place.shape)
    key.push_back(size);
  for (const Index &index : place.indices)
    addIndex(index);
  addIndex(place.linear);
  return places.try_emplace(std::move(key), std::move(place)).first->second;
}

static bool isDense(ArrayRef<int64_t> shape, int run) {
  return run >= 0 && llvm::all_of(shape.drop_front(run + 1),
                                  [](int64_t size) { return size == 1; });
}

const Place &Elements::at(ArrayRef<int64_t> shape, ArrayRef<Index> where,
                          int run) {
  Place place;
  place.shape.assign(shape.begin(), shape.end());
  place.indices.assign(where.begin(), where.end());
  place.linear = indices.linearize(where, shape);
  place.run = run;
  place.isDense = isDense(shape, run);
  return intern(std::move(place));
}

const Place &Elements::at(ArrayRef<int64_t> shape, const Index &linear,
                          bool isRun) {
  Place place;
  place.shape.assign(shape.begin(), shape.end());
  place.indices = indices.delinearize(linear, shape);
  place.linear = linear;
  if (isRun && width > 1 && !shape.empty()) {
    int last = int(shape.size()) - 1;
    while (last > 0 && shape[last] == 1)
      --last;
    place.run = last;
    place.isDense = true;
    place.crosses = shape[last] % width != 0 || !linear.divides(width);
  }
  return intern(std::move(place));
}

const Place &Elements::one(const Place &run, int64_t number) {
  if (run.crosses)
    return at(run.shape, indices.add(run.linear, indices.literal(number)));
  Indices where = run.indices;
  where[run.run] = indices.add(where[run.run], indices.literal(number));
  return at(run.shape, where);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Scalars Elements::get(Value value, const Place &place,
                      const RowLayout *layout) {
  const std::pair<Value, const void *> key(value, &place);
  if (Scalars before = known.lookup(key); !before.empty())
    return before;
  Scalars result;
  if (++numAsked > kMostAsked) {
    Type element = ranked(value).getElementType();
    return Scalars(count(place), LLVM::PoisonOp::create(b, loc, element));
  }
  if (isa<BlockArgument>(value)) {
    result =
        load(addresses.lookup(value), ranked(value).getElementType(), place);
  } else {
    if (lookup)
      result = lookup(value, place, layout);
    Operation *op = value.getDefiningOp();
    if (result.empty()) {
      Question question{*this, op, place, {}};
      if (layout)
        if (auto layouts = operandLayouts(op, *layout))
          question.operandLayouts = *layouts;
      if (auto elements = applyRule(question)) {
        result = std::move(*elements);
      } else {
        unknown = unknown ? unknown : op;
        Type element = ranked(value).getElementType();
        Value none = LLVM::PoisonOp::create(b, loc, element);
        result.assign(count(place), none);
      }
    }
  }
  if (result.empty())
    for (int64_t number = 0; number < width; ++number)
      result.push_back(get(value, one(place, number), layout).front());
  known.insert(key, result);
  return result;
}

Scalars Elements::once(Value value, llvm::function_ref<Scalars()> compute) {
  const std::pair<Value, const void *> key(value, nullptr);
  Scalars result = known.lookup(key);
  if (result.empty()) {
    result = compute();
    known.insert(key, result);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// i1 takes a byte.
static Type inMemory(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}

static Value addressOf(OpBuilder &b, Location loc, Value base, Type type,
                       Value index) {
  return LLVM::GEPOp::create(b, loc, base.getType(), type, base,
                             ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}

static Value fromMemory(OpBuilder &b, Location loc, Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  Value zero =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(value.getType(), 0));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

static Value toMemory(OpBuilder &b, Location loc, Value value) {
  if (!value.getType().isInteger(1))
    return value;
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
}

Scalars Elements::load(Value address, Type element, const Place &place) {
  Type type = inMemory(element);
  const int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  if (place.run < 0) {
    Value where = addressOf(b, loc, address, type, indices.get(place.linear));
    return {fromMemory(b, loc, LLVM::LoadOp::create(b, loc, type, where, bytes),
                       element)};
  }
  const int64_t piece = std::min(width, kVectorBytes / bytes);
  if (!place.isDense || !place.linear.divides(piece))
    return {};
  if (element.isBF16() && piece % 2 == 0)
    return loadHalves(address, element, place, piece);
  auto vector = VectorType::get(piece, type);
  Scalars elements;
  for (int64_t first = 0; first < width; first += piece) {
    Index index = indices.add(place.linear, indices.literal(first));
    Value where = addressOf(b, loc, address, type, indices.get(index));
    Value loaded = LLVM::LoadOp::create(b, loc, vector, where, piece * bytes);
    for (int64_t lane = 0; lane < piece; ++lane) {
      Value at = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(lane));
      Value raw = LLVM::ExtractElementOp::create(b, loc, loaded, at);
      elements.push_back(fromMemory(b, loc, raw, element));
    }
  }
  return elements;
}

/// Loads words: from there f32 takes one instruction, from an extracted half
/// two.
Scalars Elements::loadHalves(Value address, Type element, const Place &place,
                             int64_t piece) {
  Type i16 = b.getI16Type(), i32 = b.getI32Type();
  auto vector = VectorType::get(piece / 2, i32);
  auto literal = [&](int64_t number) -> Value {
    return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
  };
  Scalars elements;
  for (int64_t first = 0; first < width; first += piece) {
    Index index = indices.add(place.linear, indices.literal(first));
    Value where = addressOf(b, loc, address, element, indices.get(index));
    Value loaded = LLVM::LoadOp::create(b, loc, vector, where, piece * 2);
    for (int64_t pair = 0; pair < piece / 2; ++pair) {
      Value word =
          LLVM::ExtractElementOp::create(b, loc, loaded, literal(pair));
      for (bool isHigh : {false, true}) {
        Value half =
            isHigh ? LLVM::LShrOp::create(b, loc, word, literal(16)) : word;
        half = LLVM::TruncOp::create(b, loc, i16, half);
        elements.push_back(LLVM::BitcastOp::create(b, loc, element, half));
        words[elements.back()] = {word, isHigh};
      }
    }
  }
  return elements;
}

Value Elements::widen(Value element) {
  Type f32 = b.getF32Type();
  auto found = words.find(element);
  if (found == words.end())
    return arith::ExtFOp::create(b, loc, f32, element);
  auto [word, isHigh] = found->second;
  auto literal = [&](int32_t number) -> Value {
    return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
  };
  Value bits =
      isHigh ? Value(LLVM::AndOp::create(b, loc, word, literal(-(1 << 16))))
             : Value(LLVM::ShlOp::create(b, loc, word, literal(16)));
  return LLVM::BitcastOp::create(b, loc, f32, bits);
}

void Elements::store(Value address, Type element, const Place &place,
                     ArrayRef<Value> elements) {
  Type type = inMemory(element);
  const int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  const int64_t piece = std::min(width, kVectorBytes / bytes);
  if (place.run < 0 || !place.isDense || !place.linear.divides(piece)) {
    for (auto [number, value] : llvm::enumerate(elements)) {
      const Place &single = place.run < 0 ? place : one(place, number);
      Value where =
          addressOf(b, loc, address, type, indices.get(single.linear));
      LLVM::StoreOp::create(b, loc, toMemory(b, loc, value), where, bytes);
    }
    return;
  }
  auto vector = VectorType::get(piece, type);
  for (int64_t first = 0; first < width; first += piece) {
    Value packed = LLVM::PoisonOp::create(b, loc, vector);
    for (int64_t lane = 0; lane < piece; ++lane) {
      Value at = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(lane));
      packed = LLVM::InsertElementOp::create(
          b, loc, packed, toMemory(b, loc, elements[first + lane]), at);
    }
    Index index = indices.add(place.linear, indices.literal(first));
    Value where = addressOf(b, loc, address, type, indices.get(index));
    LLVM::StoreOp::create(b, loc, packed, where, piece * bytes);
  }
}

void Elements::store(Value address, RankedTensorType type, const Place &place,
                     ArrayRef<Value> elements) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape == ArrayRef(place.shape))
    return store(address, type.getElementType(), place, elements);
  if (!place.crosses)
    return store(address, type.getElementType(),
                 at(shape, place.indices, place.run), elements);
  for (auto [number, value] : llvm::enumerate(elements))
    store(address, type, one(place, number), value);
}

Value Elements::getTable(DenseElementsAttr elements) {
  auto type = cast<RankedTensorType>(elements.getType());
  ModuleOp module = getModule();
  Type element = inMemory(type.getElementType());
  auto array = LLVM::LLVMArrayType::get(element, type.getNumElements());
  auto flat = RankedTensorType::get(type.getNumElements(), element);
  DenseElementsAttr values =
      element == type.getElementType()
          ? elements.reshape(flat)
          : DenseElementsAttr(
                llvm::cast<DenseIntElementsAttr>(elements)
                    .mapValues(element,
                               [](const APInt &bit) { return bit.zext(8); })
                    .reshape(flat));
  for (auto table : module.getOps<LLVM::GlobalOp>())
    if (table.getValueAttr() == values)
      return LLVM::AddressOfOp::create(b, loc, table);
  const auto number = std::distance(module.getOps<LLVM::GlobalOp>().begin(),
                                    module.getOps<LLVM::GlobalOp>().end());
  auto outside = OpBuilder::atBlockBegin(module.getBody());
  auto table = LLVM::GlobalOp::create(
      outside, loc, array, /*isConstant=*/true, LLVM::Linkage::Internal,
      "table" + std::to_string(number), values, kVectorBytes, kGlobal);
  return LLVM::AddressOfOp::create(b, loc, table);
}

Value Elements::getRoom(const std::string &name, int64_t bytes) {
  ModuleOp module = getModule();
  auto room = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!room) {
    auto outside = OpBuilder::atBlockBegin(module.getBody());
    room = LLVM::GlobalOp::create(
        outside, loc, LLVM::LLVMArrayType::get(b.getI8Type(), bytes),
        /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
        kVectorBytes, kShared);
  }
  return LLVM::AddressOfOp::create(b, loc, room);
}

Value Elements::getLaunchScalar(int64_t position) {
  Type i64 = b.getI64Type();
  Value where = addressOf(b, loc, scalars, i64, indices.getLiteral(position));
  return LLVM::LoadOp::create(b, loc, i64, where, 8);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Scalars Elements::loop(const Index &first, const Index &end, int64_t step,
                       ValueRange carried, LoopBody body) {
  auto nest = scf::ForOp::create(b, loc, indices.get(first), indices.get(end),
                                 indices.getLiteral(step), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    Scope scope(*this);
    Block *block = nest.getBody();
    if (!block->empty() && carried.empty())
      block->getTerminator()->erase();
    b.setInsertionPointToEnd(block);
    // A step before the end at the latest, where all is known.
    int64_t bound = end.isLiteral() ? end.literal : end.bound - 1;
    if (first.isLiteral() && end.isLiteral() && first.literal < end.literal)
      bound =
          first.literal + llvm::alignDown(bound - 1 - first.literal, step) + 1;
    Index index =
        indices.known(nest.getInductionVar(), std::max<int64_t>(bound, 1),
                      std::gcd(first.multiple, step));
    scf::YieldOp::create(b, loc, body(index, nest.getRegionIterArgs()));
  }
  return Scalars(nest.getResults());
}

Scalars Elements::choose(Value condition, TypeRange types,
                         llvm::function_ref<Scalars()> onTrue,
                         llvm::function_ref<Scalars()> onFalse) {
  auto branch = scf::IfOp::create(b, loc, types, condition,
                                  /*withElseRegion=*/true);
  for (auto [region, side] : {std::pair(&branch.getThenRegion(), onTrue),
                              std::pair(&branch.getElseRegion(), onFalse)}) {
    OpBuilder::InsertionGuard guard(b);
    Scope scope(*this);
    Block *block = &region->front();
    if (!block->empty())
      block->getTerminator()->erase();
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, loc, side());
  }
  return Scalars(branch.getResults());
}

void Elements::onlyIf(Value condition, llvm::function_ref<void()> body) {
  choose(
      condition, {},
      [&]() -> Scalars {
        body();
        return {};
      },
      [] { return Scalars(); });
}
