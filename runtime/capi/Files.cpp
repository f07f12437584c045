//===- Files.cpp - files of a session behind C functions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Values of parameters and states as files have them, and the checkpoints that
// pp-run reads and writes, too.
//
//===----------------------------------------------------------------------===//
#include "Handles.h"
#include "pprt/host/Checkpoint.h"
#include "pprt/host/Parameters.h"

#include <random>

using namespace pprt;
using namespace pprt::capi;

int pprt_save(const pprt_session *session, const char *path) {
  return guarded([&]() -> int {
    if (!session || !path)
      return refuseNull("a session and a path");
    return report(session->reads()
                      ? host::saveParameters(path, *session->session)
                      : host::giveParameters(*session->session));
  });
}

int pprt_stored(const pprt_session *session, uint32_t argument,
                uint32_t *dimensions, const uint64_t **shape,
                const uint32_t **order) {
  return guarded([&]() -> int {
    if (!session || !dimensions || !shape || !order)
      return refuseNull("a session and places for shape and order");
    if (argument >= pprt_argument_count(session))
      return refuse("expects an argument below " +
                    std::to_string(pprt_argument_count(session)) + ", got " +
                    std::to_string(argument));
    const ppx::ArgumentT &its = *session->artifact().arguments[argument];
    const std::vector<uint64_t> &stored =
        its.stored_shape.empty() ? its.shape : its.stored_shape;
    *dimensions = uint32_t(stored.size());
    *shape = stored.data();
    *order = its.stored_order.empty() ? nullptr : its.stored_order.data();
    return PPRT_OK;
  });
}

uint64_t pprt_steps(const pprt_session *session) {
  return session ? session->steps : 0;
}

static int refuseSeveral(const char *call) {
  return refuse(std::string(call) +
                " expects a session of one process; pp-run writes and reads "
                "checkpoints of several");
}

/// A name that no other checkpoint has.
static std::string drawId(uint64_t step) {
  std::random_device device;
  return std::to_string((uint64_t(device()) << 32) | device()) + "-" +
         std::to_string(step);
}

static Status writeCheckpoint(const pprt_session &session,
                              const std::string &path) {
  Expected<host::CheckpointFolder> folder = host::CheckpointFolder::lock(path);
  if (!folder)
    return folder.status();
  host::CheckpointIndex index = host::indexOf(*session.session);
  index.step = session.steps;
  index.seed = session.seed;
  index.id = drawId(index.step);
  if (Status status = folder->prepare(index.step); !status.ok())
    return status;
  host::CheckpointCopy copy(*session.session,
                            {0, session.session->mesh().worldSize()});
  Status status = copy.take(*session.session);
  if (status.ok())
    status = copy.write(host::stepFolder(path, index.step), index.id);
  if (status.ok())
    status = folder->commit(index, /*metrics=*/"");
  if (!status.ok())
    (void)folder->remove(index.step);
  return status;
}

int pprt_save_checkpoint(const pprt_session *session, const char *folder) {
  return guarded([&]() -> int {
    if (!session || !folder)
      return refuseNull("a session and a folder");
    if (session->world && session->world->processCount() > 1)
      return refuseSeveral("pprt_save_checkpoint");
    return report(writeCheckpoint(*session, folder));
  });
}

int pprt_resume(pprt_session *session, const char *path) {
  return guarded(session, [&]() -> int {
    if (!session || !path)
      return refuseNull("a session and a path");
    if (session->world && session->world->processCount() > 1)
      return refuseSeveral("pprt_resume");
    if (session->hasBegun)
      return refuse("pprt_resume called after pprt_begin");
    Expected<host::Checkpoint> checkpoint =
        host::Checkpoint::openWhole(path, session->warning);
    if (!checkpoint)
      return report(checkpoint.status());
    Status status =
        checkpoint->expect(session->artifact(), /*ofModelAlone=*/false);
    if (status.ok())
      status = checkpoint->load(*session->session, /*ofModelAlone=*/false);
    if (!status.ok())
      return report(status);
    session->steps = checkpoint->index().step;
    session->seed = checkpoint->index().seed;
    for (uint32_t i = 0; i < session->hasValues.size(); ++i)
      if (!session->isInput(i))
        session->hasValues[i] = true;
    return PPRT_OK;
  });
}

const char *pprt_warning(const pprt_session *session) {
  return session ? session->warning.c_str() : "";
}
