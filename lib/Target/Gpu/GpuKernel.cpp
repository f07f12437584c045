//===- GpuKernel.cpp - a kernel as what one GPU thread does ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two forms. Rows: the kernel reduces, and lanes do so together (Rows.h);
// results that share no tensor have blocks of their own where that takes no
// more shared memory. Flat: each thread stores a run of each result.
//
//===----------------------------------------------------------------------===//
#include "ElementRules.h"
#include "Ptx.h"
#include "Rows.h"
#include "ScatterSearch.h"
#include "Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "pp/Analysis/InPlace.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PP.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"
#include "pp/IR/Windows.h"
#include "pp/Target/KernelCompiler.h"
#include "pprt/Alignment.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

static constexpr int64_t kFlatBlock = 256;

/// The form of a kernel.
struct Form {
  int64_t width = 1; ///< so many elements of the narrowest are one vector
  /// Elements, or places outside of tensors, are more than 32 bits count.
  bool hasLargeIndices = false;
  /// Lanes that reduce together; else each thread has a run of every result.
  bool hasRows = false;
  /// The type of each result, without padding of rows, as in `parts`.
  SmallVector<RankedTensorType> results;
  /// With it.
  SmallVector<RowLayout> inMemory;
  /// Runs of a result that a thread has, one after the other, where there are
  /// no rows.
  int64_t turns = 1;
  /// All threads of a block search the updates for its part of the result.
  bool isSearch = false;
  /// For each result, the group that shares tensors with it.
  SmallVector<unsigned> apart;
  RowParts parts;
  RowMapping rows;
  /// Groups of results whose rows have blocks of their own, one group behind
  /// the other, and the blocks of each.
  int64_t groups = 1, blocksOfGroup = 1;
  LaunchShape launch;
};

static SmallVector<RankedTensorType> typesOf(func::FuncOp kernel) {
  SmallVector<RankedTensorType> types;
  auto add = [&](Type type) { types.push_back(ranked(type)); };
  llvm::for_each(kernel.getArgumentTypes(), add);
  for (Operation &op : kernel.getBody().front().without_terminator())
    llvm::for_each(op.getResultTypes(), add);
  return types;
}

/// The numbers in memory of the type with the most bytes fill vectors. Wider
/// ones are loaded in several vectors, with a part of each sector at a time; a
/// warp's narrower ones still are whole sectors. Masks and indices beside
/// numbers do not count.
static int64_t chooseWidth(func::FuncOp kernel) {
  std::map<int64_t, int64_t> bytesOf; // of all, by those of an element
  int64_t any = kVectorBytes;
  const KernelParameters parameters = getKernelParameters(kernel);
  for (auto [type, access] :
       llvm::zip_equal(parameters.types, parameters.access)) {
    Type element = ranked(type).getElementType();
    if (ranked(type).getRank() == 0)
      continue;
    const int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    any = std::min(any, bytes);
    if (isa<FloatType>(element))
      bytesOf[bytes] += ranked(type).getNumElements() * bytes *
                        (access == Access::ReadWrite ? 2 : 1);
  }
  int64_t number = any, most = -1;
  for (auto [bytes, all] : bytesOf)
    if (all > most) {
      number = bytes;
      most = all;
    }
  return kVectorBytes / number;
}

/// Results that read the same tensor have the same number, and so have those
/// that read scalars only. Readers of an overwritten scalar belong to the
/// result that overwrites it.
static SmallVector<unsigned> findApart(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  llvm::SmallDenseSet<int64_t> overwritten;
  for (unsigned index = 0; index < kernel.getNumResults(); ++index)
    overwritten.insert(getInplaceOperand(kernel, index));
  llvm::EquivalenceClasses<Value> classes;
  DenseMap<Value, Value> argumentOf; // one that a value is computed from
  for (BlockArgument argument : body.getArguments())
    if (ranked(argument).getNumElements() > 1 ||
        overwritten.contains(argument.getArgNumber())) {
      argumentOf[argument] = argument;
      classes.insert(argument);
    }
  for (Operation &op : body.without_terminator())
    for (Value operand : op.getOperands())
      if (Value from = argumentOf.lookup(operand))
        classes.unionSets(
            argumentOf.try_emplace(op.getResult(0), from).first->second, from);
  SmallVector<Value> leaders;
  SmallVector<unsigned> numbers;
  for (Value result : body.getTerminator()->getOperands()) {
    Value from = argumentOf.lookup(result);
    Value leader = from ? classes.getLeaderValue(from) : Value();
    auto found = llvm::find(leaders, leader);
    numbers.push_back(found - leaders.begin());
    if (found == leaders.end())
      leaders.push_back(leader);
  }
  return numbers;
}

