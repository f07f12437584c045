//===- Contraction.cpp - one contraction, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products are a library's, one thread per call. The team shares out the
// blocks of the result, and each stays in the cache from its product to its
// last epilogue.
//
// Operands go to the library as they lie if it takes them so; others are first
// loaded into the workspace, some steps at a time.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "Blocking.h"
#include "MatrixBlocks.h"
#include "MatrixProduct.h"
#include "PatchMatrix.h"
#include "pprt/Program.h"

#include <dnnl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

/// Scratch memory is handed out in cache lines.
uint64_t alignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// A view, the parameter it lies in, and its type.
struct Operand {
  uint32_t parameter = 0;
  ppx::ElementType element = ppx::ElementType_f32;
  uint64_t offset = 0;
  Strides strides;
  std::vector<uint64_t> batch;

  Operand() = default;
  Operand(uint32_t parameter, ppx::ElementType element,
          const ppx::MatrixViewT &view)
      : parameter(parameter), element(element), offset(view.offset),
        strides{view.row_stride, view.column_stride}, batch(view.batch) {}

  void transpose() { std::swap(strides.row, strides.column); }

  StridedMatrix at(void *const *arguments, uint64_t itemOffset, Range rows,
                   Range columns) const {
    const uint64_t position = offset + itemOffset + rows.begin * strides.row +
                              columns.begin * strides.column;
    return {static_cast<std::byte *>(arguments[parameter]) +
                position * elementSize(element),
            element, strides.row, strides.column};
  }
};

/// An operand that is multiplied.
struct Factor : Operand {
  FactorPlacement placement;
  std::optional<PatchMatrix> patches; ///< if it is no plain matrix

  Factor(uint32_t parameter, ppx::ElementType element,
         const ppx::MatrixViewT &view, uint64_t rows, uint64_t columns)
      : Operand(parameter, element, view) {
    // Of no elements, loops may be of none, too, and nothing is read.
    if (!PatchMatrix::isNeededFor(view) || rows == 0 || columns == 0)
      return;
    patches.emplace(view, rows, columns);
    strides = patches->strides();
  }

  void transpose() {
    Operand::transpose();
    if (patches)
      patches->transpose();
  }
  const std::byte *base(void *const *arguments, uint64_t itemOffset) const {
    return static_cast<const std::byte *>(arguments[parameter]) +
           (offset + itemOffset) * elementSize(element);
  }

  /// As the library sees a block.
  FactorLayout layout(Range rows, Range columns) const {
    const bool transposed = placement.transposed;
    const Range across = transposed ? rows : columns;
    const Range along = transposed ? columns : rows;
    const uint64_t stride = transposed ? strides.column : strides.row;
    const uint64_t width = std::max<uint64_t>(1, across.size());
    return {transposed, placement.inPlace && along.size() > 1
                            ? std::max(stride, width)
                            : width};
  }
};

struct Epilogue {
  ppx::EpilogueKind kind;
  bool hasOperand;
  Operand operand;
};

/// `T` is what is computed in: f64 in double, f32 and bf16 in float.
template <typename T> class BlockedContraction final : public cpu::Contraction {
public:
  /// Null if the library does not have what is needed.
  static std::unique_ptr<BlockedContraction>
  create(const ppx::ContractionT &contraction, unsigned threads,
         const MatrixLibrary &library, ppx::ElementType multiplied) {
    std::unique_ptr<BlockedContraction> result(new BlockedContraction(
        contraction, threads, library.limits, multiplied));
    return result->createProducts(library, multiplied) ? std::move(result)
                                                       : nullptr;
  }
  void run(void *const *arguments, Team &team) const override;
  uint64_t workspaceBytes() const override {
    return parts * (blockBytes + scratchpadBytes);
  }

private:
  static constexpr ppx::ElementType kElement =
      sizeof(T) == 8 ? ppx::ElementType_f64 : ppx::ElementType_f32;

  BlockedContraction(const ppx::ContractionT &contraction, unsigned threads,
                     const BlockLimits &limits, ppx::ElementType multiplied);
  bool createProducts(const MatrixLibrary &library,
                      ppx::ElementType multiplied);

  /// The offset of batch item `item` in `operand`, in elements.
  uint64_t itemOffset(const Operand &operand, uint64_t item) const {
    uint64_t offset = 0;
    for (size_t i = batch.size(); i-- > 0; item /= batch[i])
      offset += item % batch[i] * operand.batch[i];
    return offset;
  }
  /// Where sums are kept: in the result, or in dense scratch memory.
  uint64_t outLeading(Range columns) const {
    return blocking.outInPlace ? std::max(out.strides.row, columns.size())
                               : columns.size();
  }
  /// Whether steps are added to what is already there.
  bool adds(Range steps) const {
    return steps.begin > 0 || (blocking.outInPlace && accumulate);
  }
  /// Blocks have one of two sizes along each dimension.
  size_t indexOfProduct(Range rows, Range columns, Range steps) const {
    return size_t(rows.size() == blocking.rows.block) +
           2 * size_t(columns.size() == blocking.columns.block) +
           4 * size_t(steps.size() == blocking.steps.block) +
           8 * size_t(adds(steps));
  }
  const void *place(const Factor &factor, void *const *arguments, uint64_t item,
                    Range rows, Range columns, T *scratch) const;
  void runBlock(void *const *arguments, std::byte *scratch, uint64_t item,
                Range rows, Range columns) const;

  std::vector<uint64_t> batch;
  uint64_t items = 1;
  double alpha;
  bool accumulate;
  Factor lhs, rhs;
  Operand out;
  std::vector<Epilogue> epilogues;
  uint32_t workspace;

  Blocking blocking;
  unsigned parts; ///< that run at the same time
  /// Scratch elements of one part.
  uint64_t lhsElements, rhsElements, outElements;
  /// Of one part: the bytes of those, and the library's.
  uint64_t blockBytes, scratchpadBytes = 0;
  std::array<std::unique_ptr<MatrixProduct>, 16> products;
};

