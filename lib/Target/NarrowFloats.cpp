//===- NarrowFloats.cpp - floats of 16 bits on any processor --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores, selections and phi nodes of a narrow float become those of
// i16, so that values of its type remain between bit casts and conversions to
// and from f32 only. The arithmetic has no branches: loops are vectorised.
//
//===----------------------------------------------------------------------===//
#include "NarrowFloats.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {

/// Rewrites a module's values of one type.
class BitsKeeper {
public:
  BitsKeeper(Module &module, Type *narrow, bool isConverted)
      : module(module), b(module.getContext()), narrow(narrow),
        isConverted(isConverted) {}

  void run();

private:
  Value *asBits(Value *value) { return b.CreateBitCast(value, b.getInt16Ty()); }
  Value *asI32(Value *value) { return b.CreateBitCast(value, b.getInt32Ty()); }
  Value *asF32(Value *value) { return b.CreateBitCast(value, b.getFloatTy()); }
  Value *literal(uint32_t bits) { return b.getInt32(bits); }
  Value *literal(float number) {
    return ConstantFP::get(b.getFloatTy(), APFloat(number));
  }

  Value *widen(Value *value);
  Value *widenHalf(Value *bits);
  Value *narrowToHalf(Value *value);
  Value *rebuild(Instruction &op);
  void rewrite(Instruction &op);
  void replace(Instruction &op, Value *by) {
    op.replaceAllUsesWith(by);
    op.eraseFromParent();
  }

  Module &module;
  IRBuilder<> b;
  Type *const narrow;
  const bool isConverted; ///< by the processor, from and to f32
};

/// What the exponents of f16 lack in f32, and the smallest normal exponent.
constexpr uint32_t kBias = 112u << 23, kLeast = 1u << 23;

} // namespace

/// Infinities and NaN have all bits of the exponent set. 2^-14 is added to a
/// subnormal number by its bits, and subtracted again.
Value *BitsKeeper::widenHalf(Value *bits) {
  Value *wide = b.CreateZExt(bits, b.getInt32Ty());
  Value *sign = b.CreateShl(b.CreateAnd(wide, 0x8000), 16);
  Value *magnitude = b.CreateShl(b.CreateAnd(wide, 0x7fff), 13);
  Value *isFinite = b.CreateICmpULT(magnitude, literal(31u << 23));
  Value *normal = b.CreateAdd(
      magnitude, b.CreateSelect(isFinite, literal(kBias), literal(2 * kBias)));
  Value *offset = asF32(literal(kBias + kLeast));
  Value *subnormal = asI32(b.CreateFSub(
      asF32(b.CreateAdd(magnitude, literal(kBias + kLeast))), offset));
  Value *isSubnormal = b.CreateICmpULT(magnitude, literal(kLeast));
  return asF32(
      b.CreateOr(sign, b.CreateSelect(isSubnormal, subnormal, normal)));
}

/// Rounds to nearest, ties to even. Beside 0.5 the last bit of an f32 counts
/// units of 2^-24, as that of a subnormal f16 does.
Value *BitsKeeper::narrowToHalf(Value *value) {
  constexpr uint32_t infinity = 0x7f800000, beyond = (112u + 31) << 23;
  Value *bits = asI32(value);
  Value *sign = b.CreateAnd(b.CreateLShr(bits, 16), 0x8000);
  Value *magnitude = b.CreateAnd(bits, 0x7fffffff);
  Value *last = b.CreateLShr(magnitude, 13);
  Value *normal = b.CreateAdd(magnitude, literal(0xfff - kBias));
  normal = b.CreateLShr(b.CreateAdd(normal, b.CreateAnd(last, 1)), 13);
  Value *subnormal =
      b.CreateSub(asI32(b.CreateFAdd(asF32(magnitude), literal(0.5f))),
                  asI32(literal(0.5f)));
  Value *nan = b.CreateOr(b.CreateAnd(last, 0x3ff), 0x7e00);
  auto below = [&](uint32_t bound) {
    return b.CreateICmpULT(magnitude, literal(bound));
  };
  Value *result = b.CreateSelect(below(kBias + kLeast), subnormal, normal);
  result = b.CreateSelect(below(beyond), result, literal(0x7c00u));
  result = b.CreateSelect(below(infinity + 1), result, nan);
  return b.CreateTrunc(b.CreateOr(sign, result), b.getInt16Ty());
}

/// The value as f32.
Value *BitsKeeper::widen(Value *value) {
  Value *bits = asBits(value);
  if (narrow->isBFloatTy())
    return asF32(b.CreateShl(b.CreateZExt(bits, b.getInt32Ty()), 16));
  if (isConverted)
    return b.CreateFPExt(b.CreateBitCast(bits, narrow), b.getFloatTy());
  return widenHalf(bits);
}

/// The bits that the op gives; null if it stays.
Value *BitsKeeper::rebuild(Instruction &op) {
  if (auto *load = dyn_cast<LoadInst>(&op))
    return b.CreateAlignedLoad(b.getInt16Ty(), load->getPointerOperand(),
                               load->getAlign());
  if (auto *select = dyn_cast<SelectInst>(&op))
    return b.CreateSelect(select->getCondition(),
                          asBits(select->getTrueValue()),
                          asBits(select->getFalseValue()));
  if (isa<FPTruncInst>(op) && narrow->isHalfTy() && !isConverted)
    return narrowToHalf(op.getOperand(0));
  auto *phi = dyn_cast<PHINode>(&op);
  if (!phi)
    return nullptr;
  PHINode *raw = b.CreatePHI(b.getInt16Ty(), phi->getNumIncomingValues());
  for (auto [value, block] :
       llvm::zip_equal(phi->incoming_values(), phi->blocks())) {
    b.SetInsertPoint(block->getTerminator());
    raw->addIncoming(asBits(value), block);
  }
  b.SetInsertPoint(op.getParent(), op.getParent()->getFirstInsertionPt());
  return raw;
}

void BitsKeeper::rewrite(Instruction &op) {
  b.SetInsertPoint(&op);
  Value *raw = op.getType() == narrow ? rebuild(op) : nullptr;
  if (raw)
    return replace(op, b.CreateBitCast(raw, narrow));
  if (op.getNumOperands() == 0 || op.getOperand(0)->getType() != narrow)
    return;
  if (auto *store = dyn_cast<StoreInst>(&op)) {
    b.CreateAlignedStore(asBits(store->getValueOperand()),
                         store->getPointerOperand(), store->getAlign());
    op.eraseFromParent();
  } else if (auto *compare = dyn_cast<FCmpInst>(&op)) {
    compare->setOperand(0, widen(compare->getOperand(0)));
    compare->setOperand(1, widen(compare->getOperand(1)));
  } else if (isa<FPExtInst>(op)) {
    replace(op, b.CreateFPExt(widen(op.getOperand(0)), op.getType()));
  }
}

void BitsKeeper::run() {
  for (Function &function : module)
    for (Instruction &op : make_early_inc_range(instructions(function)))
      rewrite(op);
}

/// Of other architectures, all processors convert f16.
static bool convertsHalves(const TargetMachine &machine) {
  return !machine.getTargetTriple().isX86() ||
         machine.getMCSubtargetInfo()->checkFeatures("+f16c");
}

void pp::keepNarrowFloatsAsBits(Module &module, const TargetMachine &machine) {
  LLVMContext &context = module.getContext();
  BitsKeeper(module, Type::getBFloatTy(context), /*isConverted=*/false).run();
  BitsKeeper(module, Type::getHalfTy(context), convertsHalves(machine)).run();
}
