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
//   7, 8   numbers of sources and targets
//   9...   their addresses, sources first
//
//===----------------------------------------------------------------------===//
#include "Moves.h"
#include "../../engine/enqueued/MoveTable.h"
#include "Builtins.h"
#include "pprt/Program.h"

using namespace pprt;
using namespace pprt::cuda;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// Code that loads elements into the register that they are reduced in, and
/// stores them from it.
struct ElementText {
  std::string bytes;
  std::string number; ///< type of the computing instructions
  std::string load;   ///< from [%place] to %b
  std::string store;  ///< converts %a to %word
  std::string word;   ///< its type in memory
};

} // namespace

/// Elements that are computed in as they are.
static ElementText plain(const std::string &type, const std::string &bits) {
  return {std::to_string(std::stoi(bits) / 8), type + bits,
          "ld.global" + type + bits + " %b, [%place];",
          "mov.b" + bits + " %word, %a;", ".b" + bits};
}

static ElementText textOf(ppx::ElementType element) {
  switch (element) {
  case ppx::ElementType_f32:
    return plain(".f", "32");
  case ppx::ElementType_f64:
    return plain(".f", "64");
  case ppx::ElementType_i32:
    return plain(".s", "32");
  case ppx::ElementType_i64:
    return plain(".s", "64");
  case ppx::ElementType_bf16:
    // To nearest, ties to even; a NaN keeps its upper half, and is quiet.
    return {"2", ".f32", R"(ld.global.b16 %half, [%place];
  mov.b16 %zero, 0;
  mov.b32 %bits, {%zero, %half};
  mov.b32 %b, %bits;)",
            R"(mov.b32 %bits, %a;
  shr.u32 %upper, %bits, 16;
  and.b32 %odd, %upper, 1;
  add.u32 %rounded, %bits, 32767;
  add.u32 %rounded, %rounded, %odd;
  shr.u32 %rounded, %rounded, 16;
  or.b32 %upper, %upper, 64;
  setp.neu.f32 %isNan, %a, %a;
  selp.b32 %rounded, %upper, %rounded, %isNan;
  cvt.u16.u32 %word, %rounded;)",
            ".b16"};
  case ppx::ElementType_f16:
    return {"2", ".f32", R"(ld.global.b16 %half, [%place];
  cvt.f32.f16 %b, %half;)",
            "cvt.rn.f16.f32 %word, %a;", ".b16"};
  case ppx::ElementType_i8: // a byte; higher bits are not written
    return {"1", ".s32", "ld.global.s8 %b, [%place];", "mov.b32 %word, %a;",
            ".b8"};
  case ppx::ElementType_i1:
    break;
  }
  return {"1", ".u32", "ld.global.u8 %b, [%place];", "mov.b32 %word, %a;",
          ".b8"};
}

