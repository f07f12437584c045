//===- Clocks.cpp - offsets between the clocks of processes ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Process 0 asks each process for its time repeatedly (Cristian's algorithm),
// and keeps the best answer.
//
//===----------------------------------------------------------------------===//
#include "../../engine/Clocks.h"
#include "World.h"

#include <ctime>

using namespace pprt;
using namespace pprt::mpi;

/// Tag in the control communicator.
static constexpr int kClockTag = 4;
/// The first round trips wake the threads that answer.
static constexpr int kRoundTrips = 30;

static int64_t nanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Status MpiWorld::passTime(bool sends, uint32_t other,
                          const std::shared_ptr<int64_t> &time) {
  return engine->wait(
      sends ? "MPI_Isend" : "MPI_Irecv", time, [&](MPI_Request *request) {
        return sends ? MPI_Isend(time.get(), sizeof(*time), MPI_BYTE,
                                 int(other), kClockTag, control, request)
                     : MPI_Irecv(time.get(), sizeof(*time), MPI_BYTE,
                                 int(other), kClockTag, control, request);
      });
}

Status MpiWorld::readClocksHere(std::vector<ClockReading> &readings) {
  const auto time = std::make_shared<int64_t>();
  if (rank != 0) {
    for (int trip = 0; trip < kRoundTrips; ++trip) {
      if (Status status = passTime(/*sends=*/false, 0, time); !status.ok())
        return status;
      *time = nanoseconds();
      if (Status status = passTime(/*sends=*/true, 0, time); !status.ok())
        return status;
    }
    return {};
  }
  readings.resize(size_t(size));
  for (uint32_t other = 1; other < uint32_t(size); ++other) {
    std::vector<RoundTrip> trips;
    for (int trip = 0; trip < kRoundTrips; ++trip) {
      const int64_t begin = nanoseconds();
      if (Status status = passTime(/*sends=*/true, other, time); !status.ok())
        return status;
      if (Status status = passTime(/*sends=*/false, other, time); !status.ok())
        return status;
      trips.push_back({begin, *time, nanoseconds()});
    }
    readings[other] = closestReading(trips);
  }
  return {};
}

Expected<std::vector<ClockReading>> MpiWorld::readClocks() {
  std::vector<ClockReading> readings;
  if (Status status = together([&] { return readClocksHere(readings); });
      !status.ok())
    return status;
  return readings;
}
