//===- Tiles.cpp - tiles of a warp ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Tiles.h"
#include "Lanes.h"
#include "pp/IR/PP.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

/// The smallest unit of memory.
static constexpr int64_t kSectorBytes = 32;

/// The last dimension that has more than one element; -1: none.
static int64_t lastOf(Value value) {
  int64_t dim = ranked(value).getRank();
  while (--dim >= 0 && ranked(value).getDimSize(dim) == 1)
    ;
  return dim;
}

namespace {

/// Follows the result's dimensions to the arguments.
struct Finder {
  /// Calls `visit` for arguments with, of each of their dimensions, the one of
  /// the result that it is, or -1.
  void follow(Value value, ArrayRef<int64_t> dims,
              llvm::function_ref<void(Value, ArrayRef<int64_t>)> visit) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return visit(value, dims);
    if (!visited.insert(value).second)
      return;
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<int64_t> from(dims.size());
      for (auto [index, dim] : llvm::enumerate(transpose.getPermutation()))
        from[dim] = dims[index];
      return follow(transpose.getOperand(), from, visit);
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      SmallVector<int64_t> from;
      for (int64_t dim : broadcast.getDimensions())
        from.push_back(dims[dim]);
      return follow(broadcast.getOperand(), from, visit);
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      // Neighbours stay neighbours; the others do not matter.
      Value operand = reshape.getOperand();
      SmallVector<int64_t> from(ranked(operand).getRank(), -1);
      if (lastOf(value) >= 0 && lastOf(operand) >= 0)
        from[lastOf(operand)] = dims[lastOf(value)];
      return follow(operand, from, visit);
    }
    if (op->hasTrait<OpTrait::Elementwise>() || isa<SliceOp, PadOp>(op))
      for (Value operand : op->getOperands())
        if (ranked(operand).getRank() == int64_t(dims.size()))
          follow(operand, dims, visit);
  }
  llvm::DenseSet<Value> visited;
};

} // namespace

std::optional<Tile> pp::gpu::findTile(Value result, int64_t width) {
  ArrayRef<int64_t> shape = ranked(result).getShape();
  const int64_t runs = lastOf(result);
  if (runs < 0 || shape[runs] % width != 0)
    return std::nullopt;
  Tile best;
  int64_t bytes = 0; // the most that are read across
  Finder finder;
  auto look = [&](Value argument, ArrayRef<int64_t> dims) {
    const int64_t last = lastOf(argument), dim = last < 0 ? -1 : dims[last];
    if (dim < 0 || dim == runs)
      return;
    const int64_t element =
        llvm::divideCeil(ranked(argument).getElementTypeBitWidth(), 8);
    int64_t across = kSectorBytes / element;
    while (across > 1 && (shape[dim] % across != 0 ||
                          shape[runs] / width % (kWarp / across) != 0))
      across /= 2;
    const int64_t size = ranked(argument).getNumElements() * element;
    if (across == 1 || size <= bytes)
      return;
    best = {dim, runs, across};
    bytes = size;
  };
  finder.follow(result, llvm::to_vector(llvm::seq<int64_t>(shape.size())),
                look);
  return bytes > 0 ? std::optional(best) : std::nullopt;
}

Index pp::gpu::placeOfRun(IndexBuilder &indices, const Index &run,
                          RankedTensorType type, int64_t width,
                          const Tile &tile) {
  const int64_t beside = kWarp / tile.across;
  SmallVector<int64_t> tiles(type.getShape());
  tiles[tile.dim] /= tile.across;
  tiles[tile.runs] /= width * beside;
  Index lane = indices.remainder(run, kWarp);
  Indices place = indices.delinearize(indices.divide(run, kWarp), tiles);
  place[tile.dim] = indices.add(indices.multiply(place[tile.dim], tile.across),
                                indices.divide(lane, beside));
  place[tile.runs] =
      indices.multiply(indices.add(indices.multiply(place[tile.runs], beside),
                                   indices.remainder(lane, beside)),
                       width);
  return indices.linearize(place, type.getShape());
}
