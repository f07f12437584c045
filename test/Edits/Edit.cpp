//===- Edit.cpp - one change to a module ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Edits of ops, operands and types. Those of attributes and of the text are in
// EditAttribute.cpp and EditText.cpp.
//
//===----------------------------------------------------------------------===//
#include "Edit.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp::testing;

namespace {

class Editor {
public:
  Editor(ModuleOp module, std::mt19937 &random)
      : module(module), random(random) {
    module.walk([&](Operation *op) {
      ops.push_back(op);
      for (Value result : op->getResults())
        values.push_back(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::append_range(values, block.getArguments());
    });
  }

  /// Returns what was done; empty if this edit does not apply.
  std::string run();

private:
  template <typename T> T pick(ArrayRef<T> from) {
    return from[random() % from.size()];
  }
  template <typename T> T pick(SmallVector<T> &from) {
    return pick(ArrayRef<T>(from));
  }
  std::string editAttributes();
  std::string editOperand();
  std::string editResultType();
  std::string editEveryType();
  std::string moveOp();
  std::string removeOp();
  std::string repeatOp();
  /// Some value in sight of `op`; of `type` unless that is null.
  Value valueNear(Operation *op, Type type);
  /// An op whose removal or place makes a difference.
  Operation *pickInner();
  static std::string describe(Operation *op) {
    return op->getName().getStringRef().str();
  }

  ModuleOp module;
  std::mt19937 &random;
  SmallVector<Operation *> ops;
  SmallVector<Value> values;
};

Operation *Editor::pickInner() {
  SmallVector<Operation *> inner;
  for (Operation *op : ops)
    if (op != module.getOperation())
      inner.push_back(op);
  return pick(inner);
}

Value Editor::valueNear(Operation *op, Type type) {
  SmallVector<Value> near;
  for (Value value : values)
    if (value.getParentRegion() == op->getParentRegion() &&
        (!type || value.getType() == type) && value.getDefiningOp() != op)
      near.push_back(value);
  return near.empty() ? Value() : pick(near);
}

std::string Editor::editAttributes() {
  // Those of functions and of the module are many and few; each kind counts.
  SmallVector<Operation *> holders;
  bool ofSymbols = random() % 3 == 0;
  for (Operation *op : ops)
    if (!ofSymbols || op == module.getOperation() ||
        op->getParentOp() == module.getOperation())
      holders.push_back(op);
  Operation *op = pick(holders);
  DictionaryAttr all = op->getAttrDictionary();
  std::string what = "attributes of " + describe(op);
  if (all.empty())
    return "";
  if (random() % 8 == 0) { // one that another op has
    DictionaryAttr other = pick(ops)->getAttrDictionary();
    if (other.empty())
      return "";
    NamedAttribute taken = pick(other.getValue());
    op->setAttr(taken.getName(), taken.getValue());
    return what + ": " + taken.getName().str() + " of another op";
  }
  auto edited =
      cast_or_null<DictionaryAttr>(editAttribute(all, module, random));
  if (!edited || edited == all)
    return "";
  for (NamedAttribute entry : all)
    if (!edited.contains(entry.getName()))
      op->removeAttr(entry.getName());
  for (NamedAttribute entry : edited) {
    if (entry.getValue() == all.get(entry.getName()))
      continue;
    what += ": " + entry.getName().str();
    op->setAttr(entry.getName(), entry.getValue());
  }
  return what;
}

std::string Editor::editOperand() {
  SmallVector<OpOperand *> operands;
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(&operand);
  if (operands.empty())
    return "";
  OpOperand *operand = pick(operands);
  Operation *op = operand->getOwner();
  std::string what = "operand " + std::to_string(operand->getOperandNumber()) +
                     " of " + describe(op);
  switch (random() % 6) {
  case 0: // one more or less
    if (random() % 2)
      op->eraseOperand(operand->getOperandNumber());
    else
      op->insertOperands(operand->getOperandNumber(), operand->get());
    return what + ": its number";
  case 1: // another type
    if (Value other = valueNear(op, Type()))
      operand->set(other);
    return what + ": any value";
  case 2: // exchanged
    if (op->getNumOperands() > 1) {
      unsigned other = random() % op->getNumOperands();
      Value mine = operand->get();
      operand->set(op->getOperand(other));
      op->setOperand(other, mine);
    }
    return what + ": exchanged";
  default:
    Value other = valueNear(op, operand->get().getType());
    if (!other || other == operand->get())
      return "";
    operand->set(other);
    return what + ": another value of its type";
  }
}

std::string Editor::editResultType() {
  if (values.empty())
    return "";
  Value value = pick(values);
  Type type = editType(value.getType(), module, random);
  value.setType(type);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "type of a result of " + describe(value.getDefiningOp());
  if (auto function =
          dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())) {
    SmallVector<Type> inputs(function.getArgumentTypes());
    inputs[argument.getArgNumber()] = type;
    function.setFunctionType(FunctionType::get(module.getContext(), inputs,
                                               function.getResultTypes()));
  }
  return "type of an argument";
}

/// One type becomes another wherever it stands: what an editor replaces.
std::string Editor::editEveryType() {
  if (values.empty())
    return "";
  Type from = pick(values).getType(), to = editType(from, module, random);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](Type type) -> std::optional<Type> {
    return type == from ? std::optional(to) : std::nullopt;
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return "a type everywhere";
}

std::string Editor::moveOp() {
  Operation *op = pickInner();
  Block *block = op->getBlock();
  SmallVector<Operation *> places;
  bool isLegal = random() % 2;
  bool anywhere = random() % 6 == 0;
  if (anywhere) {
    Operation *place = pickInner();
    if (op->isAncestor(place))
      return "";
    op->moveBefore(place);
    return "place of " + describe(op) + ": any";
  }
  for (Operation &place : *block) {
    if (&place == op)
      continue;
    bool staysDominated =
        llvm::none_of(op->getOperands(),
                      [&](Value operand) {
                        Operation *def = operand.getDefiningOp();
                        return def && def->getBlock() == block &&
                               !def->isBeforeInBlock(&place);
                      }) &&
        llvm::none_of(op->getUsers(), [&](Operation *user) {
          return user->getBlock() == block && user->isBeforeInBlock(&place);
        });
    if (!isLegal || staysDominated)
      places.push_back(&place);
  }
  if (places.empty())
    return "";
  op->moveBefore(pick(places));
  return "place of " + describe(op);
}

std::string Editor::removeOp() {
  Operation *op = pickInner();
  std::string what = "no " + describe(op);
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value other = valueNear(op, result.getType());
    if (!other)
      return "";
    result.replaceAllUsesWith(other);
  }
  op->walk([](Operation *inner) { inner->dropAllReferences(); });
  op->dropAllUses();
  op->erase();
  return what;
}

