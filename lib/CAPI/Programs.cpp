//===- Programs.cpp - the compiler behind C functions ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Wraps the compiler of pp-run (SourceModule) and hands its programs to the
// sessions of the runtime's C functions. Knows no MLIR. Exceptions end here, as
// in the runtime.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "Signals.h"
#include "Verify.h"
#include "capi/Handles.h"
#include "pp-c/pp.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"
#include "pprt/Files.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace pp::run;
using namespace pprt;
using namespace pprt::capi;

static_assert(PP_DOES_NOT_COMPILE == int(ExitCode::doesNotCompile) &&
              PP_DIFFERS == int(ExitCode::verifyDiffers) &&
              PP_NOT_FINITE == int(ExitCode::nonFinite));

struct pp_model {
  std::string name;
  std::unique_ptr<SourceModule> module;
};

struct pp_program {
  std::string name;
  Compiled compiled;
};

/// A limit for the cache of kernels, as that of the tools.
static constexpr uint64_t kCacheLimit = uint64_t(256) << 20;
/// Of a model's file; MLIR counts places in 32 bits.
static constexpr uint64_t kLargestModel = UINT32_MAX;

static int refuseNumber(const char *what, size_t most, size_t got) {
  return refuse("expects " + std::string(what) + " of at most " +
                std::to_string(most) + " bytes, got " + std::to_string(got));
}

static int parse(const std::string &name, const std::string &text,
                 pp_model **model) {
  pp::leaveSignalsToHost();
  Expected<std::unique_ptr<SourceModule>> parsed =
      SourceModule::parse(name, text, kCacheLimit, /*target=*/"");
  if (!parsed)
    return report(parsed.status());
  *model = new pp_model{name, std::move(*parsed)};
  return PPRT_OK;
}

int pp_parse(const char *name, const char *text, size_t size,
             pp_model **model) {
  return guarded([&]() -> int {
    if (!name || (!text && size > 0) || !model)
      return refuseNull("a name, a text and a place for the model");
    *model = nullptr;
    if (size > kLargestModel)
      return refuseNumber("a text", kLargestModel, size);
    return parse(name, std::string(size ? text : "", size), model);
  });
}

int pp_read(const char *path, pp_model **model) {
  return guarded([&]() -> int {
    if (!path || !model)
      return refuseNull("a path and a place for the model");
    *model = nullptr;
    const Expected<std::string> text = readFile(path, kLargestModel);
    return text ? parse(path, *text, model) : report(text.status());
  });
}

void pp_free_model(pp_model *model) { delete model; }

/// The program, checked, in this process or for a file.
static Expected<Compiled> compile(pp_model &model, const char *parallelize,
                                  Kernels kernels) {
  Expected<Compiled> compiled = model.module->compile(
      parallelize ? parallelize : "", Variant::asAsked, kernels);
  if (compiled)
    if (Status status = checkArtifact(*compiled->artifact).status();
        !status.ok())
      return Status(status.code(), model.name + ": " + status.message());
  return compiled;
}

int pp_compile(pp_model *model, const char *parallelize, pp_program **program) {
  return guarded([&]() -> int {
    if (!model || !program)
      return refuseNull("a model and a place for the program");
    *program = nullptr;
    Expected<Compiled> compiled = compile(*model, parallelize, Kernels::loaded);
    if (!compiled)
      return report(compiled.status());
    *program = new pp_program{model->name, std::move(*compiled)};
    return PPRT_OK;
  });
}

void pp_free_program(pp_program *program) { delete program; }

const char *pp_plan(const pp_program *program) {
  return program ? program->compiled.artifact->plan.c_str() : "";
}
const char *pp_warnings(const pp_program *program) {
  return program ? program->compiled.warnings.c_str() : "";
}

int pp_open(pp_program *program, const pprt_options *given,
            pprt_session **session) {
  return guarded([&]() -> int {
    if (!program || !session)
      return refuseNull("a program and a place for the session");
    *session = nullptr;
    SessionOptions options;
    if (Status status = readOptions(given, options); !status.ok())
      return report(status);
    if (options.world || options.device != "cpu")
      return refuse("pp_open expects the device \"cpu\" and no world: write "
                    "an artifact for other devices and several processes");
    options.resolver = program->compiled.resolver;
    return capi::open(program->compiled.artifact, options, program->name,
                      session);
  });
}

/// A copy for C, which pp_free() frees; null if memory runs out.
static void *copyOf(const void *bytes, size_t size) {
  void *copy = std::malloc(size ? size : 1);
  if (copy && size)
    std::memcpy(copy, bytes, size);
  return copy;
}

static int give(const std::string &text, char **to) {
  *to = static_cast<char *>(copyOf(text.c_str(), text.size() + 1));
  return *to ? PPRT_OK : reportNoMemory();
}

int pp_make_artifact(pp_model *model, const char *parallelize, void **bytes,
                     size_t *size) {
  return guarded([&]() -> int {
    if (!model || !bytes || !size)
      return refuseNull("a model and places for bytes and size");
    *bytes = nullptr;
    const Expected<Compiled> compiled =
        compile(*model, parallelize, Kernels::linked);
    if (!compiled)
      return report(compiled.status());
    const std::vector<uint8_t> packed = packArtifact(*compiled->artifact);
    *bytes = copyOf(packed.data(), packed.size());
    *size = packed.size();
    return *bytes ? PPRT_OK : reportNoMemory();
  });
}

int pp_explain(pp_model *model, const char *parallelize, char **text) {
  return guarded([&]() -> int {
    if (!model || !text)
      return refuseNull("a model and a place for the text");
    *text = nullptr;
    const Expected<std::string> said =
        model->module->explain(parallelize ? parallelize : "");
    return said ? give(*said, text) : report(said.status());
  });
}

/// The batch of a session's inputs.
static Expected<host::Batch> batchOf(const pprt_session &session,
                                     const void *const *inputs) {
  host::Batch batch;
  for (uint32_t i = 0; i < session.artifact().arguments.size(); ++i) {
    if (!session.isInput(i))
      continue;
    if (!inputs[i])
      return Status(ExitCode::usage, "pp_verify expects a batch of '" +
                                         session.artifact().arguments[i]->name +
                                         "', got none");
    const auto *first = static_cast<const std::byte *>(inputs[i]);
    batch.emplace_back(first, first + session.session->argumentBytes(i));
  }
  return batch;
}

int pp_verify(pp_model *model, const char *parallelize,
              const pprt_session *session, const void *const *inputs,
              char **text) {
  return guarded([&]() -> int {
    if (!model || !session || !inputs || !text)
      return refuseNull(
          "a model, a session, inputs and a place for the report");
    *text = nullptr;
    Expected<host::Batch> batch = batchOf(*session, inputs);
    if (!batch)
      return report(batch.status());
    const Expected<Compiled> program =
        compile(*model, parallelize, Kernels::loaded);
    if (!program)
      return report(program.status());
    Options options;
    options.parallelize = parallelize ? parallelize : "";
    const host::Batches batches =
        host::Batches::repeat(*program->artifact, std::move(*batch));
    Start start{options, batches};
    start.from = session->session.get();
    std::ostringstream table;
    const Expected<host::VerifyReport> compared =
        verify({model->module.get(), nullptr, *program}, start, table);
    if (!compared)
      return report(compared.status());
    if (int code = give(table.str(), text); code != PPRT_OK)
      return code;
    return compared->ok
               ? PPRT_OK
               : report(Status(ExitCode::verifyDiffers,
                               "the partitioned program differs from the "
                               "model:\n" +
                                   table.str()));
  });
}

void pp_free(void *memory) { std::free(memory); }