/// %a = %a op %b.
static std::string reduceText(ppx::Reduction reduction,
                              const ElementText &text) {
  const std::string &number = text.number;
  const bool isFloat = number[1] == 'f';
  const std::string bits =
      std::string(".b") + (number.substr(2) == "64" ? "64" : "32");
  switch (reduction) {
  case ppx::Reduction_max:
  case ppx::Reduction_min: {
    // A NaN on either side wins.
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

/// NEXT reads the next source's element.
static constexpr char kMoveText[] = R"(
.visible .entry NAME(.param .u64 table)
{
  .reg .pred %end, %wins, %isNan;
  .reg .b16 %half, %zero;
  .reg .b32 %bits, %upper, %odd, %rounded;
  .reg .b64 %table, %k, %inRun, %row, %middle, %outer;
  .reg .b64 %source, %target, %list, %place, %t<9>;
  .reg NUMBER %a, %b;
  .reg REGISTER %word;
  ld.param.u64 %table, [table];
  cvta.to.global.u64 %table, %table;
  ld.global.u64 %t0, [%table];
  ld.global.u64 %t1, [%table+8];
  ld.global.u64 %t2, [%table+16];
  ld.global.u64 %t3, [%table+24];
  ld.global.u64 %t4, [%table+32];
  ld.global.u64 %t5, [%table+40];
  ld.global.u64 %t6, [%table+48];
  ld.global.u64 %t7, [%table+56];
  ld.global.u64 %t8, [%table+64];
THREAD
next:
  setp.ge.u64 %end, %i, %t0;
  @%end bra done;
  rem.u64 %inRun, %i, %t1;
  div.u64 %row, %i, %t1;
  rem.u64 %middle, %row, %t2;
  div.u64 %outer, %row, %t2;
  mad.lo.u64 %source, %outer, %t3, %inRun;
  mad.lo.u64 %source, %middle, %t4, %source;
  mul.lo.u64 %source, %source, BYTES;
  mad.lo.u64 %target, %outer, %t5, %inRun;
  mad.lo.u64 %target, %middle, %t6, %target;
  mul.lo.u64 %target, %target, BYTES;
  add.u64 %list, %table, 72;
  NEXT
  movNUMBER %a, %b;
  mov.u64 %k, 1;
more:
  setp.ge.u64 %end, %k, %t7;
  @%end bra write;
  NEXT
  REDUCE
  add.u64 %k, %k, 1;
  bra more;
write:
  STORE
  mov.u64 %k, 0;
each:
  setp.ge.u64 %end, %k, %t8;
  @%end bra advance;
  ld.global.u64 %place, [%list];
  add.u64 %list, %list, 8;
  cvta.to.global.u64 %place, %place;
  add.u64 %place, %place, %target;
  st.globalWORD [%place], %word;
  add.u64 %k, %k, 1;
  bra each;
advance:
  add.u64 %i, %i, %stride;
  bra next;
done:
  ret;
}
)";

static std::string kernelText(const std::string &name, const ElementText &text,
                              ppx::Reduction reduction) {
  return kBuiltinHead +
         builtinText(kMoveText,
                     {{"NEXT", R"(ld.global.u64 %place, [%list];
  add.u64 %list, %list, 8;
  cvta.to.global.u64 %place, %place;
  add.u64 %place, %place, %source;
  LOAD)"},
                      {"NAME", name},
                      {"NUMBER", text.number},
                      {"REGISTER", text.word == ".b8" ? ".b32" : text.word},
                      {"LOAD", text.load},
                      {"REDUCE", reduceText(reduction, text)},
                      {"STORE", text.store},
                      {"WORD", text.word},
                      {"BYTES", text.bytes}});
}

Mover::~Mover() {
  if (!gpu->makeCurrent().ok())
    return;
  for (const auto &[name, kernel] : kernels)
    gpu->driver.cuModuleUnload(kernel.first);
}

Expected<CUfunction> Mover::kernel(const enqueued::BoundMove &move) {
  // A single source is not reduced: bits are moved, those of a NaN, too.
  const bool isReduced = move.sources.size() > 1;
  const uint64_t bits = 8 * elementSize(move.element);
  const std::string name =
      "pp_move_" +
      (isReduced ? ppx::EnumNameElementType(move.element) + std::string("_") +
                       std::to_string(int(move.reduction))
                 : std::to_string(bits));
  const auto [entry, isNew] = kernels.try_emplace(name);
  auto &[code, function] = entry->second;
  if (!isNew)
    return function;
  const std::string text =
      kernelText(name,
                 isReduced   ? textOf(move.element)
                 : bits == 8 ? textOf(ppx::ElementType_i8)
                             : plain(".s", std::to_string(bits)),
                 isReduced ? move.reduction : ppx::Reduction_sum);
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
    count = words[0];
    PP_TRY(*gpu, cuMemAlloc, &table, bytes);
    return gpu->write(reinterpret_cast<std::byte *>(uintptr_t(table)),
                      words.data(), bytes);
  }

  Status start(const Gpu &, CUstream stream) const override {
    CUdeviceptr address = table;
    void *parameters[] = {&address};
    return launchBuiltin(*gpu, function, stream, count, parameters);
  }

private:
  const std::shared_ptr<const Gpu> gpu;
  const CUfunction function;
  CUdeviceptr table = 0;
  uint64_t count = 0;
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