std::string Editor::repeatOp() {
  Operation *op = pickInner();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op);
  if (auto name = copy->getAttrOfType<StringAttr>("sym_name");
      name && random() % 2)
    copy->setAttr("sym_name", builder.getStringAttr(name.getValue() + "_2"));
  for (auto [mine, its] : llvm::zip_equal(op->getResults(), copy->getResults()))
    if (!mine.use_empty() && random() % 2)
      mine.use_begin()->set(its);
  return "two of " + describe(op);
}

std::string Editor::run() {
  switch (random() % 16) {
  case 0:
    return editResultType();
  case 1:
    return editEveryType();
  case 2:
  case 3:
    return moveOp();
  case 4:
  case 5:
    return removeOp();
  case 6:
    return repeatOp();
  case 7:
  case 8:
  case 9:
    return editOperand();
  default:
    return editAttributes();
  }
}

} // namespace

static std::string print(ModuleOp module, bool isGeneric) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().printGenericOpForm(isGeneric));
  return text;
}

std::string pp::testing::drawEdit(ModuleOp module, std::mt19937 &random,
                                  std::string &what) {
  if (random() % 4 == 0)
    return editText(print(module, random() % 4 == 0), random, what);
  OwningOpRef<ModuleOp> copy;
  for (what.clear(); what.empty();) {
    copy = module.clone();
    what = Editor(*copy, random).run();
  }
  // What the edit broke is found when the text is read.
  return print(*copy, /*isGeneric=*/true);
}

Type pp::testing::editType(Type type, ModuleOp module, std::mt19937 &random) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  MLIRContext *context = module.getContext();
  llvm::SetVector<Type> others;
  if (!tensor || random() % 3 == 0) {
    module.walk([&](Operation *op) {
      others.insert(op->result_type_begin(), op->result_type_end());
    });
    return others.empty() ? Type(IndexType::get(context))
                          : others[random() % others.size()];
  }
  SmallVector<int64_t> shape(tensor.getShape());
  Type element = tensor.getElementType();
  Builder builder(context);
  Type elements[] = {builder.getF64Type(),  builder.getF32Type(),
                     builder.getBF16Type(), builder.getI64Type(),
                     builder.getI32Type(),  builder.getI1Type(),
                     builder.getF16Type(),  builder.getIndexType()};
  int64_t sizes[] = {0,
                     1,
                     2,
                     3,
                     7,
                     1 << 20,
                     int64_t(1) << 40,
                     std::numeric_limits<int64_t>::max()};
  switch (shape.empty() ? 0 : random() % 4) {
  case 0:
    element = elements[random() % std::size(elements)];
    break;
  case 1:
    shape.erase(shape.begin() + random() % shape.size());
    break;
  case 2:
    shape.insert(shape.begin() + random() % shape.size(), sizes[random() % 3]);
    break;
  default:
    shape[random() % shape.size()] = sizes[random() % std::size(sizes)];
  }
  return RankedTensorType::get(shape, element);
}
