//===- Moves.cpp - moves between ranks that share a GPU -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel takes a table that lies in the GPU's memory, of 64-bit words:
//
//   0      elements to write to a target: outer x middle x run
//   1, 2   run, middle
//   3, 4   strides of the sources: outer, middle
//   5, 6   those of the targets
//   7, 8   how many sources and targets there are
//   9...   where they begin, sources first
//
//===----------------------------------------------------------------------===//
#include "Moves.h"
#include "../../engine/enqueued/MoveTable.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cuda;

static constexpr unsigned kThreads = 256, kMaxBlocks = 1024;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// How elements are read into, and written from, the register that they are
/// reduced in.
struct ElementText {
  const char *bytes;
  const char *registers; ///< a type of registers
  const char *number;    ///< what instructions compute in
  const char *load;      ///< from [%place] to %b
  const char *store;     ///< makes %word of %a
  const char *wordType;  ///< of %word
};

} // namespace

static const ElementText &textOf(ppx::ElementType element) {
  static const ElementText f32 = {"4",
                                  ".f32",
                                  ".f32",
                                  "ld.global.f32 %b, [%place];",
                                  "mov.b32 %word, %a;",
                                  ".b32"};
  static const ElementText f64 = {"8",
                                  ".f64",
                                  ".f64",
                                  "ld.global.f64 %b, [%place];",
                                  "mov.b64 %word, %a;",
                                  ".b64"};
  // To nearest, ties to even; a NaN keeps its upper half, and is quiet.
  static const ElementText bf16 = {
      "2",
      ".f32",
      ".f32",
      "ld.global.b16 %half, [%place];\n"
      "  mov.b16 %zero, 0;\n"
      "  mov.b32 %bits, {%zero, %half};\n"
      "  mov.b32 %b, %bits;",
      "mov.b32 %bits, %a;\n"
      "  shr.u32 %upper, %bits, 16;\n"
      "  and.b32 %odd, %upper, 1;\n"
      "  add.u32 %rounded, %bits, 32767;\n"
      "  add.u32 %rounded, %rounded, %odd;\n"
      "  shr.u32 %rounded, %rounded, 16;\n"
      "  or.b32 %upper, %upper, 64;\n"
      "  setp.neu.f32 %isNan, %a, %a;\n"
      "  selp.b32 %rounded, %upper, %rounded, %isNan;\n"
      "  cvt.u16.u32 %word, %rounded;",
      ".b16"};
  static const ElementText i32 = {"4",
                                  ".s32",
                                  ".s32",
                                  "ld.global.s32 %b, [%place];",
                                  "mov.b32 %word, %a;",
                                  ".b32"};
  static const ElementText i64 = {"8",
                                  ".s64",
                                  ".s64",
                                  "ld.global.s64 %b, [%place];",
                                  "mov.b64 %word, %a;",
                                  ".b64"};
  // Bytes; what is above them is not written.
  static const ElementText i1 = {
      "1",  ".u32", ".u32", "ld.global.u8 %b, [%place];", "mov.b32 %word, %a;",
      ".b8"};
  switch (element) {
  case ppx::ElementType_f32:
    return f32;
  case ppx::ElementType_f64:
    return f64;
  case ppx::ElementType_bf16:
    return bf16;
  case ppx::ElementType_i32:
    return i32;
  case ppx::ElementType_i64:
    return i64;
  case ppx::ElementType_i1:
    break;
  }
  return i1;
}

/// %a = %a op %b.
static std::string reduceText(ppx::Reduction reduction,
                              const ElementText &text) {
  const std::string number = text.number;
  const bool isFloat = number[1] == 'f';
  const std::string bits =
      std::string(".b") + (number.substr(2) == "64" ? "64" : "32");
  switch (reduction) {
  case ppx::Reduction_max:
  case ppx::Reduction_min: {
    // A NaN of either side wins.
    const std::string compare = reduction == ppx::Reduction_max ? "gt" : "lt";
    std::string result = "  setp." + compare + number + " %wins, %a, %b;\n";
    if (isFloat)
      result += "  setp.neu" + number +
                " %isNan, %a, %a;\n"
                "  or.pred %wins, %wins, %isNan;\n";
    return result + "  selp" + number + " %a, %a, %b, %wins;\n";
  }
  case ppx::Reduction_and_:
    return "  and" + bits + " %a, %a, %b;\n";
  case ppx::Reduction_or_:
    return "  or" + bits + " %a, %a, %b;\n";
  case ppx::Reduction_sum:
    break;
  }
  return "  add" + std::string(isFloat ? ".rn" : "") + number +
         " %a, %a, %b;\n";
}

