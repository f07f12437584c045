//===- Elements.h - the elements of a kernel's values -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds a kernel of graph ops from its results: what is the element at a
// place? The answer reads arguments, computes in registers, and asks the op's
// operands for their elements in turn. So broadcasts, transposes, slices and
// the like are arithmetic on places, and nothing is stored in between. An
// answer for the same place that is still in scope is reused.
//
// A place may stand for a run: `width` elements one after another along a
// dimension, so that memory is read by vectors.
//
// Every op has a rule (ElementRules.h); none is known here.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_ELEMENTS_H
#define PP_LIB_TARGET_GPU_ELEMENTS_H

#include "Indices.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pp/Analysis/RowLayout.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace pp::gpu {

/// The widest access of a lane, to which memory is aligned.
constexpr int64_t kVectorBytes = 16;
/// Address spaces, as NVVM numbers them.
constexpr unsigned kGlobal = 1, kShared = 3;

using Scalars = llvm::SmallVector<mlir::Value, 8>;

/// A place in a tensor, or the run that begins there.
struct Place {
  llvm::SmallVector<int64_t, 4> shape;
  Indices indices; ///< one per dimension
  Index linear;    ///< row-major
  /// The dimension along which the run goes; -1: one element.
  int run = -1;
  /// Elements of the run are neighbours in row-major order.
  bool isDense = false;
  /// It may go on behind the end of its dimension, in row-major order.
  bool crosses = false;
};

/// All threads of a block, which have the runs behind each other.
struct Team {
  Index thread;     ///< in the block
  int64_t threads;  ///< whole warps
  Index first;      ///< run of the block
  int64_t runs = 0; ///< of all blocks; who has none takes the last one, too
};

class Elements {
public:
  /// Elements of `value` that all lanes have computed already; nothing if they
  /// have not.
  using Lookup = std::function<Scalars(mlir::Value value, const Place &place,
                                       const RowLayout *layout)>;

  /// `width`: the elements of a run. `scalars`: the launch's, in memory.
  Elements(mlir::OpBuilder &builder, mlir::func::FuncOp kernel,
           mlir::Type indexType, int64_t width, mlir::Value scalars)
      : b(builder), loc(kernel.getLoc()), indices(builder, loc, indexType),
        kernel(kernel), width(width), scalars(scalars) {}

  void setAddress(mlir::Value argument, mlir::Value address) {
    addresses[argument] = address;
  }
  void setLookup(Lookup function) { lookup = std::move(function); }
  int64_t getWidth() const { return width; }
  mlir::func::FuncOp getKernel() const { return kernel; }
  /// The module that gets the kernel, its tables and shared memory.
  mlir::ModuleOp getModule() const {
    return b.getInsertionBlock()
        ->getParentOp()
        ->getParentOfType<mlir::ModuleOp>();
  }

  // Places. Equal ones are stored once.
  const Place &at(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Index> indices,
                  int run = -1);
  /// Row-major. A run goes along the last dimension with more than one element,
  /// and across its end unless `linear` and its size are multiples of a run.
  const Place &at(llvm::ArrayRef<int64_t> shape, const Index &linear,
                  bool isRun = false);
  /// One of a run.
  const Place &one(const Place &run, int64_t number);
  int64_t count(const Place &place) const { return place.run < 0 ? 1 : width; }

  /// The elements of `value` at `place`: one, or one for each of the run.
  /// `layout` is the part that the row at hand sees of it, if there are rows.
  Scalars get(mlir::Value value, const Place &place,
              const RowLayout *layout = nullptr);

  /// Memory. A run that vectors cannot read gives nothing.
  Scalars load(mlir::Value address, mlir::Type element, const Place &place);
  void store(mlir::Value address, mlir::Type element, const Place &place,
             llvm::ArrayRef<mlir::Value> elements);
  /// At a place of a tensor that has its rows as `type` has them.
  void store(mlir::Value address, mlir::RankedTensorType type,
             const Place &place, llvm::ArrayRef<mlir::Value> elements);
  /// An element as f32. bf16 that was loaded two by two is a part of a word.
  mlir::Value widen(mlir::Value element);
  /// The elements of a literal that are not all equal.
  mlir::Value getTable(mlir::DenseElementsAttr elements);
  /// Shared memory of the block, by its name.
  mlir::Value getRoom(const std::string &name, int64_t bytes);
  /// All threads of a block are about to ask for their runs of the only result.
  /// They may meet in the rule that is asked first, and in no other.
  void setTeam(Team all) { team = std::move(all); }
  std::optional<Team> takeTeam() { return std::exchange(team, std::nullopt); }
  /// Scalar number `position` of the launch, an i64.
  mlir::Value getLaunchScalar(int64_t position);

  /// A loop in one lane over 0, 1, ... below `extent`, which carries values.
  using LoopBody =
      llvm::function_ref<Scalars(const Index &, mlir::ValueRange carried)>;
  Scalars loop(const Index &extent, mlir::ValueRange carried, LoopBody body) {
    return loop(indices.literal(0), extent, 1, carried, body);
  }
  /// From `first` by steps of `step`.
  Scalars loop(const Index &first, const Index &end, int64_t step,
               mlir::ValueRange carried, LoopBody body);
  Scalars choose(mlir::Value condition, mlir::TypeRange types,
                 llvm::function_ref<Scalars()> onTrue,
                 llvm::function_ref<Scalars()> onFalse);

  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);

  /// Computes something for a value, once within its scope.
  Scalars once(mlir::Value value, llvm::function_ref<Scalars()> compute);

  using Known =
      llvm::ScopedHashTable<std::pair<mlir::Value, const void *>, Scalars>;
  /// Values computed in a scope are available within it.
  struct Scope {
    explicit Scope(Elements &elements)
        : indices(elements.indices), scope(elements.known) {}
    IndexBuilder::Scope indices;
    Known::ScopeTy scope;
  };

  mlir::OpBuilder &b;
  mlir::Location loc;
  IndexBuilder indices;
  /// The first op that has no rule.
  mlir::Operation *unknown = nullptr;
  /// So many elements were asked for that the code would be too long: a sum
  /// that no rows share is computed again wherever it is used.
  bool isTooLong() const { return numAsked > kMostAsked; }

private:
  static constexpr unsigned kMostAsked = 1 << 15;
  const Place &intern(Place place);

  mlir::func::FuncOp kernel;
  int64_t width;
  unsigned numAsked = 0;
  mlir::Value scalars;
  Lookup lookup;
  std::optional<Team> team;
  llvm::DenseMap<mlir::Value, mlir::Value> addresses;
  Scalars loadHalves(mlir::Value address, mlir::Type element,
                     const Place &place, int64_t piece);
  /// For an element of bf16, the word that it is the high or low half of.
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, bool>> words;
  std::map<std::vector<std::uintptr_t>, Place> places;
  Known known;
  Known::ScopeTy outermost{known};
};

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ELEMENTS_H
