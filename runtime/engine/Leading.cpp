//===- Leading.cpp - calls that other processes repeat --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Leading.h"
#include "pprt/Artifact.h"
#include "pprt/Session.h"

#include <cstring>
#include <map>

using namespace pprt;

namespace {

/// The header in front of the bytes.
struct Header {
  CallKind kind;
  uint64_t session, number;
  double seconds;
  uint64_t graph;
  char device[16]; ///< ended by a zero
};

} // namespace

Status pprt::tell(World &world, const Call &call) {
  Header header = {call.kind,    call.session, call.number,
                   call.seconds, call.graph,   {}};
  call.device.copy(header.device, sizeof(header.device) - 1);
  std::vector<std::byte> message(sizeof(header) + call.bytes.size());
  std::memcpy(message.data(), &header, sizeof(header));
  if (!call.bytes.empty())
    std::memcpy(message.data() + sizeof(header), call.bytes.data(),
                call.bytes.size());
  return world.broadcast(message);
}

Expected<Call> pprt::listen(World &world) {
  std::vector<std::byte> message;
  if (Status status = world.broadcast(message); !status.ok())
    return status;
  Header header;
  if (message.size() < sizeof(header))
    return Status(ExitCode::ranksDisagree, "expects a call of process 0, got " +
                                               std::to_string(message.size()) +
                                               " bytes");
  std::memcpy(&header, message.data(), sizeof(header));
  Call call = {header.kind,
               header.session,
               header.number,
               header.seconds,
               header.graph != 0,
               header.device,
               {}};
  call.bytes.assign(message.begin() + sizeof(header), message.end());
  return call;
}

/// Repeats what Session::create() did in process 0.
static Expected<std::unique_ptr<Session>>
createLike(const Call &call, const std::shared_ptr<World> &world,
           const KernelResolver &resolver) {
  const Expected<std::string> level = deviceProcessor(call.device);
  Expected<ppx::ArtifactT> artifact =
      level
          ? parseArtifact(reinterpret_cast<const uint8_t *>(call.bytes.data()),
                          call.bytes.size(), "the program of process 0",
                          {"", *level})
          : level.status();
  if (Status status = world->agree(artifact.status()).first; !status.ok())
    return status;
  SessionOptions options;
  options.resolver = resolver;
  options.threadsPerRank = unsigned(call.number);
  options.hangTimeoutSeconds = call.seconds;
  options.device = call.device;
  options.graph = call.graph;
  options.world = world;
  return Session::create(
      std::make_shared<const ppx::ArtifactT>(std::move(*artifact)), options);
}

/// Ignores failures: the same call fails in process 0, which handles it.
static void repeat(const Call &call, Session &session) {
  switch (call.kind) {
  case CallKind::initialize:
    return (void)session.initialize(
        call.number, {reinterpret_cast<const uint8_t *>(call.bytes.data()),
                      reinterpret_cast<const uint8_t *>(call.bytes.data()) +
                          call.bytes.size()});
  case CallKind::setArgument:
    return (void)session.setArgument(uint32_t(call.number), call.bytes.data(),
                                     call.bytes.size());
  case CallKind::getArgument:
    return (void)session.getArgument(
        uint32_t(call.number), nullptr,
        session.argumentBytes(uint32_t(call.number)));
  case CallKind::setInput:
    return (void)session.setInput(uint32_t(call.number), call.bytes.data(),
                                  call.bytes.size());
  case CallKind::begin:
    return (void)session.begin(call.number);
  case CallKind::submit:
    return (void)session.submit();
  case CallKind::wait:
    return (void)session.wait();
  case CallKind::end:
    return (void)session.end();
  case CallKind::collect:
    return (void)session.collect();
  case CallKind::create:
  case CallKind::destroy:
  case CallKind::finish:
    return;
  }
}

Status pprt::followSessions(std::shared_ptr<World> world,
                            const KernelResolver &resolver) {
  std::map<uint64_t, std::unique_ptr<Session>> sessions;
  while (true) {
    Expected<Call> call = listen(*world);
    if (!call)
      return call.status();
    if (call->kind == CallKind::finish)
      return {};
    if (call->kind == CallKind::create) {
      Expected<std::unique_ptr<Session>> created =
          createLike(*call, world, resolver);
      if (created)
        sessions[call->session] = std::move(*created);
      continue;
    }
    if (call->kind == CallKind::destroy)
      sessions.erase(call->session);
    else if (const auto found = sessions.find(call->session);
             found != sessions.end())
      repeat(*call, *found->second);
  }
}

Status pprt::endFollowing(World &world) {
  return world.processCount() == 1 ? Status() : tell(world, {});
}
