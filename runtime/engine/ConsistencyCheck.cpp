//===- ConsistencyCheck.cpp - bytes that all processes must share ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Process 0 gets the bytes of all processes and compares them; others learn of
// a failure as of any. Assumes that all processes ask about the same thing.
//
//===----------------------------------------------------------------------===//
#include "pprt/World.h"

using namespace pprt;

Status pprt::expectSame(World &world, std::vector<std::byte> mine,
                        const std::string &expected,
                        const std::string &advice) {
  if (world.processCount() == 1)
    return {};
  const Expected<std::vector<std::vector<std::byte>>> all =
      world.gather(std::move(mine));
  Status status = all.status();
  for (size_t process = 1; all && process < all->size() && status.ok();
       ++process)
    if ((*all)[process] != (*all)[0])
      status = Status(ExitCode::ranksDisagree,
                      "expects the same " + expected +
                          " in all processes, got another in process " +
                          std::to_string(process) + "; " + advice);
  return world.agree(status).first;
}
