//===- Handles.h - what the C functions share -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The structures behind the handles of pprt.h, and failures as C callers see
// them. For libraries that add C functions of their own, such as libpp's.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_CAPI_HANDLES_H
#define PPRT_CAPI_HANDLES_H

#include "pprt/Session.h"
#include "pprt/World.h"
#include "pprt/pprt.h"

#include <exception>
#include <memory>
#include <string>
#include <vector>

struct pprt_world {
  std::shared_ptr<pprt::World> world;
};

struct pprt_session {
  std::shared_ptr<pprt::World> world; ///< null: this process
  std::unique_ptr<pprt::Session> session;
  std::vector<uint8_t> hasValues; ///< by argument
  uint64_t seed = 0;              ///< of the initializers
  uint64_t steps = 0;             ///< done, here or before
  std::string warning;            ///< of the last pprt_resume()
  bool hasBegun = false;
  bool hasOutputs = false;  ///< whether a step has succeeded
  bool lacksMemory = false; ///< a call has left it in an undefined state

  const pprt::ppx::ArtifactT &artifact() const { return session->artifact(); }
  bool isInput(uint32_t argument) const {
    const pprt::ppx::Role role = artifact().arguments[argument]->role;
    return role == pprt::ppx::Role_input || role == pprt::ppx::Role_label;
  }
  /// Whether this process reads values: process 0 of several does.
  bool reads() const { return !world || world->process() == 0; }
};

namespace pprt::capi {

/// Keeps the message for pprt_error(). Returns the code.
int report(const Status &status);
int reportNoMemory();
/// For a call that is not possible now, or on an unknown object.
int refuse(const std::string &message);
int refuseNull(const char *what);

/// Returns the result of `call`. The runtime throws only exceptions of the
/// standard library, for sizes that cannot be allocated.
template <typename Call> int guarded(const Call &call) {
  try {
    return call();
  } catch (const std::exception &) {
    return reportNoMemory();
  }
}

/// The same for a call that changes the session, if there is one.
template <typename Call> int guarded(pprt_session *session, const Call &call) {
  if (session && session->lacksMemory)
    return reportNoMemory();
  try {
    return call();
  } catch (const std::exception &) {
    if (session)
      session->lacksMemory = true;
    return reportNoMemory();
  }
}

/// Reads the options that the caller knows; the others are defaults. Reads the
/// world if possible, even if other options are invalid.
Status readOptions(const pprt_options *given, SessionOptions &options);

/// Makes a session of a checked artifact, called `name` in messages.
int open(std::shared_ptr<const ppx::ArtifactT> artifact,
         const SessionOptions &options, const std::string &name,
         pprt_session **session);

} // namespace pprt::capi

#endif // PPRT_CAPI_HANDLES_H
