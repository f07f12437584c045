//===- Products.cpp - contractions by cublasLt ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Products.h"
#include "../../targets/cuda/Remainders.h"
#include "pprt/Alignment.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cuda;

/// Returns from the function if the library refuses.
#define PP_TRY_BLAS(library, call, ...)                                        \
  if (Status status =                                                          \
          (library).check((library).blas.call(__VA_ARGS__), #call);            \
      !status.ok())                                                            \
  return status

Expected<std::shared_ptr<const BlasHandle>>
BlasHandle::open(std::shared_ptr<const Gpu> gpu) {
  Expected<Blas> blas = openBlas(gpu->driver.version);
  if (!blas)
    return blas.status();
  auto result = std::make_shared<BlasHandle>();
  result->blas = std::move(*blas);
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  PP_TRY_BLAS(*result, cublasLtCreate, &result->handle);
  result->gpu = std::move(gpu);
  return std::shared_ptr<const BlasHandle>(std::move(result));
}

BlasHandle::~BlasHandle() {
  if (handle && gpu->makeCurrent().ok())
    blas.cublasLtDestroy(handle);
}

Status BlasHandle::check(cublasStatus_t result, const char *call) const {
  if (result == CUBLAS_STATUS_SUCCESS)
    return {};
  return Status(result == CUBLAS_STATUS_ALLOC_FAILED ? ExitCode::outOfMemory
                                                     : ExitCode::device,
                std::string(call) + ": " +
                    blas.cublasLtGetStatusString(result) + " (" +
                    std::to_string(result) + ')');
}

static cudaDataType toDataType(ppx::ElementType element) {
  return element == ppx::ElementType_f64   ? CUDA_R_64F
         : element == ppx::ElementType_f32 ? CUDA_R_32F
         : element == ppx::ElementType_f16 ? CUDA_R_16F
                                           : CUDA_R_16BF;
}

ProductPart::ProductPart(std::shared_ptr<const BlasHandle> itsLibrary,
                         const ppx::ContractionT &c, MatrixProducts itsProducts)
    : library(std::move(itsLibrary)), products(std::move(itsProducts)),
      element(c.element), outElement(c.out_element),
      isTf32(c.tf32 && c.element == ppx::ElementType_f32),
      outParameter(c.out_parameter), workspace(workspaceParameter(c)),
      workspaceBytes(c.workspace_bytes),
      usesPointers(products.tableBytes() > 0), alpha32(float(c.alpha)),
      beta32(products.accumulates || products.addend ? 1 : 0), alpha64(c.alpha),
      beta64(beta32),
      operation(nullptr, library->blas.cublasLtMatmulDescDestroy),
      left(nullptr, library->blas.cublasLtMatrixLayoutDestroy),
      right(nullptr, library->blas.cublasLtMatrixLayoutDestroy),
      addend(nullptr, library->blas.cublasLtMatrixLayoutDestroy),
      out(nullptr, library->blas.cublasLtMatrixLayoutDestroy) {}

/// Returns the alignment in bytes of an address in a slot.
static uint32_t alignmentAt(uint64_t bytes) {
  const uint64_t bits = bytes | kSlotAlignment;
  return uint32_t(bits & -bits);
}

Status ProductPart::prepare() {
  Status status = describe();
  // The choice depends on the alignment of these, and fails without them.
  if (status.ok())
    status = pointEpilogue([&](const MatrixProducts::Place &place) {
      return reinterpret_cast<const void *>(
          uintptr_t(alignmentAt(place.offset * elementSize(outElement))));
    });
  return status.ok() ? choose() : status;
}

Status ProductPart::describe(Layout &layout, ppx::ElementType type,
                             const Matrix &matrix) const {
  cublasLtMatrixLayout_t made = nullptr;
  PP_TRY_BLAS(*library, cublasLtMatrixLayoutCreate, &made, toDataType(type),
              matrix.rows, matrix.columns, int64_t(matrix.leading));
  layout.reset(made);
  if (usesPointers) {
    const auto count = int32_t(products.calls.size() * products.batch);
    const auto mode = uint32_t(CUBLASLT_BATCH_MODE_POINTER_ARRAY);
    PP_TRY_BLAS(*library, cublasLtMatrixLayoutSetAttribute, made,
                CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    PP_TRY_BLAS(*library, cublasLtMatrixLayoutSetAttribute, made,
                CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, sizeof(mode));
    return {};
  }
  const auto count = int32_t(products.batch);
  const auto stride = int64_t(matrix.batchStride);
  PP_TRY_BLAS(*library, cublasLtMatrixLayoutSetAttribute, made,
              CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
  PP_TRY_BLAS(*library, cublasLtMatrixLayoutSetAttribute, made,
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
              sizeof(stride));
  return {};
}

template <typename T>
Status ProductPart::set(cublasLtMatmulDescAttributes_t attribute,
                        T value) const {
  PP_TRY_BLAS(*library, cublasLtMatmulDescSetAttribute, operation.get(),
              attribute, &value, sizeof(value));
  return {};
}

namespace {
struct NamedEpilogue {
  cublasLtEpilogue_t value;
  const char *name;
};
} // namespace

static NamedEpilogue epilogueOf(const MatrixProducts &products) {
#define PP_EPILOGUE(name)                                                      \
  NamedEpilogue { CUBLASLT_EPILOGUE_##name, #name }
  using Vector = MatrixProducts::Vector;
  using Activation = MatrixProducts::Activation;
  const bool hasBias = products.vectorRole == Vector::bias;
  if (products.activation == Activation::geluGradient)
    return PP_EPILOGUE(DGELU);
  if (products.activation == Activation::gelu)
    return products.auxiliary
               ? hasBias ? PP_EPILOGUE(GELU_AUX_BIAS) : PP_EPILOGUE(GELU_AUX)
           : hasBias ? PP_EPILOGUE(GELU_BIAS)
                     : PP_EPILOGUE(GELU);
  return hasBias                                    ? PP_EPILOGUE(BIAS)
         : products.vectorRole == Vector::leftSums  ? PP_EPILOGUE(BGRADA)
         : products.vectorRole == Vector::rightSums ? PP_EPILOGUE(BGRADB)
                                                    : PP_EPILOGUE(DEFAULT);
#undef PP_EPILOGUE
}

Status ProductPart::describeEpilogue() const {
  const cublasLtEpilogue_t epilogue = epilogueOf(products).value;
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT)
    return {};
  Status status = set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(epilogue));
  if (status.ok() && products.auxiliary)
    status = set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                 int64_t(products.auxiliaryLeading));
  return status;
}

Status ProductPart::describe() {
  const bool isDouble = element == ppx::ElementType_f64;
  cublasLtMatmulDesc_t made = nullptr;
  PP_TRY_BLAS(*library, cublasLtMatmulDescCreate, &made,
              isDouble ? CUBLAS_COMPUTE_64F
              : isTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                       : CUBLAS_COMPUTE_32F,
              isDouble ? CUDA_R_64F : CUDA_R_32F);
  operation.reset(made);
  Status status;
  for (const auto &[attribute, matrix] :
       {std::pair(CUBLASLT_MATMUL_DESC_TRANSA, &products.left),
        {CUBLASLT_MATMUL_DESC_TRANSB, &products.right}})
    if (status.ok())
      status = set(attribute, matrix->isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  return status.ok() ? describeEpilogue() : status;
}

Status ProductPart::describeMatrices() {
  Status status = describe(left, element, products.left);
  if (status.ok())
    status = describe(right, element, products.right);
  if (status.ok())
    status = describe(out, outElement, products.out);
  if (status.ok() && products.addend)
    status = describe(addend, outElement, products.addendLayout);
  return status;
}

/// Libraries before 12.9 do not support arrays of pointers, and not all
/// products have an algorithm that does.
Status ProductPart::choose() {
  Status status = describeMatrices();
  if (status.ok())
    status = chooseAlgorithm();
  if (status.ok() || !usesPointers)
    return status;
  usesPointers = false;
  status = describeMatrices();
  return status.ok() ? chooseAlgorithm() : status;
}

/// Returns the alignment of the addresses that calls get.
uint32_t ProductPart::alignment(uint64_t MatrixProducts::Call::*place,
                                ppx::ElementType type) const {
  uint64_t bits = 0;
  for (const MatrixProducts::Call &call : products.calls)
    bits |= call.*place * elementSize(type);
  // The library itself knows the strides.
  if (usesPointers)
    bits |= (place == &MatrixProducts::Call::left    ? products.left
             : place == &MatrixProducts::Call::right ? products.right
                                                     : products.out)
                .batchStride *
            elementSize(type);
  return alignmentAt(bits);
}

Status ProductPart::chooseAlgorithm() {
  using Call = MatrixProducts::Call;
  cublasLtMatmulPreference_t made = nullptr;
  PP_TRY_BLAS(*library, cublasLtMatmulPreferenceCreate, &made);
  const Descriptor<cublasLtMatmulPreferenceOpaque_t> preference(
      made, library->blas.cublasLtMatmulPreferenceDestroy);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                       auto value) -> Status {
    PP_TRY_BLAS(*library, cublasLtMatmulPreferenceSetAttribute, made, attribute,
                &value, sizeof(value));
    return {};
  };
  Status status =
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(workspaceBytes));
  // Parts of a sum are not rounded before they are added.
  if (status.ok())
    status = set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto &[attribute, bytes] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                  alignment(&Call::left, element)),
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
         alignment(&Call::right, element)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
         products.addend
             ? alignmentAt(products.addend->offset * elementSize(outElement))
             : alignment(&Call::out, outElement)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
         alignment(&Call::out, outElement)}})
    if (status.ok())
      status = set(attribute, uint32_t(bytes));
  if (!status.ok())
    return status;
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  const cublasStatus_t asked = library->blas.cublasLtMatmulAlgoGetHeuristic(
      library->handle, operation.get(), left.get(), right.get(),
      (products.addend ? addend : out).get(), out.get(), made, 1, &best,
      &found);
  const cublasStatus_t got = asked != CUBLAS_STATUS_SUCCESS ? asked
                             : found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED
                                          : best.state;
  isRefused =
      got == CUBLAS_STATUS_NOT_SUPPORTED || got == CUBLAS_STATUS_INVALID_VALUE;
  if (isRefused)
    return Status(ExitCode::device,
                  "expects an algorithm for " + spell() + ", got none of " +
                      library->blas.file + ": " +
                      library->blas.cublasLtGetStatusString(got) + " (" +
                      std::to_string(got) + ')');
  algorithm = best.algo;
  return library->check(got, "cublasLtMatmulAlgoGetHeuristic");
}

