//===- Contraction.cpp - one contraction, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library computes matrix products, one thread per call. The team divides the
// blocks of the result, and each stays in the cache from its product to its
// last epilogue.
//
// The library reads operands in place if it can; others are first loaded into
// the workspace, some steps at a time.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "../../targets/cpu/BlockedProduct.h"
#include "MatrixBlocks.h"
#include "MatrixProduct.h"
#include "pprt/Program.h"

#include <dnnl.h>

#include <algorithm>
#include <array>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

std::unique_ptr<MatrixProduct> cpu::createProduct(ppx::MatrixLibrary library,
                                                  const ProductShape &shape) {
  if (!rulesOf(library).takes(shape))
    return nullptr;
  switch (library) {
  case ppx::MatrixLibrary_onednn_matmul:
    return createOneDnnMatmul(shape);
  case ppx::MatrixLibrary_onednn_gemm:
    return createOneDnnGemm(shape);
  case ppx::MatrixLibrary_openblas:
    return createOpenBlas(shape);
  case ppx::MatrixLibrary_any:
    break;
  }
  return nullptr;
}

/// Locates a block of a matrix.
static StridedMatrix locate(const Operand &operand, void *const *arguments,
                            uint64_t itemOffset, Range rows, Range columns) {
  const uint64_t position = operand.offset + itemOffset +
                            rows.begin * operand.strides.row +
                            columns.begin * operand.strides.column;
  return {static_cast<std::byte *>(arguments[operand.parameter]) +
              position * elementSize(operand.element),
          operand.element, operand.strides.row, operand.strides.column};
}

/// Returns the address of an item of a factor.
static const std::byte *baseOf(const Factor &factor, void *const *arguments,
                               uint64_t itemOffset) {
  return static_cast<const std::byte *>(arguments[factor.parameter]) +
         (factor.offset + itemOffset) * elementSize(factor.element);
}

/// to = the elements in `rows` and `columns`, transposed or not, of the tensor
/// at `data`, which begins at the view's offset.
template <typename T>
static void load(const PatchMatrix &matrix, const std::byte *data,
                 ppx::ElementType element, Range rows, Range columns,
                 bool transposed, const Block<T> &to) {
  const PatchSource source = {data, element, matrix.windows.data(),
                              matrix.windows.size()};
  PatchRange outer = {matrix.rows.data(), matrix.rows.size(), rows.begin},
             inner = {matrix.columns.data(), matrix.columns.size(),
                      columns.begin};
  if (transposed)
    std::swap(outer, inner);
  loadPatches(source, outer, inner, to);
}