/// Whether elements of a row, which are many, need numbers that the row has one
/// of: lanes that go along the row read and compute these once.
static bool sharesNumbers(func::FuncOp kernel,
                          ArrayRef<RankedTensorType> results,
                          const RowParts &parts) {
  constexpr int64_t kMany = 512, kEnoughRows = 128;
  auto isTranspose = [](Operation &op) { return isa<TransposeOp>(op); };
  if (parts.rows < kEnoughRows ||
      llvm::any_of(kernel.getBody().front(), isTranspose))
    return false;
  for (unsigned index = 0; index < kernel.getNumResults(); ++index)
    if (getInplaceOperand(kernel, index) >= 0 ||
        countElements(parts.results[index]) < kMany ||
        !haveSameParts({results[index], parts.results[index]},
                       {results[0], parts.results[0]}))
      return false;
  return llvm::any_of(kernel.getArguments(), [&](BlockArgument argument) {
    if (ranked(argument).getNumElements() < parts.rows)
      return false;
    auto layouts = parts.layouts.lookup(argument);
    return !layouts.empty() && llvm::all_of(layouts, [](const auto &layout) {
      return countElements(layout) == 1;
    });
  });
}

/// Whether rows are further apart than they are long, and are not whole runs: a
/// run would go on in the gap.
static bool hasOddRows(func::FuncOp kernel, int64_t width) {
  return llvm::any_of(kernel.getBody().front(), [&](Operation &op) {
    return (isRowSlice(&op) &&
            ranked(op.getResult(0)).getShape().back() % width != 0) ||
           (isRowPadding(&op) &&
            ranked(op.getOperand(0)).getShape().back() % width != 0);
  });
}

/// If there are more threads than a GPU runs at once, each takes several runs
/// and computes shared places and scalars once. Not in kernels that are long
/// already.
static int64_t countTurns(func::FuncOp kernel, int64_t runs) {
  constexpr int64_t kMostTurns = 4, kEnoughBlocks = 1024, kMostOps = 200;
  if (kernel.getBody().front().getOperations().size() > kMostOps)
    return 1;
  int64_t turns = kMostTurns;
  while (turns > 1 && runs < kEnoughBlocks * kFlatBlock * turns)
    turns /= 2;
  return turns;
}

static FailureOr<Form> chooseForm(func::FuncOp kernel) {
  auto parts = findRowParts(kernel);
  if (failed(parts))
    return failure();
  Form form;
  form.inMemory.assign(parts->results.begin(), parts->results.end());
  for (auto [value, layout] :
       llvm::zip_equal(kernel.getBody().front().getTerminator()->getOperands(),
                       parts->results)) {
    form.results.push_back(ranked(withoutRowPadding(value)));
    if (Operation *op = value.getDefiningOp(); isRowPadding(op))
      layout = operandLayouts(op, layout)->front();
  }
  int64_t most = 1;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  for (RankedTensorType type : typesOf(kernel))
    form.hasLargeIndices |= type.getNumElements() > kMost;
  for (Operation &op : kernel.getBody().front())
    for (const Window &window : getWindows(&op))
      form.hasLargeIndices |= getReach(window) > kMost;
  form.width = chooseWidth(kernel);
  form.apart = findApart(kernel);
  form.hasRows =
      hasRowSums(kernel) || sharesNumbers(kernel, form.results, *parts);
  if (form.hasRows) {
    form.rows = chooseMapping(kernel, *parts, form.width);
    form.blocksOfGroup = llvm::divideCeil(parts->rows, form.rows.rowsPerBlock);
    const bool hasRooms = llvm::any_of(form.rows.sums, [](const RowSum &sum) {
      return sum.form == RowSum::Across;
    });
    if (!hasRooms && !form.apart.empty())
      form.groups = *llvm::max_element(form.apart) + 1;
    form.launch.grid = form.blocksOfGroup * form.groups;
    form.launch.block = form.rows.block();
  } else {
    if (hasOddRows(kernel, form.width))
      form.width = 1;
    for (RankedTensorType type : form.results)
      most = std::max(most, type.getNumElements());
    const int64_t runs = llvm::divideCeil(most, form.width);
    form.launch.block =
        std::min<int64_t>(kFlatBlock, llvm::alignTo(runs, kWarp));
    form.turns = countTurns(kernel, runs);
    form.launch.grid = llvm::divideCeil(runs, form.launch.block * form.turns);
  }
  form.isSearch = !form.hasRows && !form.hasLargeIndices &&
                  isBlockSearch(kernel, form.width);
  form.parts = std::move(*parts);
  return form;
}