/// For questions to NVIDIA.
std::string ProductPart::spell() const {
  const auto matrix = [&](const char *name, const Matrix &its,
                          ppx::ElementType type, uint32_t alignment) {
    return std::string(", ") + name + ' ' + (its.isTransposed ? "T " : "N ") +
           ppx::EnumNameElementType(type) + " by " +
           std::to_string(its.leading) + " at multiples of " +
           std::to_string(alignment) + " bytes";
  };
  using Call = MatrixProducts::Call;
  return std::to_string(products.out.rows) + 'x' +
         std::to_string(products.out.columns) + " over " +
         std::to_string(products.steps()) + ", " +
         std::to_string(products.batch) + " times, epilogue " +
         epilogueOf(products).name + (isTf32 ? ", as TF32" : "") +
         matrix("A", products.left, element, alignment(&Call::left, element)) +
         matrix("B", products.right, element,
                alignment(&Call::right, element)) +
         matrix("D", products.out, outElement,
                alignment(&Call::out, outElement)) +
         ", " + std::to_string(workspaceBytes) + " bytes of workspace";
}

static const void *placeIn(const std::vector<CUdeviceptr> &arguments,
                           const MatrixProducts::Place &place,
                           ppx::ElementType type) {
  return reinterpret_cast<const void *>(
      uintptr_t(arguments[place.parameter] + place.offset * elementSize(type)));
}

