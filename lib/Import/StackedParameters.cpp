//===- StackedParameters.cpp - a parameter for each layer -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// lax.scan reads its layers from stacks, of which an unrolled loop takes one
// row each. Stages and ZeRO divide parameters by layers, and seeds a layer's
// dimensions: so each row becomes a parameter.
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "Shardings.h"
#include "Simplify.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;

/// The row that `slice` is of its operand, or -1.
static int64_t findRow(SliceOp slice) {
  auto type = cast<RankedTensorType>(slice.getOperand().getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const int64_t start = slice.getStarts()[dim],
                  limit = slice.getLimits()[dim];
    if (dim == 0 ? limit - start != 1
                 : start != 0 || limit != type.getDimSize(dim))
      return -1;
  }
  return type.getRank() == 0 ? -1 : slice.getStarts()[0];
}

/// Whether every reader takes a row, and every row has a reader.
static bool isStack(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  const int64_t size = type.getRank() == 0 ? 0 : type.getDimSize(0);
  // A row needs a reader, and so much memory text may name.
  if (size < 2 || size > std::numeric_limits<int32_t>::max() ||
      !argument.hasNUsesOrMore(size))
    return false;
  llvm::BitVector rows(size);
  for (Operation *user : argument.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    const int64_t row = slice ? findRow(slice) : -1;
    if (row < 0)
      return false;
    rows.set(row);
  }
  return rows.all();
}

/// The beginning that dotted names share, up to a dot.
static StringRef findSharedBeginning(ArrayRef<StringRef> names) {
  StringRef shared = names.front().rsplit('.').first;
  if (shared.size() == names.front().size())
    return "";
  for (StringRef name : names)
    while (!shared.empty() && !name.starts_with((shared + ".").str()))
      shared = shared.contains('.') ? shared.rsplit('.').first : "";
  return shared;
}

/// `h.0.w` of `h.w`, which begins with `shared`.
static std::string nameRow(StringRef name, StringRef shared, int64_t row) {
  if (shared.empty())
    return (name + "." + Twine(row)).str();
  return (shared + "." + Twine(row) + name.drop_front(shared.size())).str();
}

/// Lets the readers of rows of `stack` read `rows`.
static void replaceRows(BlockArgument stack, ArrayRef<BlockArgument> rows) {
  for (Operation *user : llvm::make_early_inc_range(stack.getUsers())) {
    auto slice = cast<SliceOp>(user);
    BlockArgument row = rows[findRow(slice)];
    OpBuilder builder(slice);
    Value read =
        ReshapeOp::create(builder, slice.getLoc(), slice.getType(), row);
    for (Operation *reader : llvm::make_early_inc_range(slice->getUsers()))
      if (isa<ReshapeOp>(reader) &&
          reader->getResult(0).getType() == row.getType()) {
        reader->getResult(0).replaceAllUsesWith(row);
        reader->erase();
      }
    slice.getResult().replaceAllUsesWith(read);
    slice.erase();
  }
}

/// The names of all stacks among the parameters.
static SmallVector<StringRef> findStacks(func::FuncOp main,
                                         const DenseSet<Value> &candidates) {
  SmallVector<StringRef> names;
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param &&
        candidates.contains(argument) && isStack(argument))
      names.push_back(getArgName(main, argument.getArgNumber()));
  return names;
}

/// Whether an argument is called as a row would be.
static bool isTaken(func::FuncOp main, ArrayRef<StringRef> stacks,
                    StringRef shared) {
  llvm::StringSet<> names;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    names.insert(getArgName(main, index));
  for (BlockArgument argument : main.getArguments()) {
    const StringRef name = getArgName(main, argument.getArgNumber());
    if (!llvm::is_contained(stacks, name))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    for (int64_t row = 0; row < type.getDimSize(0); ++row)
      if (!names.insert(nameRow(name, shared, row)).second)
        return true;
  }
  return false;
}