FailureOr<LaunchShape> pp::gpu::getLaunchShape(func::FuncOp kernel) {
  auto form = chooseForm(kernel);
  if (failed(form))
    return failure();
  return form->launch;
}

std::string pp::gpu::describeGpuKernel(func::FuncOp kernel) {
  auto form = chooseForm(kernel);
  if (failed(form))
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!form->hasRows)
    stream << "elements:";
  else if (form->rows.sumsApart == 0)
    stream << "rows, " << form->rows.lanes << " lanes:";
  else
    stream << "rows, " << form->rows.lanes << " lanes, " << form->rows.sumsApart
           << " sums apart:";
  llvm::SetVector<StringRef> names;
  for (Operation &op : kernel.getBody().front().without_terminator())
    names.insert(op.getName().stripDialect());
  for (StringRef name : names)
    stream << " " << name;
  KernelParameters parameters = getKernelParameters(kernel);
  auto print = [&](bool isWritten) {
    for (auto [type, access] :
         llvm::zip_equal(parameters.types, parameters.access)) {
      if ((access != Access::Read) != isWritten)
        continue;
      stream << " ";
      for (int64_t size : ranked(type).getShape())
        stream << size << "x";
      stream << ranked(type).getElementType();
    }
  };
  stream << ";";
  print(/*isWritten=*/true);
  stream << " from";
  print(/*isWritten=*/false);
  return text;
}

namespace {

class GpuKernel {
public:
  GpuKernel(OpBuilder &builder, func::FuncOp kernel, const Form &form)
      : b(builder), kernel(kernel), loc(kernel.getLoc()), form(form) {}

  LogicalResult build(StringRef name);

private:
  LogicalResult verifyInPlace();
  func::FuncOp addFunction(StringRef name);
  void buildGroup(Elements &elements, unsigned group, Value block,
                  Value thread);
  void buildRowGroups(Elements &elements);
  void buildFlat(Elements &elements);
  void buildSearch(Elements &elements);
  template <typename Register> Value readRegister() {
    return Register::create(b, loc, b.getI32Type());
  }

  OpBuilder &b;
  func::FuncOp kernel;
  Location loc;
  const Form &form;
  SmallVector<Destination> destinations;
};

func::FuncOp GpuKernel::addFunction(StringRef name) {
  KernelParameters parameters = getKernelParameters(kernel);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobal);
  SmallVector<Type> types(parameters.types.size() + 2, pointer);
  auto function =
      func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  for (auto [index, access] : llvm::enumerate(parameters.access)) {
    function.setArgAttr(index, "llvm.align",
                        b.getI64IntegerAttr(pprt::kSlotAlignment));
    function.setArgAttr(index, "llvm.noalias", b.getUnitAttr());
    if (access == Access::Read)
      function.setArgAttr(index, "llvm.readonly", b.getUnitAttr());
  }
  function.addEntryBlock();
  return function;
}

/// The rows of the results of one group, by the sums that they need.
void GpuKernel::buildGroup(Elements &e, unsigned group, Value block,
                           Value thread) {
  RowParts parts = form.parts;
  RowMapping rows = form.rows;
  SmallVector<Destination> its;
  llvm::SetVector<Value> needed;
  parts.results.clear();
  for (auto [index, destination] : llvm::enumerate(destinations))
    if (form.apart[index] == group) {
      its.push_back(destination);
      parts.results.push_back(form.parts.results[index]);
      needed.insert(destination.result);
    }
  for (size_t next = 0; next < needed.size(); ++next)
    if (Operation *op = needed[next].getDefiningOp())
      needed.insert(op->operand_begin(), op->operand_end());
  llvm::erase_if(rows.sums, [&](const RowSum &sum) {
    return !needed.contains(sum.op->getResult(0));
  });
  buildRows(e, parts, rows, block, thread, its);
}