Status ProductPart::pointEpilogue(
    const std::function<const void *(const MatrixProducts::Place &)> &address)
    const {
  Status status;
  if (products.vectorRole != MatrixProducts::Vector::none)
    status = set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, address(products.vector));
  if (status.ok() && products.auxiliary)
    status = set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                 address(*products.auxiliary));
  return status;
}

std::vector<CUdeviceptr>
ProductPart::makeTable(const std::vector<CUdeviceptr> &arguments) const {
  const uint32_t first = products.isSwapped ? 1 : 0;
  std::vector<CUdeviceptr> table;
  const auto add = [&](uint32_t parameter, ppx::ElementType type,
                       const Matrix &matrix,
                       uint64_t MatrixProducts::Call::*place) {
    for (const MatrixProducts::Call &call : products.calls)
      for (uint64_t item = 0; item < products.batch; ++item)
        table.push_back(arguments[parameter] +
                        (call.*place + item * matrix.batchStride) *
                            elementSize(type));
  };
  using Call = MatrixProducts::Call;
  add(first, element, products.left, &Call::left);
  add(1 - first, element, products.right, &Call::right);
  add(outParameter, outElement, products.out, &Call::out);
  return table;
}

Status ProductPart::run(CUstream stream,
                        const std::vector<CUdeviceptr> &arguments,
                        CUdeviceptr table, bool *isRefused) const {
  const auto check = [&](cublasStatus_t result) {
    if (isRefused)
      *isRefused = result == CUBLAS_STATUS_NOT_SUPPORTED;
    return library->check(result, "cublasLtMatmul");
  };
  const bool isDouble = element == ppx::ElementType_f64;
  const void *alpha = isDouble ? static_cast<const void *>(&alpha64) : &alpha32;
  const void *beta = isDouble ? static_cast<const void *>(&beta64) : &beta32;
  const auto place = [&](uint32_t parameter, uint64_t offset,
                         ppx::ElementType type) {
    return const_cast<void *>(placeIn(arguments, {parameter, offset}, type));
  };
  const uint32_t first = products.isSwapped ? 1 : 0;
  void *scratch =
      workspaceBytes == 0 ? nullptr : place(workspace, 0, outElement);
  if (usesPointers) {
    const auto array = [&](uint64_t index) {
      return reinterpret_cast<void *>(
          uintptr_t(table + index * (tableBytes() / 3)));
    };
    return check(library->blas.cublasLtMatmul(
        library->handle, operation.get(), alpha, array(0), left.get(), array(1),
        right.get(), beta, array(2), out.get(), array(2), out.get(), &algorithm,
        scratch, workspaceBytes, stream));
  }
  // All launches share the descriptor, but each has its own pointers in it.
  std::unique_lock<std::mutex> lock(pointers, std::defer_lock);
  if (products.vectorRole != MatrixProducts::Vector::none ||
      products.auxiliary) {
    lock.lock();
    if (Status status = pointEpilogue([&](const MatrixProducts::Place &its) {
          return placeIn(arguments, its, outElement);
        });
        !status.ok())
      return status;
  }
  for (const MatrixProducts::Call &call : products.calls) {
    void *result = place(outParameter, call.out, outElement);
    const void *added = products.addend
                            ? placeIn(arguments, *products.addend, outElement)
                            : result;
    if (Status status = check(library->blas.cublasLtMatmul(
            library->handle, operation.get(), alpha,
            place(first, call.left, element), left.get(),
            place(1 - first, call.right, element), right.get(), beta, added,
            (products.addend ? addend : out).get(), result, out.get(),
            &algorithm, scratch, workspaceBytes, stream));
        !status.ok())
      return status;
  }
  return {};
}