namespace {

struct Epilogue {
  ppx::EpilogueKind kind;
  bool hasOperand;
  Operand operand;
};

/// `T` is the type of the sums: double for f64, else float.
template <typename T> class BlockedContraction final : public cpu::Contraction {
public:
  /// Returns null if the library lacks a product that is needed.
  static std::unique_ptr<BlockedContraction>
  create(const ppx::ContractionT &contraction, unsigned threads, Way way) {
    std::unique_ptr<BlockedContraction> result(
        new BlockedContraction(contraction, threads, way));
    return result->createProducts() ? std::move(result) : nullptr;
  }
  void run(void *const *arguments, Team &team) const override;
  uint64_t workspaceBytes() const override {
    return parts * (blockBytes + scratchpadBytes);
  }

private:
  BlockedContraction(const ppx::ContractionT &contraction, unsigned threads,
                     Way way);
  bool createProducts();

  /// The offset of batch item `item` in `operand`, in elements.
  uint64_t itemOffset(const Operand &operand, uint64_t item) const {
    uint64_t offset = 0;
    for (size_t i = plan.batch.size(); i-- > 0; item /= plan.batch[i])
      offset += item % plan.batch[i] * operand.batch[i];
    return offset;
  }
  /// Returns the address of a block of a factor for the library, which loads
  /// elements of type `F` if it is not in place.
  template <typename F>
  const void *place(const Factor &factor, void *const *arguments, uint64_t item,
                    Range rows, Range columns, F *scratch) const;
  const void *place(const Factor &factor, void *const *arguments, uint64_t item,
                    Range rows, Range columns, std::byte *scratch) const {
    const bool isNarrow = elementSize(plan.way.multiplied) == 2;
    return isNarrow ? place(factor, arguments, item, rows, columns,
                            reinterpret_cast<uint16_t *>(scratch))
                    : place(factor, arguments, item, rows, columns,
                            reinterpret_cast<T *>(scratch));
  }
  void runBlock(void *const *arguments, std::byte *scratch, uint64_t item,
                Range rows, Range columns) const;

  const BlockedProduct plan;
  std::vector<Epilogue> epilogues;
  const uint32_t workspace;
  const uint64_t plannedBytes; ///< of the workspace
  const unsigned parts;        ///< that run at the same time
  /// Sizes per part: its scratch memory, and the library's.
  const uint64_t blockBytes;
  uint64_t scratchpadBytes = 0;
  std::array<std::unique_ptr<MatrixProduct>, BlockedProduct::kMostProducts>
      products;
};

template <typename T>
BlockedContraction<T>::BlockedContraction(const ppx::ContractionT &c,
                                          unsigned threads, Way way)
    : plan(c, way), workspace(c.out_parameter + 1),
      plannedBytes(c.workspace_bytes), parts(plan.parts(threads)),
      blockBytes(plan.blockBytes()) {
  for (const std::unique_ptr<ppx::EpilogueT> &epilogue : c.epilogues) {
    const bool reads = readsMore(*epilogue);
    epilogues.push_back(
        {epilogue->kind, reads,
         reads ? Operand(epilogue->parameter, c.out_element, *epilogue->view)
               : Operand()});
    if (plan.isTransposed)
      epilogues.back().operand.transpose();
  }
}

template <typename T> bool BlockedContraction<T>::createProducts() {
  return plan.isTaken() && plan.forEachProduct([&](size_t index,
                                                   const ProductShape &shape) {
    std::unique_ptr<MatrixProduct> &product = products[index];
    if (product)
      return true;
    product = createProduct(plan.way.library, shape);
    if (product)
      scratchpadBytes =
          std::max(scratchpadBytes, alignScratch(product->scratchpadBytes()));
    return product != nullptr;
  });
}

template <typename T>
template <typename F>
const void *BlockedContraction<T>::place(const Factor &factor,
                                         void *const *arguments, uint64_t item,
                                         Range rows, Range columns,
                                         F *scratch) const {
  if (factor.patches && factor.placement.inPlace)
    return baseOf(factor, arguments,
                  itemOffset(factor, item) +
                      factor.patches->rowOffset(rows.begin) +
                      columns.begin * factor.strides.column);
  if (factor.patches) {
    const bool transposed = factor.placement.transposed;
    const uint64_t across = transposed ? columns.size() : rows.size(),
                   along = transposed ? rows.size() : columns.size();
    load(*factor.patches, baseOf(factor, arguments, itemOffset(factor, item)),
         factor.element, rows, columns, transposed,
         Block<F>{scratch, across, along, along});
    return scratch;
  }
  StridedMatrix matrix =
      locate(factor, arguments, itemOffset(factor, item), rows, columns);
  if (factor.placement.inPlace)
    return matrix.data;
  if (factor.placement.transposed) {
    std::swap(rows, columns);
    std::swap(matrix.rowStride, matrix.columnStride);
  }
  load(matrix, Block<F>{scratch, rows.size(), columns.size(), columns.size()});
  return scratch;
}

/// Computes a block of the result, from the first product to the last epilogue.
template <typename T>
void BlockedContraction<T>::runBlock(void *const *arguments, std::byte *scratch,
                                     uint64_t item, Range rows,
                                     Range columns) const {
  const Blocking &blocking = plan.blocking;
  const StridedMatrix result =
      locate(plan.out, arguments, itemOffset(plan.out, item), rows, columns);
  const Block<T> block = {
      blocking.outInPlace ? reinterpret_cast<T *>(result.data)
                          : reinterpret_cast<T *>(scratch + plan.outBegin()),
      rows.size(), columns.size(), plan.outLeading(columns)};
  for (uint64_t step = 0; step < blocking.steps.count(); ++step) {
    const Range steps = blocking.steps.at(step);
    const void *left = place(plan.lhs, arguments, item, rows, steps, scratch);
    const void *right = place(plan.rhs, arguments, item, steps, columns,
                              scratch + plan.rhsBegin());
    products[plan.indexOf(rows, columns, steps)]->run(left, right, block.data,
                                                      scratch + blockBytes);
  }
  for (const Epilogue &epilogue : epilogues) {
    StridedMatrix operand = {};
    if (epilogue.hasOperand)
      operand = locate(epilogue.operand, arguments,
                       itemOffset(epilogue.operand, item), rows, columns);
    finish(epilogue.kind, operand, block);
  }
  if (!blocking.outInPlace)
    store(block, result, plan.accumulate);
}

template <typename T>
void BlockedContraction<T>::run(void *const *arguments, Team &team) const {
  const Blocking &blocking = plan.blocking;
  const uint64_t partBytes = blockBytes + scratchpadBytes;
  auto *memory = partBytes == 0 && plannedBytes == 0
                     ? nullptr
                     : static_cast<std::byte *>(arguments[workspace]);
  // A library need not fill its scratchpad, and the plan may be for another
  // one; all of it is in use, as measured peaks show.
  if (plannedBytes > 0)
    memory[plannedBytes - 1] = std::byte(0);
  const uint64_t rowBlocks = blocking.rows.count();
  const uint64_t columnBlocks = blocking.columns.count();
  const uint64_t blocks = plan.items * columnBlocks * rowBlocks;
  const auto work = [&](unsigned index) {
    for (uint64_t block = blocks * index / parts,
                  end = blocks * (index + 1) / parts;
         block < end; ++block)
      runBlock(arguments, memory + index * partBytes,
               block / rowBlocks / columnBlocks,
               blocking.rows.at(block % rowBlocks),
               blocking.columns.at(block / rowBlocks % columnBlocks));
  };
  if (parts == 1)
    work(0);
  else
    team.run([&](unsigned index) {
      if (index < parts)
        work(index);
    });
}

template <typename T>
std::unique_ptr<cpu::Contraction>
createFor(const ppx::ContractionT &contraction, unsigned threads,
          uint64_t workspace, Way way) {
  for (; threads > 0; --threads) {
    auto made = BlockedContraction<T>::create(contraction, threads, way);
    if (!made || made->workspaceBytes() <= workspace)
      return made;
  }
  return nullptr;
}

} // namespace

/// As far as oneDNN may use it.
static bool hasAvx512() {
  return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
         dnnl_cpu_isa_avx512_core;
}

std::unique_ptr<cpu::Contraction>
cpu::Contraction::create(const ppx::ContractionT &contraction, unsigned threads,
                         uint64_t workspace) {
  std::vector<Way> ways = waysFor(contraction, hasAvx512());
  std::stable_partition(ways.begin(), ways.end(), [&](Way way) {
    return way.library == contraction.library;
  });
  for (Way way : ways)
    if (auto result =
            contraction.element == ppx::ElementType_f64
                ? createFor<double>(contraction, threads, workspace, way)
                : createFor<float>(contraction, threads, workspace, way)) {
      result->library = way.library;
      return result;
    }
  return nullptr;
}