template <typename T>
BlockedContraction<T>::BlockedContraction(const ppx::ContractionT &c,
                                          unsigned threads,
                                          const BlockLimits &limits,
                                          ppx::ElementType multiplied)
    : batch(c.batch), alpha(c.alpha), accumulate(c.accumulate),
      lhs(0, c.element, *c.lhs, c.m, c.k), rhs(1, c.element, *c.rhs, c.k, c.n),
      out(c.out_parameter, c.out_element, *c.out),
      workspace(c.out_parameter + 1) {
  for (const std::unique_ptr<ppx::EpilogueT> &epilogue : c.epilogues) {
    const bool reads = readsMore(*epilogue);
    epilogues.push_back(
        {epilogue->kind, reads,
         reads ? Operand(epilogue->parameter, c.out_element, *epilogue->view)
               : Operand()});
  }
  for (uint64_t extent : batch)
    items *= extent;
  uint64_t m = c.m, n = c.n;
  // Results are rows: one that lies in columns is transposed.
  if (out.strides.column != 1 && out.strides.row == 1) {
    std::swap(m, n);
    std::swap(lhs, rhs);
    lhs.transpose();
    rhs.transpose();
    out.transpose();
    for (Epilogue &epilogue : epilogues)
      epilogue.operand.transpose();
  }
  const bool mayWrite =
      out.element == kElement && !(accumulate && !epilogues.empty());
  // Fewer steps alike are not worth a call of the library.
  constexpr uint64_t fewSteps = 16;
  const bool mayRead = c.element == multiplied;
  const uint64_t alike = rhs.patches ? rhs.patches->rowsAlike() : 0;
  const bool isInPieces = mayRead && alike >= fewSteps;
  blocking = Blocking::choose({items, m, n, c.k, lhs.strides, rhs.strides,
                               out.strides, mayRead && !lhs.patches,
                               mayRead && (!rhs.patches || isInPieces),
                               mayWrite, limits, isInPieces ? alike : 0});
  lhs.placement = blocking.lhs;
  rhs.placement = blocking.rhs;
  parts = blocking.isShared ? threads : 1;
  const Range rows = blocking.rows.at(0), columns = blocking.columns.at(0),
              steps = blocking.steps.at(0);
  lhsElements = blocking.lhs.inPlace ? 0 : rows.size() * steps.size();
  rhsElements = blocking.rhs.inPlace ? 0 : steps.size() * columns.size();
  outElements = blocking.outInPlace ? 0 : rows.size() * columns.size();
  blockBytes = alignUp((lhsElements + rhsElements + outElements) * sizeof(T));
}

template <typename T>
bool BlockedContraction<T>::createProducts(const MatrixLibrary &library,
                                           ppx::ElementType multiplied) {
  // What is loaded has the type that is computed in.
  if (multiplied != kElement && !(blocking.lhs.inPlace && blocking.rhs.inPlace))
    return false;
  // The first block and the last are of all sizes; so are the first two steps
  // and the last.
  const uint64_t lastStep = blocking.steps.count() - 1;
  for (uint64_t row : {uint64_t(0), blocking.rows.count() - 1})
    for (uint64_t column : {uint64_t(0), blocking.columns.count() - 1})
      for (uint64_t step :
           {uint64_t(0), std::min<uint64_t>(1, lastStep), lastStep}) {
        const Range rows = blocking.rows.at(row),
                    columns = blocking.columns.at(column),
                    steps = blocking.steps.at(step);
        std::unique_ptr<MatrixProduct> &product =
            products[indexOfProduct(rows, columns, steps)];
        if (product)
          continue;
        product = library.create({multiplied, rows.size(), columns.size(),
                                  steps.size(), lhs.layout(rows, steps),
                                  rhs.layout(steps, columns),
                                  outLeading(columns), alpha, adds(steps)});
        if (!product)
          return false;
        scratchpadBytes =
            std::max(scratchpadBytes, alignUp(product->scratchpadBytes()));
      }
  return true;
}