static std::string kernelText(const std::string &name, const ElementText &text,
                              ppx::Reduction reduction) {
  const std::string wordRegisters =
      std::string(text.wordType) == ".b8" ? ".b32" : text.wordType;
  std::string result = ".version 7.0\n.target sm_80\n.address_size 64\n"
                       ".visible .entry " +
                       name +
                       "(.param .u64 table)\n"
                       "{\n"
                       "  .reg .pred %end, %wins, %isNan;\n"
                       "  .reg .b16 %half, %zero;\n"
                       "  .reg .b32 %block, %threads, %thread, %blocks;\n"
                       "  .reg .b32 %bits, %upper, %odd, %rounded;\n"
                       "  .reg .b64 %table, %i, %first, %stride, %k;\n"
                       "  .reg .b64 %inRun, %row, %middle, %outer;\n"
                       "  .reg .b64 %source, %target, %list, %place;\n"
                       "  .reg .b64 %t<9>;\n"
                       "  .reg " +
                       text.registers + " %a, %b;\n  .reg " + wordRegisters +
                       " %word;\n"
                       "  ld.param.u64 %table, [table];\n"
                       "  cvta.to.global.u64 %table, %table;\n";
  for (int word = 0; word < 9; ++word)
    result += "  ld.global.u64 %t" + std::to_string(word) + ", [%table+" +
              std::to_string(8 * word) + "];\n";
  result += "  mov.u32 %block, %ctaid.x;\n"
            "  mov.u32 %threads, %ntid.x;\n"
            "  mov.u32 %thread, %tid.x;\n"
            "  mov.u32 %blocks, %nctaid.x;\n"
            "  mul.wide.u32 %stride, %blocks, %threads;\n"
            "  cvt.u64.u32 %first, %thread;\n"
            "  mul.wide.u32 %i, %block, %threads;\n"
            "  add.u64 %i, %i, %first;\n"
            "next:\n"
            "  setp.ge.u64 %end, %i, %t0;\n"
            "  @%end bra done;\n"
            "  rem.u64 %inRun, %i, %t1;\n"
            "  div.u64 %row, %i, %t1;\n"
            "  rem.u64 %middle, %row, %t2;\n"
            "  div.u64 %outer, %row, %t2;\n";
  const char *const ends[][3] = {{"source", "t3", "t4"},
                                 {"target", "t5", "t6"}};
  for (const auto &[end, outer, middle] : ends) {
    const std::string its = std::string("%") + end;
    result += "  mad.lo.u64 " + its + ", %outer, %" + outer + ", %inRun;\n" +
              "  mad.lo.u64 " + its + ", %middle, %" + middle + ", " + its +
              ";\n  mul.lo.u64 " + its + ", " + its + ", " + text.bytes + ";\n";
  }
  const std::string nextSource = "  ld.global.u64 %place, [%list];\n"
                                 "  add.u64 %list, %list, 8;\n"
                                 "  cvta.to.global.u64 %place, %place;\n"
                                 "  add.u64 %place, %place, %source;\n  " +
                                 std::string(text.load) + "\n";
  return result + "  add.u64 %list, %table, 72;\n" + nextSource + "  mov" +
         text.registers +
         " %a, %b;\n"
         "  mov.u64 %k, 1;\n"
         "more:\n"
         "  setp.ge.u64 %end, %k, %t7;\n"
         "  @%end bra write;\n" +
         nextSource + reduceText(reduction, text) +
         "  add.u64 %k, %k, 1;\n"
         "  bra more;\n"
         "write:\n  " +
         text.store +
         "\n  mov.u64 %k, 0;\n"
         "each:\n"
         "  setp.ge.u64 %end, %k, %t8;\n"
         "  @%end bra advance;\n"
         "  ld.global.u64 %place, [%list];\n"
         "  add.u64 %list, %list, 8;\n"
         "  cvta.to.global.u64 %place, %place;\n"
         "  add.u64 %place, %place, %target;\n"
         "  st.global" +
         text.wordType +
         " [%place], %word;\n"
         "  add.u64 %k, %k, 1;\n"
         "  bra each;\n"
         "advance:\n"
         "  add.u64 %i, %i, %stride;\n"
         "  bra next;\n"
         "done:\n"
         "  ret;\n"
         "}\n";
}