Expected<std::unique_ptr<const Product>>
Product::create(const std::shared_ptr<const BlasHandle> &library,
                const ppx::ContractionT &contraction, bool mayFuse) {
  const Expected<MatrixProducts> products = findProducts(contraction);
  if (!products)
    return products.status();
  auto result = std::make_unique<Product>();
  const bool hasUnfused = contraction.unfused && products->hasEpilogues();
  if (mayFuse || !hasUnfused) {
    bool isRefused = false;
    const Status status =
        result->prepare(library, contraction, *products, isRefused);
    if (status.ok())
      return std::unique_ptr<const Product>(std::move(result));
    if (!isRefused || !hasUnfused)
      return status;
    result->whyUnfused = status.message();
  }
  result->hasNoEpilogues = true;
  bool isRefused = false;
  if (Status status = result->prepare(library, contraction,
                                      products->withoutEpilogues(), isRefused);
      !status.ok())
    return status;
  return std::unique_ptr<const Product>(std::move(result));
}

Status Product::prepare(const std::shared_ptr<const BlasHandle> &library,
                        const ppx::ContractionT &contraction,
                        const MatrixProducts &products, bool &isRefused) {
  parts.clear();
  for (MatrixProducts &its : findParts(contraction, products)) {
    parts.push_back(
        std::make_unique<ProductPart>(library, contraction, std::move(its)));
    if (Status status = parts.back()->prepare(); !status.ok()) {
      isRefused = parts.back()->isRefused;
      return status;
    }
  }
  return {};
}

uint64_t Product::tableBytes() const {
  uint64_t bytes = 0;
  for (const auto &part : parts)
    bytes += part->tableBytes();
  return bytes;
}

std::vector<CUdeviceptr>
Product::makeTable(const std::vector<CUdeviceptr> &arguments) const {
  std::vector<CUdeviceptr> table;
  for (const auto &part : parts)
    if (part->tableBytes() > 0) {
      const std::vector<CUdeviceptr> its = part->makeTable(arguments);
      table.insert(table.end(), its.begin(), its.end());
    }
  return table;
}

Status Product::run(CUstream stream, const std::vector<CUdeviceptr> &arguments,
                    CUdeviceptr table, bool *isRefused) const {
  Status status;
  for (const auto &part : parts) {
    if (status.ok())
      status = part->run(stream, arguments, table, isRefused);
    table += part->tableBytes();
  }
  return status;
}