/// Where the library finds a block of a factor.
template <typename T>
const void *BlockedContraction<T>::place(const Factor &factor,
                                         void *const *arguments, uint64_t item,
                                         Range rows, Range columns,
                                         T *scratch) const {
  if (factor.patches && factor.placement.inPlace)
    return factor.base(arguments, itemOffset(factor, item) +
                                      factor.patches->rowOffset(rows.begin) +
                                      columns.begin * factor.strides.column);
  if (factor.patches) {
    const bool transposed = factor.placement.transposed;
    const uint64_t across = transposed ? columns.size() : rows.size(),
                   along = transposed ? rows.size() : columns.size();
    factor.patches->load(factor.base(arguments, itemOffset(factor, item)),
                         factor.element, rows, columns, transposed,
                         Block<T>{scratch, across, along, along});
    return scratch;
  }
  StridedMatrix matrix =
      factor.at(arguments, itemOffset(factor, item), rows, columns);
  if (factor.placement.inPlace)
    return matrix.data;
  if (factor.placement.transposed) {
    std::swap(rows, columns);
    std::swap(matrix.rowStride, matrix.columnStride);
  }
  load(matrix, Block<T>{scratch, rows.size(), columns.size(), columns.size()});
  return scratch;
}

/// One block of the result, from the first product to the last epilogue.
template <typename T>
void BlockedContraction<T>::runBlock(void *const *arguments, std::byte *scratch,
                                     uint64_t item, Range rows,
                                     Range columns) const {
  T *elements = reinterpret_cast<T *>(scratch);
  // A library need not fill its scratchpad; it is in use all the same.
  if (scratchpadBytes > 0)
    scratch[blockBytes + scratchpadBytes - 1] = std::byte(0);
  const StridedMatrix result =
      out.at(arguments, itemOffset(out, item), rows, columns);
  const Block<T> block = {blocking.outInPlace
                              ? reinterpret_cast<T *>(result.data)
                              : elements + lhsElements + rhsElements,
                          rows.size(), columns.size(), outLeading(columns)};
  for (uint64_t step = 0; step < blocking.steps.count(); ++step) {
    const Range steps = blocking.steps.at(step);
    const void *left = place(lhs, arguments, item, rows, steps, elements);
    const void *right =
        place(rhs, arguments, item, steps, columns, elements + lhsElements);
    products[indexOfProduct(rows, columns, steps)]->run(left, right, block.data,
                                                        scratch + blockBytes);
  }
  for (const Epilogue &epilogue : epilogues) {
    StridedMatrix operand = {};
    if (epilogue.hasOperand)
      operand = epilogue.operand.at(
          arguments, itemOffset(epilogue.operand, item), rows, columns);
    finish(epilogue.kind, operand, block);
  }
  if (!blocking.outInPlace)
    store(block, result, accumulate);
}

template <typename T>
void BlockedContraction<T>::run(void *const *arguments, Team &team) const {
  const uint64_t partBytes = blockBytes + scratchpadBytes;
  auto *memory =
      partBytes == 0 ? nullptr : static_cast<std::byte *>(arguments[workspace]);
  const uint64_t rowBlocks = blocking.rows.count();
  const uint64_t columnBlocks = blocking.columns.count();
  const uint64_t blocks = items * columnBlocks * rowBlocks;
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
          uint64_t workspace, const MatrixLibrary &library,
          ppx::ElementType multiplied) {
  for (; threads > 0; --threads) {
    auto made = BlockedContraction<T>::create(contraction, threads, library,
                                              multiplied);
    if (!made || made->workspaceBytes() <= workspace)
      return made;
  }
  return nullptr;
}

} // namespace