Mover::~Mover() {
  if (!gpu->makeCurrent().ok())
    return;
  for (const auto &[name, kernel] : kernels)
    gpu->driver.cuModuleUnload(kernel.first);
}

Expected<CUfunction> Mover::kernel(const enqueued::BoundMove &move) {
  // Of one source nothing is reduced.
  const ppx::Reduction reduction =
      move.sources.size() > 1 ? move.reduction : ppx::Reduction_sum;
  const std::string name = "pp_move_" + std::to_string(int(move.element)) +
                           '_' + std::to_string(int(reduction));
  const auto [entry, isNew] = kernels.try_emplace(name);
  auto &[code, function] = entry->second;
  if (!isNew)
    return function;
  const std::string text = kernelText(name, textOf(move.element), reduction);
  Status status = gpu->check(
      gpu->driver.cuModuleLoadDataEx(&code, text.c_str(), 0, nullptr, nullptr),
      "cuModuleLoadDataEx");
  if (!status.ok()) {
    kernels.erase(entry);
    return status;
  }
  PP_TRY(*gpu, cuModuleGetFunction, &function, code, name.c_str());
  return function;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {

class MoveLaunch final : public GpuLaunch {
public:
  MoveLaunch(std::shared_ptr<const Gpu> gpu, CUfunction function)
      : gpu(std::move(gpu)), function(function) {}
  ~MoveLaunch() override {
    if (table != 0 && gpu->makeCurrent().ok())
      gpu->driver.cuMemFree(table);
  }

  Status prepare(const std::vector<uint64_t> &words) {
    const uint64_t bytes = words.size() * sizeof(uint64_t);
    blocks = unsigned(
        std::min<uint64_t>((words[0] + kThreads - 1) / kThreads, kMaxBlocks));
    PP_TRY(*gpu, cuMemAlloc, &table, bytes);
    return gpu->write(reinterpret_cast<std::byte *>(uintptr_t(table)),
                      words.data(), bytes);
  }

  Status start(const Gpu &, CUstream stream) const override {
    CUdeviceptr address = table;
    void *parameters[] = {&address};
    if (blocks > 0)
      PP_TRY(*gpu, cuLaunchKernel, function, blocks, 1, 1, kThreads, 1, 1, 0,
             stream, parameters, nullptr);
    return {};
  }

private:
  const std::shared_ptr<const Gpu> gpu;
  const CUfunction function;
  CUdeviceptr table = 0;
  unsigned blocks = 0;
};

/// One run of one source: nothing is computed.
class CopyLaunch final : public GpuLaunch {
public:
  explicit CopyLaunch(const enqueued::BoundMove &move)
      : source(move.sources.front()), targets(move.targets),
        bytes(move.region.run * elementSize(move.element)) {}

  Status start(const Gpu &gpu, CUstream stream) const override {
    for (std::byte *target : targets)
      if (target != source && bytes > 0)
        PP_TRY(gpu, cuMemcpyDtoDAsync, pointer(target), pointer(source), bytes,
               stream);
    return {};
  }

private:
  const std::byte *const source;
  const std::vector<std::byte *> targets;
  const uint64_t bytes;
};

} // namespace

Expected<std::unique_ptr<const Launch>>
Mover::bind(const enqueued::BoundMove &move) {
  const Region &region = move.region;
  if (enqueued::isCopy(region, move.sources.size()))
    return std::unique_ptr<const Launch>(
        std::make_unique<const CopyLaunch>(move));
  std::vector<uint64_t> words = {region.outer * region.middle * region.run,
                                 region.run,
                                 region.middle,
                                 region.sourceOuter,
                                 region.sourceMiddle,
                                 region.targetOuter,
                                 region.targetMiddle,
                                 move.sources.size(),
                                 move.targets.size()};
  for (const std::byte *source : move.sources)
    words.push_back(pointer(source));
  for (const std::byte *target : move.targets)
    words.push_back(pointer(target));
  Expected<CUfunction> function = kernel(move);
  if (!function)
    return function.status();
  auto launch = std::make_unique<MoveLaunch>(gpu, *function);
  if (Status status = launch->prepare(words); !status.ok())
    return status;
  return std::unique_ptr<const Launch>(std::move(launch));
}
