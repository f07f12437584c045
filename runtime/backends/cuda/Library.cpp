//===- Library.cpp - NVIDIA's libraries, opened by name -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The version is checked before the other calls are looked up: an old library
// is reported as old, not as lacking the first call that is newer.
//
//===----------------------------------------------------------------------===//
#include "Library.h"

#include <cstdio>
#include <dlfcn.h>
#include <limits>
#include <link.h>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace pprt;
using namespace pprt::cuda;

// The names in a table are looked up as they are, so the header must not rename
// them by macros. PP_CALL_AS is for those that it renames.
#define PP_TEXT(text) #text
#define PP_EXPANDED(text) PP_TEXT(text)
#define PP_CALL(name)                                                          \
  static_assert(std::string_view(#name) == PP_EXPANDED(name),                  \
                "expects the name that the library exports, with its suffix");
#define PP_CALL_AS(name, type)                                                 \
  static_assert(std::is_same_v<std::add_pointer_t<type>, decltype(&::name)>,   \
                "expects the type that the header's newer form has, too");
#include "DriverCalls.def"
#define PP_CALL(name)                                                          \
  static_assert(std::string_view(#name) == PP_EXPANDED(name),                  \
                "expects the name that the library exports");
#include "BlasCalls.def"
#define PP_CALL(name)                                                          \
  static_assert(std::string_view(#name) == PP_EXPANDED(name),                  \
                "expects the name that the library exports");
#include "NcclCalls.def"

namespace {

/// Description of a library in messages.
struct Kind {
  const char *what;   ///< in words
  const char *oldest; ///< oldest version that works
  std::string remedy;
};

/// Folder of a library that the system does not find by itself.
std::string ofPip(const std::string &package, const std::string &folder) {
  return "of pip the package " + package + ", with LD_LIBRARY_PATH at " +
         "nvidia/" + folder + "/lib of its site-packages";
}

// A library of a later CUDA than the driver's does not work.

Kind blasKind(int cuda) {
  return {"cuBLAS", "12.0",
          "install cuBLAS, " +
              ofPip(cuda < 13000 ? "nvidia-cublas-cu12" : "nvidia-cublas",
                    cuda < 13000 ? "cublas" : "cu13")};
}

Kind ncclKind(int cuda) {
  return {"NCCL", "2.22",
          "install NCCL, " +
              ofPip(cuda < 13000 ? "nvidia-nccl-cu12" : "nvidia-nccl-cu13",
                    "nccl")};
}

std::string expects(const Kind &kind) {
  return std::string("expects ") + kind.what + ' ' + kind.oldest + " or newer";
}

class Library {
public:
  Library(Kind its, const std::vector<std::string> &names)
      : kind(std::move(its)) {
    std::string words;
    for (const std::string &name : names) {
      handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (link_map *map = nullptr; handle) {
        if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
          file = map->l_name;
        return;
      }
      words += (words.empty() ? "" : "; ") + std::string(dlerror());
    }
    status = Status(ExitCode::device, expects(kind) + ", got none: " + words +
                                          " (" + kind.remedy + ")");
  }

  /// Returns the call `name`, or null and sets a failure that names it.
  template <typename Call> Call find(const char *name) {
    if (!status.ok())
      return nullptr;
    void *address = dlsym(handle, name);
    if (!address)
      status =
          Status(ExitCode::device, expects(kind) + ", got one without " + name +
                                       describe() + " (" + kind.remedy + ")");
    return reinterpret_cast<Call>(address);
  }

  bool has(const char *name) const { return dlsym(handle, name) != nullptr; }

  /// Fails unless `isEnough`; `version` as users write it.
  void require(bool isEnough, const std::string &version) {
    if (status.ok() && !isEnough)
      status =
          Status(ExitCode::device, expects(kind) + ", got " + version +
                                       describe() + " (" + kind.remedy + ")");
  }

  Status status;
  std::string file; ///< that was opened

private:
  std::string describe() const { return file.empty() ? "" : " in " + file; }

  const Kind kind;
  void *handle = nullptr;
};

std::string spell(uint64_t major, uint64_t minor) {
  return std::to_string(major) + '.' + std::to_string(minor);
}

} // namespace

// Below, `#name` is the table's word, and the member is what the header makes
// of it. A macro between the two would look up the header's.

Expected<Driver> cuda::openDriver(const std::vector<std::string> &names) {
  Library library(
      {"NVIDIA's driver for CUDA", "12.0", "install or update the driver"},
      names);
  Driver table;
  table.cuDriverGetVersion =
      library.find<decltype(table.cuDriverGetVersion)>("cuDriverGetVersion");
  if (library.status.ok()) {
    const CUresult result = table.cuDriverGetVersion(&table.version);
    library.require(result == CUDA_SUCCESS, "error " + std::to_string(result) +
                                                " of cuDriverGetVersion");
    library.require(table.version >= 12000,
                    spell(table.version / 1000, table.version % 1000 / 10));
  }
#define PP_CALL(name) table.name = library.find<decltype(table.name)>(#name);
#define PP_CALL_AS(name, type)                                                 \
  table.name = library.find<decltype(table.name)>(#name);
#include "DriverCalls.def"
  if (!library.status.ok())
    return library.status;
  table.file = library.file;
  table.isEmulated = library.has("ppEmulator");
  return table;
}

std::vector<std::string> cuda::blasFiles(int cuda) {
  if (cuda < 13000)
    return {"libcublasLt.so.12"};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

Expected<Blas> cuda::openBlas(int cuda, const std::vector<std::string> &names) {
  Library library(blasKind(cuda), names);
  Blas table;
  table.cublasLtGetVersion =
      library.find<decltype(table.cublasLtGetVersion)>("cublasLtGetVersion");
  if (library.status.ok()) {
    table.version = table.cublasLtGetVersion();
    library.require(table.version >= 120000,
                    spell(table.version / 10000, table.version % 10000 / 100));
  }
#define PP_CALL(name) table.name = library.find<decltype(table.name)>(#name);
#include "BlasCalls.def"
  if (!library.status.ok())
    return library.status;
  table.file = library.file;
  return table;
}

Expected<Nccl> cuda::openNccl(int cuda, const std::vector<std::string> &names) {
  Library library(ncclKind(cuda), names);
  Nccl table;
  table.ncclGetVersion =
      library.find<decltype(table.ncclGetVersion)>("ncclGetVersion");
  if (library.status.ok()) {
    const ncclResult_t result = table.ncclGetVersion(&table.version);
    library.require(result == ncclSuccess && table.version >= 22200,
                    spell(table.version / 10000, table.version % 10000 / 100));
  }
#define PP_CALL(name) table.name = library.find<decltype(table.name)>(#name);
#include "NcclCalls.def"
  if (!library.status.ok())
    return library.status;
  table.file = library.file;
  return table;
}

/// Returns the first version of CUDA whose driver reads a version of PTX, 86
/// for 8.6, according to the release notes of the PTX ISA.
static int versionThatReads(int ptx) {
  static constexpr std::pair<int, int> kFirst[] = {
      {80, 12000}, {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040},
      {85, 12050}, {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}};
  for (const auto &[last, version] : kFirst)
    if (ptx <= last)
      return version;
  return std::numeric_limits<int>::max();
}

std::string cuda::printVersion(int version) {
  return std::to_string(version / 1000) + '.' +
         std::to_string(version % 1000 / 10);
}

Status Driver::checkPtx(const std::string &module) const {
  int major = 0, minor = 0;
  const size_t place = module.find(".version ");
  if (place == std::string::npos ||
      std::sscanf(module.c_str() + place, ".version %d.%d", &major, &minor) !=
          2)
    return Status(ExitCode::badArtifact,
                  "expects a module that begins with its version of PTX, got "
                  "none");
  const int needed = versionThatReads(10 * major + minor);
  if (needed <= version)
    return {};
  const std::string ptx = std::to_string(major) + '.' + std::to_string(minor);
  if (needed == std::numeric_limits<int>::max())
    return Status(ExitCode::device,
                  "expects PTX of at most 9.0, got a module of " + ptx);
  return Status(ExitCode::device, "expects a driver of CUDA " +
                                      printVersion(needed) +
                                      " or newer for PTX " + ptx + ", got " +
                                      printVersion(version) + " (" + file +
                                      "); update it, or compile for sm_80");
}

Status Driver::check(CUresult result, const char *call) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "an unknown error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no words";
  return Status(result == CUDA_ERROR_OUT_OF_MEMORY ? ExitCode::outOfMemory
                                                   : ExitCode::device,
                std::string(call) + ": " + name + " (" +
                    std::to_string(result) + "), " + text);
}

Status Nccl::check(ncclResult_t result, const char *call) const {
  if (result == ncclSuccess)
    return {};
  std::string text = std::string(call) + ": NCCL's error " +
                     std::to_string(int(result)) + ", " +
                     ncclGetErrorString(result);
  if (const char *last = ncclGetLastError(nullptr); last && *last)
    text += std::string("; ") + last;
  return Status(ExitCode::device, text);
}
