//===- Calls.cpp - the calls of the emulated library of cublasLt ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled against CUDA's header, so that each call has the library's type.
// Only calls that the engine makes are here. Results are those that cublasLt.h
// tells of, and of descriptors those of the library itself.
//
//===----------------------------------------------------------------------===//
#include "Problem.h"

using namespace emulated;
using namespace emulated::blas;

/// Counts a call. Returns from it where the settings have it fail.
#define PP_BEGIN(needsContext)                                                 \
  const Begin begin = host() ? host()->begin(__func__, needsContext)           \
                             : Begin{0, 0, needsContext ? 100 : 0, 0};         \
  if (begin.failure != 0)                                                      \
    return cublasStatus_t(begin.failure);

size_t cublasLtGetVersion() { return 130100; }

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED
             ? "the requested functionality is not supported"
             : "an error of cublasLt";
}

/// Nothing is destroyed, too.
template <typename Handle>
static cublasStatus_t destroy(Handle handle, Kind kind) {
  if (Object *object = find(handle, kind))
    blas::destroy(object);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  PP_BEGIN(true)
  *handle = reinterpret_cast<cublasLtHandle_t>(create(Kind::handle));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  PP_BEGIN(false)
  return destroy(handle, Kind::handle);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

template <typename Handle>
static cublasStatus_t set(Handle handle, Kind kind, int attribute,
                          const void *value, size_t size) {
  Object *object = find(handle, kind);
  return object ? object->set(attribute, value, size)
                : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *handle,
                                        cublasComputeType_t compute,
                                        cudaDataType scale) {
  PP_BEGIN(false)
  Object *object = create(Kind::operation);
  object->set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t(compute));
  object->set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, int32_t(scale));
  object->set(CUBLASLT_MATMUL_DESC_EPILOGUE,
              uint32_t(CUBLASLT_EPILOGUE_DEFAULT));
  *handle = reinterpret_cast<cublasLtMatmulDesc_t>(object);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  PP_BEGIN(false)
  return destroy(handle, Kind::operation);
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t size) {
  PP_BEGIN(false)
  return set(handle, Kind::operation, attribute, value, size);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *handle,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  PP_BEGIN(false)
  Object *object = create(Kind::layout);
  object->set(CUBLASLT_MATRIX_LAYOUT_TYPE, uint32_t(type));
  object->set(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  object->set(CUBLASLT_MATRIX_LAYOUT_COLS, columns);
  object->set(CUBLASLT_MATRIX_LAYOUT_LD, leading);
  object->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(1));
  *handle = reinterpret_cast<cublasLtMatrixLayout_t>(object);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  PP_BEGIN(false)
  return destroy(handle, Kind::layout);
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t size) {
  PP_BEGIN(false)
  return set(handle, Kind::layout, attribute, value, size);
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *handle) {
  PP_BEGIN(false)
  Object *object = create(Kind::preference);
  object->set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
              uint32_t(CUBLASLT_REDUCTION_SCHEME_MASK));
  for (const int matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    object->set(matrix, uint32_t(256));
  *handle = reinterpret_cast<cublasLtMatmulPreference_t>(object);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  PP_BEGIN(false)
  return destroy(handle, Kind::preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t handle,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t size) {
  PP_BEGIN(false)
  return set(handle, Kind::preference, attribute, value, size);
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

template <typename Layout>
static cublasStatus_t makeProblem(cublasLtMatmulDesc_t operation, Layout a,
                                  Layout b, Layout c, Layout d,
                                  Problem &problem) {
  return Problem::make(find(operation, Kind::operation), find(a, Kind::layout),
                       find(b, Kind::layout), find(c, Kind::layout),
                       find(d, Kind::layout), problem);
}

static bool isOpen(const Begin &begin, cublasLtHandle_t handle) {
  return begin.state == 0 && find(handle, Kind::handle);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preferenceHandle, int requested,
    cublasLtMatmulHeuristicResult_t results[], int *found) {
  PP_BEGIN(true)
  if (!isOpen(begin, handle))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  const Object *preference = find(preferenceHandle, Kind::preference);
  if (!preference || requested < 1 || !results || !found)
    return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  Problem problem;
  if (const auto refused = makeProblem(operation, a, b, c, d, problem))
    return refused;
  if (const auto refused = problem.epilogue.checkPointers(problem.d))
    return refused;
  constexpr uint64_t kAll = 65535;
  const uint32_t kind = problem.epilogue.kind;
  if (begin.refused == kind ||
      (begin.refused == kAll && kind != CUBLASLT_EPILOGUE_DEFAULT))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto bytes =
      preference->get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  const auto mask =
      preference->get<uint32_t>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  const Alignment alignment = {
      preference->get<uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
      preference->get<uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
      preference->get<uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
      preference->get<uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)};
  // Best at one problem is not best at another, but the same each time.
  const auto number = uint64_t(Order::number);
  const uint64_t first = problem.digest() + begin.algorithm;
  for (uint64_t i = 0; i < number && *found < requested; ++i) {
    const auto order = Order((first + i) % number);
    const uint32_t scheme =
        order == Order::parts     ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
        : order == Order::rounded ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE
                                  : CUBLASLT_REDUCTION_SCHEME_NONE;
    const uint64_t workspace = workspaceOf(problem, order);
    if ((scheme & ~mask) != 0 || workspace > bytes ||
        !takes(problem, order, alignment))
      continue;
    cublasLtMatmulHeuristicResult_t &result = results[(*found)++];
    result = {};
    result.algo = pack(problem, order);
    result.workspaceSize = workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

static double readScale(const Problem &problem, const void *value) {
  return problem.isDouble ? *static_cast<const double *>(value)
                          : double(*static_cast<const float *>(value));
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout,
               const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,
               const void *c, cublasLtMatrixLayout_t cLayout, void *d,
               cublasLtMatrixLayout_t dLayout,
               const cublasLtMatmulAlgo_t *algorithm, void *workspace,
               size_t workspaceBytes, cudaStream_t stream) {
  PP_BEGIN(true)
  if (!isOpen(begin, handle))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  Task task;
  if (const auto refused = makeProblem(operation, aLayout, bLayout, cLayout,
                                       dLayout, task.problem))
    return refused;
  if (!alpha || !beta || !a || !b || !c || !d ||
      (!workspace && workspaceBytes > 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  // In place means the same elements.
  if (c == d && !(task.problem.c == task.problem.d))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!algorithm)
    notModelled("cublasLtMatmul without an algorithm");
  if (!unpack(*algorithm, task.problem, task.order))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (workspaceOf(task.problem, task.order) > workspaceBytes ||
      addressOf(workspace) % 256 != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  task.alpha = readScale(task.problem, alpha);
  task.beta = readScale(task.problem, beta);
  task.a = addressOf(a);
  task.b = addressOf(b);
  task.c = addressOf(c);
  task.d = addressOf(d);
  task.workspace = addressOf(workspace);
  task.workspaceBytes = workspaceBytes;
  const bool hasPointers = task.problem.d.hasPointers;
  if (!hasPointers && (!findItems(task, nullptr) || !isAligned(task)))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (const auto refused = task.problem.epilogue.checkPointers(task.problem.d))
    return refused;
  if (!takesPointers(*algorithm, task.problem.epilogue)) {
    fault("cublasLtMatmul is given a vector or a matrix for its epilogue that "
          "is not aligned as its algorithm was chosen for, or not to 16 bytes");
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (!hasPointers && !isApart(task))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  Guest guest;
  guest.what = "cublasLtMatmul of " + std::to_string(task.problem.d.rows) +
               "x" + std::to_string(task.problem.d.columns) + " over " +
               std::to_string(task.problem.steps);
  guest.failure = begin.late;
  // What is in arrays is known when it is read.
  guest.run = [task, hasPointers](Access &access) {
    Task its = task;
    return (!hasPointers ||
            (findItems(its, &access) && isAligned(its) && isApart(its))) &&
           multiply(its, access);
  };
  return host()->submit(stream, std::move(guest)) == 0
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}