void GpuKernel::buildRowGroups(Elements &e) {
  Value block = readRegister<NVVM::BlockIdXOp>(),
        thread = readRegister<NVVM::ThreadIdXOp>();
  if (form.groups == 1)
    return buildRows(e, form.parts, form.rows, block, thread, destinations);
  const Value count = arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(form.blocksOfGroup));
  for (unsigned group = 0; group < form.groups; ++group) {
    Value first = arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(group * form.blocksOfGroup));
    Value own = arith::SubIOp::create(b, loc, block, first);
    // Blocks of earlier groups become large numbers.
    Value isOwn =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, own, count);
    e.onlyIf(isOwn, [&] { buildGroup(e, group, own, thread); });
  }
}

/// Each thread a run of every result; longer results take more threads.
void GpuKernel::buildFlat(Elements &e) {
  std::map<std::pair<int64_t, unsigned>, SmallVector<Destination>> groups;
  const int64_t width = e.getWidth();
  for (auto [index, destination] : llvm::enumerate(destinations))
    if (int64_t size = ranked(destination.result).getNumElements())
      groups[{size, form.apart[index]}].push_back(destination);
  const LaunchShape &launch = form.launch;
  Index thread =
            e.indices.known(readRegister<NVVM::ThreadIdXOp>(), launch.block),
        block = e.indices.known(readRegister<NVVM::BlockIdXOp>(), launch.grid);
  Index firstRun = e.indices.add(
      e.indices.multiply(block, launch.block * form.turns), thread);
  computeScalars(e);
  auto nothing = [] { return Scalars(); };
  for (auto &entry : groups) {
    const int64_t size = entry.first.first, whole = size / width * width;
    ArrayRef<Destination> group = entry.second;
    auto store = [&](bool isRun, const Index &start, int64_t count) {
      for (int64_t number = 0; number < count; ++number) {
        Index linear = e.indices.add(start, IndexBuilder::literal(number));
        SmallVector<Scalars> elements;
        SmallVector<const Place *> places;
        for (const Destination &destination : group) {
          const Place &place =
              e.at(ranked(destination.result).getShape(), linear, isRun);
          places.push_back(&place);
          elements.push_back(e.get(destination.result, place));
        }
        for (auto [place, destination, values] :
             llvm::zip_equal(places, group, elements))
          e.store(destination.address, destination.inMemory, *place, values);
      }
    };
    auto storeRun = [&](const Index &run) {
      Index first = e.indices.multiply(run, width), start = first;
      for (const Destination &destination : group)
        if (auto tile = findTile(destination.result, width)) {
          start = placeOfRun(e.indices, run, ranked(destination.result), width,
                             *tile);
          break;
        }
      auto storeWhole = [&]() -> Scalars {
        start.bound = whole;
        store(width > 1, start, 1);
        return {};
      };
      if (first.bound <= whole) { // they all are
        storeWhole();
        return;
      }
      Value isWhole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                            e.indices.get(first),
                                            e.indices.getLiteral(whole));
      e.choose(isWhole, {}, storeWhole, nothing);
    };
    if (whole > 0 && form.turns == 1)
      storeRun(firstRun);
    else if (whole > 0)
      e.loop(IndexBuilder::literal(0),
             IndexBuilder::literal(form.turns * launch.block), launch.block, {},
             [&](const Index &turn, ValueRange) -> Scalars {
               storeRun(e.indices.add(firstRun, turn));
               return {};
             });
    if (whole < size) { // the elements that are left are the first thread's
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            e.indices.get(firstRun),
                                            e.indices.getLiteral(0));
      e.choose(
          isFirst, {},
          [&]() -> Scalars {
            store(false, IndexBuilder::literal(whole), size - whole);
            return {};
          },
          nothing);
    }
  }
}

