//===- Side.cpp - one way to compute, in a process of its own -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Side.h"
#include "pprt/Files.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace {

bool readAll(int file, void *data, size_t size) {
  for (char *at = static_cast<char *>(data); size > 0;) {
    const ssize_t count = read(file, at, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    size -= size_t(count);
  }
  return true;
}

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

/// The first computation of a turn wakes threads and is not counted.
std::vector<double> turn(const Work &work, double seconds, Side::Clock clock) {
  const clockid_t id =
      clock.processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const double divisor = clock.processor ? clock.threads : 1;
  std::vector<double> times;
  work.again();
  const double end = now(CLOCK_MONOTONIC) + seconds * 1e3;
  do {
    const double start = now(id);
    work.again();
    times.push_back((now(id) - start) / divisor);
  } while (now(CLOCK_MONOTONIC) < end);
  return times;
}

void serve(const std::function<Work()> &create, Side::Clock clock, int requests,
           int replies) {
  const Work work = create();
  const size_t length = work.name.size();
  bool open = pprt::writeAll(replies, &length, sizeof(length)) &&
              pprt::writeAll(replies, work.name.data(), length) &&
              pprt::writeAll(replies, &work.sum, sizeof(work.sum));
  for (double seconds; open && readAll(requests, &seconds, sizeof(seconds));) {
    const std::vector<double> times = turn(work, seconds, clock);
    const size_t count = times.size();
    open = pprt::writeAll(replies, &count, sizeof(count)) &&
           pprt::writeAll(replies, times.data(), count * sizeof(double));
  }
}

} // namespace

std::optional<Side> Side::start(const std::function<Work()> &create,
                                Clock clock) {
  int requests[2], replies[2];
  if (pipe(requests) != 0 || pipe(replies) != 0)
    return std::nullopt;
  const pid_t process = fork();
  if (process == 0) {
    close(requests[1]);
    close(replies[0]);
    serve(create, clock, requests[0], replies[1]);
    _exit(0);
  }
  close(requests[0]);
  close(replies[1]);
  Side side(process, requests[1], replies[0]);
  size_t length;
  if (process < 0 || !readAll(side.replies, &length, sizeof(length)))
    return std::nullopt;
  side.itsName.resize(length);
  if (!readAll(side.replies, side.itsName.data(), length) ||
      !readAll(side.replies, &side.itsSum, sizeof(side.itsSum)))
    return std::nullopt;
  return side;
}

Side::Side(Side &&other) noexcept
    : process(std::exchange(other.process, -1)),
      requests(std::exchange(other.requests, -1)),
      replies(std::exchange(other.replies, -1)),
      itsName(std::move(other.itsName)), itsSum(other.itsSum),
      milliseconds(std::move(other.milliseconds)) {}

/// The process would otherwise wait for requests as long as a later one, which
/// holds a copy of their file: so it is killed.
Side::~Side() {
  if (requests >= 0) {
    close(requests);
    close(replies);
  }
  if (process > 0) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

bool Side::takeTurn(double seconds) {
  size_t count;
  if (!pprt::writeAll(requests, &seconds, sizeof(seconds)) ||
      !readAll(replies, &count, sizeof(count)))
    return false;
  const size_t before = milliseconds.size();
  milliseconds.resize(before + count);
  return readAll(replies, milliseconds.data() + before, count * sizeof(double));
}
