//===- Lanes.h - threads that work on one row together ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A block of threads computes one row, or several; lanes 0, 1, ... of a row are
// neighbours in it. Values of lanes are combined by shuffles within a warp and
// through shared memory between warps, in an order that depends on the number
// of lanes alone: the same bits every time.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_LANES_H
#define PP_LIB_TARGET_GPU_LANES_H

#include "ElementRules.h"

namespace pp::gpu {

constexpr int64_t kWarp = 32;
constexpr int64_t kLargestBlock = 1024;
/// Shared memory that every GPU has for a block, without asking for more.
constexpr int64_t kSharedBytes = 48 << 10;

class Lanes {
public:
  /// `thread`: in the block, of `block`. `lanes` is a power of two, of a warp
  /// or of the whole block.
  /// They hand each other `handedBytes` (countHandedBytes) at most.
  Lanes(Elements &elements, mlir::Value thread, int64_t block, int64_t lanes,
        int64_t handedBytes);

  /// Bytes of shared memory for `count` elements, and for values of that many
  /// columns, `bytes` each, between warps.
  static int64_t countBytes(mlir::Type element, int64_t count);
  static int64_t countHandedBytes(int64_t lanes, int64_t columns,
                                  int64_t bytes);

  int64_t count() const { return lanes; }
  const Index &lane() const { return self; }
  /// Which of the block's rows.
  const Index &row() const { return rowOfBlock; }

  /// Combines the values of all lanes of the row; every lane gets the result.
  /// The block's threads synchronize between every second call.
  Scalars combine(const Reducer &reducer, Scalars mine);
  /// The same over lanes that are `apart` from each other, each of which has
  /// `step` neighbouring columns. `take` is built where a lane has the total of
  /// a column, below `apart` * `step`; each column belongs to one lane.
  void
  combineApart(const Reducer &reducer, Scalars mine, int64_t apart,
               int64_t step,
               llvm::function_ref<void(const Index &column, Scalars)> take);

  /// All threads of the block meet here.
  void meet();
  /// Room for `count` elements for each row of the block.
  mlir::Value allocate(mlir::Type element, int64_t count);
  mlir::Value loadShared(mlir::Value room, mlir::Type element,
                         const Index &index);
  void storeShared(mlir::Value room, mlir::Value value, const Index &index);

private:
  mlir::Value exchange(mlir::Value value, int64_t distance);
  Scalars combineWarp(const Reducer &reducer, Scalars mine, int64_t apart);
  mlir::Value isBelow(const Index &index, int64_t end);
  /// Rooms in shared memory for `count` values, one for each type.
  llvm::SmallVector<mlir::Value> getRooms(mlir::TypeRange types, int64_t count);
  /// Combines the values of all warps in `rooms`, `stride` apart.
  Scalars combineWarps(const Reducer &reducer,
                       llvm::ArrayRef<mlir::Value> rooms, mlir::TypeRange types,
                       const Index &first, int64_t stride);

  Elements &e;
  int64_t block, lanes;
  Index self, rowOfBlock;
  const int64_t handedBytes;
  /// Values alternate between two rooms: all threads have read one when they
  /// synchronize before the other is read.
  bool isSecondRoom = false;
  int64_t usedBytes = 0;
};

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_LANES_H