/// Whether a stack's sharding divides its rows, and nothing else: then a row
/// has none.
static bool splitsRowsAlone(ShardingAttr sharding) {
  return !sharding.getDims()[0].getAxes().empty() &&
         llvm::all_of(sharding.getDims().drop_front(), [](DimShardingAttr dim) {
           return dim.getAxes().empty();
         });
}

/// Puts rows in place of `stack`, and their attributes in place of its own.
static void splitStack(BlockArgument stack, StringRef shared,
                       SmallVectorImpl<DictionaryAttr> &attributes) {
  MLIRContext *context = stack.getContext();
  Block *block = stack.getOwner();
  const unsigned first = stack.getArgNumber();
  const NamedAttrList ofStack(attributes[first]);
  auto type = cast<RankedTensorType>(stack.getType());
  auto rowType = type.clone(type.getShape().drop_front());
  const StringRef name = cast<StringAttr>(ofStack.get(attrs::kName)).getValue();
  SmallVector<BlockArgument> rows;
  SmallVector<DictionaryAttr> ofRows;
  for (int64_t row = 0; row < type.getDimSize(0); ++row) {
    auto rowName = StringAttr::get(context, nameRow(name, shared, row));
    rows.push_back(
        block->insertArgument(first + 1 + row, rowType, NameLoc::get(rowName)));
    NamedAttrList ofRow = ofStack;
    ofRow.set(attrs::kName, rowName);
    ofRow.set(attrs::kInit, guessInit(rowName, rowType));
    if (auto ofAll =
            dyn_cast_or_null<ShardingAttr>(ofStack.get(attrs::kSharding))) {
      if (splitsRowsAlone(ofAll))
        ofRow.erase(attrs::kSharding);
      else
        ofRow.set(attrs::kSharding,
                  ShardingAttr::get(context, ofAll.getMesh(),
                                    ofAll.getDims().drop_front(), {}));
    }
    ofRows.push_back(ofRow.getDictionary(context));
  }
  replaceRows(stack, rows);
  block->eraseArgument(first);
  attributes.erase(attributes.begin() + first);
  attributes.insert(attributes.begin() + first, ofRows.begin(), ofRows.end());
}

void pp::hlo::splitStackedParameters(func::FuncOp main,
                                     const DenseSet<Value> &candidates) {
  const SmallVector<StringRef> names = findStacks(main, candidates);
  if (names.empty())
    return;
  const StringRef shared = findSharedBeginning(names);
  if (isTaken(main, names, shared)) {
    remark::missed(main.getLoc(), remark::RemarkOpts::name("split").category(
                                      "pp-import-stablehlo"))
        << remark::reason("a parameter has the name of a row")
        << remark::metric("stack", names.front());
    return;
  }
  for (StringRef name : names)
    remark::passed(main.getLoc(), remark::RemarkOpts::name("split").category(
                                      "pp-import-stablehlo"))
        << remark::metric("stack", name)
        << remark::metric("first", nameRow(name, shared, 0));
  for (BlockArgument argument : main.getArguments())
    if (auto sharding = main.getArgAttrOfType<ShardingAttr>(
            argument.getArgNumber(), attrs::kSharding);
        sharding && sharding.getRank() > 0 &&
        !sharding.getDims()[0].getAxes().empty() &&
        llvm::is_contained(names, getArgName(main, argument.getArgNumber())))
      Shardings::drop(argument.getLoc(),
                      "layers of a stack are parameters of their own");
  const llvm::StringSet<> stacks(llvm::from_range, names);
  SmallVector<DictionaryAttr> attributes = getAllArgAttrs(main);
  for (unsigned index = main.getNumArguments(); index-- > 0;)
    if (stacks.contains(
            attributes[index].getAs<StringAttr>(attrs::kName).getValue()))
      splitStack(main.getBody().getArgument(index), shared, attributes);
  setSignature(main, attributes, getAllResultAttrs(main));
  eraseUnused(main); // reads of rows
}
