//===- Capi.cpp - the runtime behind C functions --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Wraps a session: describes its tensors to C callers, and tells them whether a
// call is possible now. Exceptions, which the standard library throws when
// memory runs out, end here: C callers cannot catch them.
//
//===----------------------------------------------------------------------===//
#include "Handles.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"
#include "pprt/host/Parameters.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace pprt;
using namespace pprt::capi;

static_assert(PPRT_F32 == int(ppx::ElementType_f32) &&
              PPRT_F64 == int(ppx::ElementType_f64) &&
              PPRT_BF16 == int(ppx::ElementType_bf16) &&
              PPRT_I32 == int(ppx::ElementType_i32) &&
              PPRT_I64 == int(ppx::ElementType_i64) &&
              PPRT_I1 == int(ppx::ElementType_i1) &&
              PPRT_F16 == int(ppx::ElementType_f16) &&
              PPRT_I8 == int(ppx::ElementType_i8));
static_assert(PPRT_PARAMETER == int(ppx::Role_param) &&
              PPRT_STATE == int(ppx::Role_state) &&
              PPRT_INPUT == int(ppx::Role_input) &&
              PPRT_LABEL == int(ppx::Role_label));
static_assert(PPRT_METRIC - PPRT_LOSS == int(ppx::OutputRole_metric) &&
              PPRT_GRADIENT - PPRT_LOSS == int(ppx::OutputRole_gradient));
static_assert(PPRT_USAGE == int(ExitCode::usage) &&
              PPRT_BAD_ARTIFACT == int(ExitCode::badArtifact) &&
              PPRT_OUT_OF_MEMORY == int(ExitCode::outOfMemory) &&
              PPRT_CHECK_FAILED == int(ExitCode::checkFailed) &&
              PPRT_RANKS_DISAGREE == int(ExitCode::ranksDisagree) &&
              PPRT_RANK_DIED == int(ExitCode::rankDied) &&
              PPRT_HANG == int(ExitCode::hang) &&
              PPRT_BAD_PARAMETERS == int(ExitCode::badParameters) &&
              PPRT_IO == int(ExitCode::io) &&
              PPRT_DEVICE == int(ExitCode::device) &&
              PPRT_INTERRUPTED == int(ExitCode::interrupted));

static thread_local std::string lastError;
/// Used instead of lastError if there may be no memory for a text.
static thread_local const char *lastLiteral = nullptr;

int pprt::capi::report(const Status &status) {
  if (status.ok())
    return PPRT_OK;
  lastError = status.message();
  lastLiteral = nullptr;
  return int(status.code());
}

int pprt::capi::reportNoMemory() {
  lastLiteral = "out of memory";
  return PPRT_OUT_OF_MEMORY;
}

int pprt::capi::refuse(const std::string &message) {
  return report(Status(ExitCode::usage, message));
}

int pprt::capi::refuseNull(const char *what) {
  return refuse("expects " + std::string(what) + ", got a null pointer");
}

static int refuseIndex(const char *what, uint32_t index, size_t count) {
  return refuse("expects an " + std::string(what) + " below " +
                std::to_string(count) + ", got " + std::to_string(index));
}