/// Each block computes a part of the only result. No thread leaves early: one
/// without a run computes the last one again.
void GpuKernel::buildSearch(Elements &e) {
  const Destination &destination = destinations.front();
  RankedTensorType type = ranked(destination.result);
  const int64_t width = e.getWidth(), runs = type.getNumElements() / width;
  const LaunchShape &launch = form.launch;
  Index thread =
            e.indices.known(readRegister<NVVM::ThreadIdXOp>(), launch.block),
        block = e.indices.known(readRegister<NVVM::BlockIdXOp>(), launch.grid);
  Index firstOfBlock = e.indices.multiply(block, launch.block * form.turns);
  computeScalars(e);
  auto onlyIf = [&](const Index &run, llvm::function_ref<void()> body) {
    if (run.bound <= runs)
      return body();
    Value isThere =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              e.indices.get(run), e.indices.getLiteral(runs));
    e.onlyIf(isThere, body);
  };
  auto takeTurn = [&](const Index &turn) {
    Index first = e.indices.add(firstOfBlock, turn),
          wanted = e.indices.add(first, thread),
          run = e.indices.limit(wanted, runs - 1);
    const Place &place =
        e.at(type.getShape(), e.indices.multiply(run, width), width > 1);
    e.setTeam({thread, launch.block, first, runs});
    Scalars elements = e.get(destination.result, place);
    onlyIf(wanted, [&] {
      e.store(destination.address, destination.inMemory, place, elements);
    });
  };
  e.loop(IndexBuilder::literal(0),
         IndexBuilder::literal(form.turns * launch.block), launch.block, {},
         [&](const Index &turn, ValueRange) -> Scalars {
           onlyIf(e.indices.add(firstOfBlock, turn), [&] { takeTurn(turn); });
           return {};
         });
}

/// Reports an argument that another thread may have overwritten when it is
/// read.
LogicalResult GpuKernel::verifyInPlace() {
  for (unsigned index = 0; index < kernel.getNumResults(); ++index) {
    const int64_t overwritten = getInplaceOperand(kernel, index);
    if (overwritten < 0)
      continue;
    if (auto reader = findLateReader(kernel, {form.parts.rows, form.inMemory},
                                     index, overwritten))
      return kernel.emitError("expects a kernel whose result ")
             << index << " overwrites what no other thread reads, got "
             << "argument " << overwritten << " read for result " << *reader;
  }
  return success();
}

LogicalResult GpuKernel::build(StringRef name) {
  if (failed(verifyInPlace()))
    return failure();
  func::FuncOp function = addFunction(name);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  KernelParameters parameters = getKernelParameters(kernel);
  const size_t count = parameters.types.size();
  Elements elements(b, kernel, b.getIntegerType(form.hasLargeIndices ? 64 : 32),
                    form.width, function.getArgument(count));
  for (BlockArgument argument : kernel.getArguments())
    elements.setAddress(argument,
                        function.getArgument(argument.getArgNumber()));
  Operation *end = kernel.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    const int64_t overwritten = getInplaceOperand(kernel, index);
    destinations.push_back(
        {withoutRowPadding(value), ranked(value),
         function.getArgument(parameters.ofResult[index]),
         overwritten < 0 ? Value() : Value(kernel.getArgument(overwritten))});
  }

  // Unless there is a gate and it is shut.
  Value gate = function.getArgument(count + 1);
  Value null = LLVM::ZeroOp::create(b, loc, gate.getType());
  Value isThere =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, gate, null);
  Type i32 = b.getI32Type();
  Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value state = elements
                    .choose(
                        isThere, i32,
                        [&]() -> Scalars {
                          return {LLVM::LoadOp::create(b, loc, i32, gate, 4)};
                        },
                        [&]() -> Scalars { return {zero}; })
                    .front();
  Value isOpen =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, state, zero);
  elements.choose(
      isOpen, {},
      [&]() -> Scalars {
        if (form.hasRows)
          buildRowGroups(elements);
        else if (form.isSearch)
          buildSearch(elements);
        else
          buildFlat(elements);
        return {};
      },
      [] { return Scalars(); });
  func::ReturnOp::create(b, loc);
  if (elements.unknown)
    return elements.unknown->emitError(
               "expects an op that has a GPU lowering, got ")
           << elements.unknown->getName();
  if (elements.isTooLong())
    return kernel.emitError("expects a kernel whose rows share its sums, or "
                            "windows and contractions in kernels of their own, "
                            "got one whose code for a GPU is too long");
  return success();
}

} // namespace

LogicalResult pp::gpu::buildGpuKernel(OpBuilder &builder, func::FuncOp kernel,
                                      StringRef name) {
  auto form = chooseForm(kernel);
  if (failed(form))
    return failure();
  return GpuKernel(builder, kernel, *form).build(name);
}