Status cpu::verifyContraction(const ppx::ContractionT &contraction) {
  for (ppx::ElementType element :
       {contraction.element, contraction.out_element})
    if (element != ppx::ElementType_f32 && element != ppx::ElementType_f64 &&
        element != ppx::ElementType_bf16)
      return Status(ExitCode::badArtifact,
                    std::string("contraction expects f32, f64 or bf16, got ") +
                        ppx::EnumNameElementType(element));
  for (const std::unique_ptr<ppx::EpilogueT> &epilogue : contraction.epilogues)
    if (writesMore(*epilogue) ||
        epilogue->kind == ppx::EpilogueKind_gelu_tanh_gradient)
      return Status(ExitCode::badArtifact,
                    std::string("contraction expects one result, and none of a "
                                "gradient's epilogues, on processors, got ") +
                        ppx::EnumNameEpilogueKind(epilogue->kind));
  return {};
}

namespace {
/// A library and the type that it multiplies.
struct Way {
  ppx::MatrixLibrary library;
  ppx::ElementType multiplied;
};
} // namespace

/// As far as oneDNN is allowed to use it.
static bool hasAvx512() {
  return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
         dnnl_cpu_isa_avx512_core;
}

/// Of the processors of a level: of those here, what oneDNN says; of others,
/// what the level promises.
static bool hasAvx512(const std::string &level) {
  return level == processorLevel() ? hasAvx512() : runsOn("x86-64-v4", level);
}

/// The fastest first, as benchmarks/README.md has them; then what needs less.
static std::vector<Way> waysFor(const ppx::ContractionT &contraction,
                                bool avx512) {
  constexpr ppx::ElementType f32 = ppx::ElementType_f32;
  // Rows or columns, or steps of a left factor in rows, up to which oneDNN
  // leads without AVX-512.
  constexpr uint64_t narrow = 128, brief = 512;
  // Multiply-adds that take less than a call of oneDNN.
  constexpr uint64_t tiny = 1 << 17;
  const bool isTiny = contraction.m * contraction.n * contraction.k < tiny;
  const bool isBrief =
      contraction.k <= brief && contraction.lhs->column_stride == 1;
  switch (contraction.element) {
  case ppx::ElementType_f64:
    return {{ppx::MatrixLibrary_openblas, ppx::ElementType_f64}};
  case ppx::ElementType_bf16:
    return {{ppx::MatrixLibrary_onednn_matmul, ppx::ElementType_bf16},
            {ppx::MatrixLibrary_onednn_matmul, f32},
            {ppx::MatrixLibrary_onednn_gemm, f32},
            {ppx::MatrixLibrary_openblas, f32}};
  default:
    if (!isTiny &&
        (avx512 || isBrief || std::min(contraction.m, contraction.n) <= narrow))
      return {{ppx::MatrixLibrary_onednn_gemm, f32},
              {ppx::MatrixLibrary_onednn_matmul, f32},
              {ppx::MatrixLibrary_openblas, f32}};
    return {{ppx::MatrixLibrary_openblas, f32},
            {ppx::MatrixLibrary_onednn_gemm, f32}};
  }
}

static std::unique_ptr<cpu::Contraction>
createIn(Way way, const ppx::ContractionT &contraction, unsigned threads,
         uint64_t workspace) {
  const MatrixLibrary &library =
      way.library == ppx::MatrixLibrary_openblas      ? kOpenBlas
      : way.library == ppx::MatrixLibrary_onednn_gemm ? kOneDnnGemm
                                                      : kOneDnnMatmul;
  return contraction.element == ppx::ElementType_f64
             ? createFor<double>(contraction, threads, workspace, library,
                                 way.multiplied)
             : createFor<float>(contraction, threads, workspace, library,
                                way.multiplied);
}

std::unique_ptr<cpu::Contraction>
cpu::Contraction::create(const ppx::ContractionT &contraction, unsigned threads,
                         uint64_t workspace) {
  std::vector<Way> ways = waysFor(contraction, hasAvx512());
  std::stable_partition(ways.begin(), ways.end(), [&](Way way) {
    return way.library == contraction.library;
  });
  for (Way way : ways)
    if (auto result = createIn(way, contraction, threads, workspace)) {
      result->library = way.library;
      return result;
    }
  return nullptr;
}

void cpu::planContraction(ppx::ContractionT &contraction, unsigned threads,
                          const std::string &level) {
  const bool avx512 = hasAvx512(level);
  contraction.library = ppx::MatrixLibrary_any;
  contraction.workspace_bytes = 0;
  for (Way way : waysFor(contraction, avx512)) {
    // oneDNN's matmul answers for the processor at hand. What it would take
    // there it does not have without AVX-512.
    if (way.library == ppx::MatrixLibrary_onednn_matmul && !avx512)
      continue;
    if (const auto created = createIn(way, contraction, threads,
                                      std::numeric_limits<uint64_t>::max())) {
      contraction.library = way.library;
      contraction.workspace_bytes = created->workspaceBytes();
      return;
    }
  }
}