const char *pprt_version(void) { return PPRT_VERSION; }
const char *pprt_error(void) {
  return lastLiteral ? lastLiteral : lastError.c_str();
}
int pprt_fail(int code, const char *text) {
  return guarded(
      [&] { return report(Status(ExitCode(code), text ? text : "")); });
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

int pprt_open_mpi(pprt_world **world) {
  return guarded([&]() -> int {
    if (!world)
      return refuseNull("a place for the world");
    *world = nullptr;
    Expected<std::unique_ptr<World>> opened = openMpi();
    if (opened)
      *world = new pprt_world{std::move(*opened)};
    return report(opened.status());
  });
}

void pprt_close_world(pprt_world *world) { delete world; }
uint32_t pprt_process(const pprt_world *world) {
  return world ? world->world->process() : 0;
}
uint32_t pprt_process_count(const pprt_world *world) {
  return world ? world->world->processCount() : 1;
}

/// Returns the failure that pprt_error() reports.
static Status lastFailure(int code) {
  return code ? Status(ExitCode(code), pprt_error()) : Status();
}

int pprt_agree(pprt_world *world, int code, int interrupted) {
  return guarded([&]() -> int {
    Verdict verdict = {lastFailure(code), uint32_t(interrupted != 0)};
    if (world)
      verdict = world->world->agree(verdict.first, verdict.votes);
    if (verdict.first.ok() && verdict.votes != 0)
      verdict.first = Status(ExitCode::interrupted, "interrupted");
    return report(verdict.first);
  });
}

void pprt_abort(pprt_world *world, int code) {
  if (!world)
    thisProcess()->abort(lastFailure(code));
  world->world->abort(lastFailure(code));
}

/// Returns an empty function if there is nothing to call.
static std::function<bool()> asking(pprt_is_interrupted isInterrupted,
                                    void *user) {
  if (!isInterrupted)
    return {};
  return [=] { return isInterrupted(user) != 0; };
}

void pprt_watch(pprt_world *world, pprt_is_interrupted isInterrupted,
                void *user) {
  if (world)
    world->world->watch(asking(isInterrupted, user));
}

//===----------------------------------------------------------------------===//
// From artifact to session
//===----------------------------------------------------------------------===//

/// Reads the options that the caller knows; the others are defaults. Reads the
/// world if possible, even if other options are invalid.
Status pprt::capi::readOptions(const pprt_options *given,
                               SessionOptions &options) {
  pprt_options known = {};
  if (given) {
    // Larger sizes are errors: no version has them.
    constexpr size_t largest = 4096;
    if (given->size <= largest && given->size % alignof(pprt_options) == 0)
      std::memcpy(&known, given, std::min<size_t>(given->size, sizeof(known)));
    if (known.world)
      options.world = known.world->world;
    const std::string expects = "pprt_options expects in `size` its bytes, "
                                "sizeof(pprt_options), ",
                      got = "got " + std::to_string(given->size);
    // Structures end at multiples of their alignment.
    if (given->size < sizeof(given->size) ||
        given->size % alignof(pprt_options) != 0)
      return Status(ExitCode::usage, expects + got);
    if (given->size > sizeof(known))
      return Status(ExitCode::usage,
                    expects + "at most " + std::to_string(sizeof(known)) +
                        ", " + got +
                        ": the program was compiled with the header of a later "
                        "version than the library's, " PPRT_VERSION);
  }
  // Longer times overflow clocks.
  constexpr double longest = 1e9;
  const double seconds = known.hang_timeout_seconds;
  if (!(seconds <= longest))
    return Status(ExitCode::usage,
                  "hang_timeout_seconds expects at most 1e9, or less than 0, "
                  "which is never, got " +
                      std::to_string(seconds));
  options.threadsPerRank = known.threads_per_rank;
  // In SessionOptions 0 means never.
  if (seconds != 0)
    options.hangTimeoutSeconds = seconds < 0 ? 0 : seconds;
  if (known.device)
    options.device = known.device;
  options.isInterrupted = asking(known.is_interrupted, known.user);
  options.graph = known.no_graph == 0;
  return {};
}

/// Opening waits for all other processes, so none may have given up.
static Status agree(const SessionOptions &options, const Status &mine) {
  return options.world ? options.world->agree(mine).first : mine;
}

/// `load` takes an ImageChoice.
template <typename Load>
static int openFile(const Load &load, const std::string &name,
                    const pprt_options *given, pprt_session **session) {
  SessionOptions options;
  Status status = readOptions(given, options);
  ImageChoice choice;
  if (status.ok()) {
    Expected<std::string> level = deviceProcessor(options.device);
    status = level.status();
    if (level)
      choice.level = *level;
  }
  Expected<ppx::ArtifactT> loaded =
      status.ok() ? load(choice) : Expected<ppx::ArtifactT>(status);
  if (status = loaded.status(); status.ok()) {
    status = checkArtifact(*loaded).status();
    status = Status(status.code(), name + ": " + status.message());
  }
  if (status = agree(options, status); !status.ok())
    return report(status);
  return capi::open(std::make_shared<const ppx::ArtifactT>(std::move(*loaded)),
                    options, name, session);
}

int pprt::capi::open(std::shared_ptr<const ppx::ArtifactT> artifact,
                     const SessionOptions &options, const std::string &name,
                     pprt_session **session) {
  Expected<std::unique_ptr<Session>> created =
      Session::create(artifact, options);
  if (!created)
    return report(Status(created.status().code(),
                         name + ": " + created.status().message()));
  auto opened = std::make_unique<pprt_session>();
  opened->world = options.world;
  opened->session = std::move(*created);
  opened->hasValues.resize(artifact->arguments.size());
  *session = opened.release();
  return PPRT_OK;
}

int pprt_open(const char *path, const pprt_options *options,
              pprt_session **session) {
  return guarded([&]() -> int {
    if (!path || !session)
      return refuseNull("a path and a place for the session");
    *session = nullptr;
    return openFile(
        [&](const ImageChoice &choice) { return loadArtifact(path, choice); },
        path, options, session);
  });
}

int pprt_open_bytes(const void *bytes, size_t size, const pprt_options *options,
                    pprt_session **session) {
  return guarded([&]() -> int {
    if ((!bytes && size > 0) || !session)
      return refuseNull("bytes and a place for the session");
    *session = nullptr;
    // A copy is aligned; the caller's bytes need not be.
    const std::unique_ptr<uint8_t[]> copy(new (std::nothrow) uint8_t[size]);
    if (!copy)
      return report(Status(ExitCode::outOfMemory,
                           "artifact expects a copy of " +
                               std::to_string(size) +
                               " bytes, which the system refuses"));
    if (size > 0)
      std::memcpy(copy.get(), bytes, size);
    const std::string name = "artifact";
    return openFile(
        [&](const ImageChoice &choice) {
          return parseArtifact(copy.get(), size, name, choice);
        },
        name, options, session);
  });
}

void pprt_close(pprt_session *session) {
  if (session && !session->session->isStuck())
    delete session;
}

int pprt_is_stuck(const pprt_session *session) {
  return session && session->session->isStuck();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

uint32_t pprt_rank_count(const pprt_session *session) {
  return session ? session->session->mesh().worldSize() : 0;
}
uint32_t pprt_argument_count(const pprt_session *session) {
  return session ? uint32_t(session->artifact().arguments.size()) : 0;
}
uint32_t pprt_output_count(const pprt_session *session) {
  return session ? uint32_t(session->artifact().outputs.size()) : 0;
}

template <typename Tensor>
static pprt_tensor describe(const Tensor &tensor, int role, uint64_t bytes,
                            uint64_t bound) {
  return {tensor.name.c_str(),
          pprt_role(role),
          pprt_element(tensor.element),
          uint32_t(tensor.shape.size()),
          tensor.shape.data(),
          bytes,
          bound};
}

int pprt_argument(const pprt_session *session, uint32_t argument,
                  pprt_tensor *tensor) {
  return guarded([&]() -> int {
    if (!session || !tensor)
      return refuseNull("a session and a place for the tensor");
    if (argument >= pprt_argument_count(session))
      return refuseIndex("argument", argument, pprt_argument_count(session));
    const ppx::ArgumentT &found = *session->artifact().arguments[argument];
    *tensor = describe(found, found.role,
                       session->session->argumentBytes(argument), found.bound);
    return PPRT_OK;
  });
}

int pprt_output(const pprt_session *session, uint32_t output,
                pprt_tensor *tensor) {
  return guarded([&]() -> int {
    if (!session || !tensor)
      return refuseNull("a session and a place for the tensor");
    if (output >= pprt_output_count(session))
      return refuseIndex("output", output, pprt_output_count(session));
    const ppx::OutputT &found = *session->artifact().outputs[output];
    *tensor = describe(found, PPRT_LOSS + int(found.role),
                       session->session->outputBytes(output), /*bound=*/0);
    return PPRT_OK;
  });
}

int pprt_find_argument(const pprt_session *session, const char *name,
                       uint32_t *argument) {
  return guarded([&]() -> int {
    if (!session || !name || !argument)
      return refuseNull("a session, a name and a place for the argument");
    const std::optional<uint32_t> found = session->session->findArgument(name);
    if (!found)
      return refuse("expects the name of an argument, got '" +
                    std::string(name) + "'");
    *argument = *found;
    return PPRT_OK;
  });
}

//===----------------------------------------------------------------------===//
// Values in
//===----------------------------------------------------------------------===//

int pprt_initialize(pprt_session *session, uint64_t seed) {
  return guarded(session, [&]() -> int {
    if (!session)
      return refuseNull("a session");
    const Status status =
        session->session->initialize(seed, session->hasValues);
    if (status.ok())
      session->seed = seed;
    for (uint32_t i = 0; i < session->hasValues.size() && status.ok(); ++i)
      if (!session->isInput(i))
        session->hasValues[i] = true;
    return report(status);
  });
}

int pprt_load(pprt_session *session, const char *path) {
  return guarded(session, [&]() -> int {
    if (!session || !path)
      return refuseNull("a session and a path");
    const Expected<host::SafeTensors> file = host::SafeTensors::open(path);
    if (!file)
      return report(file.status());
    if (Status status = host::loadParameters(*file, *session->session);
        !status.ok())
      return report(status);
    for (uint32_t i = 0; i < session->hasValues.size(); ++i) {
      const ppx::ArgumentT &argument = *session->artifact().arguments[i];
      if (argument.is_models &&
          (argument.role == ppx::Role_param || file->find(argument.name)))
        session->hasValues[i] = true;
    }
    return PPRT_OK;
  });
}

/// Sets an argument; an input may be lent.
static int give(pprt_session *session, uint32_t argument, const void *values,
                uint64_t bytes, bool isLent) {
  return guarded(session, [&]() -> int {
    if (!session || (!values && bytes > 0))
      return refuseNull("a session and values");
    if (argument >= pprt_argument_count(session))
      return refuseIndex("argument", argument, pprt_argument_count(session));
    Session &its = *session->session;
    if (isLent && !session->isInput(argument))
      return refuse("pprt_lend expects an input or label, got '" +
                    session->artifact().arguments[argument]->name +
                    "'; pprt_set sets parameters and states");
    if (isLent && its.stepsAhead() > 1)
      return refuse("pprt_lend expects a device that reads memory of the "
                    "process, such as \"cpu\"; pprt_set copies");
    const Status status = isLent ? its.lendInput(argument, values, bytes)
                          : session->isInput(argument)
                              ? its.setInput(argument, values, bytes)
                              : its.setArgument(argument, values, bytes);
    if (status.ok())
      session->hasValues[argument] = true;
    return report(status);
  });
}

int pprt_set(pprt_session *session, uint32_t argument, const void *values,
             uint64_t bytes) {
  return give(session, argument, values, bytes, /*isLent=*/false);
}

int pprt_lend(pprt_session *session, uint32_t argument, const void *values,
              uint64_t bytes) {
  return give(session, argument, values, bytes, /*isLent=*/true);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

int pprt_begin(pprt_session *session) {
  return guarded(session, [&]() -> int {
    if (!session)
      return refuseNull("a session");
    for (uint32_t i = 0; i < session->hasValues.size(); ++i)
      if (!session->isInput(i) && !session->hasValues[i])
        return refuse("pprt_begin called without a value of '" +
                      session->artifact().arguments[i]->name +
                      "'; pprt_initialize sets all that have none");
    const Status status = session->session->begin(session->steps);
    session->hasBegun |= status.ok();
    return report(status);
  });
}

int pprt_step(pprt_session *session) {
  return guarded(session, [&]() -> int {
    if (!session)
      return refuseNull("a session");
    const Status status = session->session->step();
    session->hasOutputs |= status.ok();
    session->steps += status.ok();
    return report(status);
  });
}

int pprt_end(pprt_session *session) {
  return guarded(session, [&]() -> int {
    if (!session)
      return refuseNull("a session");
    return report(session->session->end());
  });
}

//===----------------------------------------------------------------------===//
// Values out
//===----------------------------------------------------------------------===//

int pprt_get_output(const pprt_session *session, uint32_t output, void *values,
                    uint64_t bytes) {
  return guarded([&]() -> int {
    if (!session || (!values && bytes > 0))
      return refuseNull("a session and a place for values");
    if (output >= pprt_output_count(session))
      return refuseIndex("output", output, pprt_output_count(session));
    const uint64_t expected = session->session->outputBytes(output);
    if (bytes != expected)
      return report(Status(ExitCode::badParameters,
                           "output '" +
                               session->artifact().outputs[output]->name +
                               "' expects " + std::to_string(expected) +
                               " bytes, got " + std::to_string(bytes)));
    if (const Status &failure = session->session->failure(); !failure.ok())
      return report(failure);
    if (!session->session->keepsValues())
      return refuse("pprt_get_output expects a device that keeps values, such "
                    "as \"cpu\"");
    if (!session->hasOutputs)
      return refuse("pprt_get_output called before the first step");
    std::memcpy(values, session->session->output(output), bytes);
    return PPRT_OK;
  });
}

int pprt_get(const pprt_session *session, uint32_t argument, void *values,
             uint64_t bytes) {
  return guarded([&]() -> int {
    if (!session || (!values && bytes > 0 && session->reads()))
      return refuseNull("a session and a place for values");
    if (argument >= pprt_argument_count(session))
      return refuseIndex("argument", argument, pprt_argument_count(session));
    return report(session->session->getArgument(argument, values, bytes));
  });
}
