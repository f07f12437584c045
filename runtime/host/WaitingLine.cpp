//===- WaitingLine.cpp - what a terminal shows of a long wait -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A thread draws while the caller works, and is joined before the caller may
// write again, so the stream has one writer at a time.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/WaitingLine.h"
#include "../engine/Thread.h"

#include <condition_variable>
#include <mutex>

using namespace pprt;
using namespace pprt::host;

struct WaitingLine::State {
  std::ostream &out;
  const std::string what;
  const std::chrono::milliseconds second;

  std::mutex mutex;
  std::condition_variable ends;
  bool hasEnded = false;
  size_t drawnWidth = 0; ///< the thread's, until it has ended
  Thread thread;

  State(std::ostream &out, std::string what, std::chrono::milliseconds second)
      : out(out), what(std::move(what)), second(second) {}

  void draw() {
    std::unique_lock<std::mutex> lock(mutex);
    const auto start = std::chrono::steady_clock::now();
    for (unsigned seconds = 1; !ends.wait_until(lock, start + seconds * second,
                                                [&] { return hasEnded; });
         ++seconds) {
      const std::string line = what + " ... " + std::to_string(seconds) + " s";
      out << '\r' << line << std::flush;
      drawnWidth = line.size();
    }
  }
};

WaitingLine::WaitingLine(std::ostream &out, std::string what, bool shows,
                         std::chrono::milliseconds second) {
  if (!shows)
    return;
  state = std::make_unique<State>(out, std::move(what), second);
  State *its = state.get();
  // A terminal without the line is no reason to fail.
  if (!state->thread.start([its] { its->draw(); }))
    state.reset();
}

WaitingLine::~WaitingLine() {
  if (!state)
    return;
  {
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->hasEnded = true;
  }
  state->ends.notify_one();
  state->thread.join();
  if (state->drawnWidth > 0)
    state->out << '\r' << std::string(state->drawnWidth, ' ') << '\r'
               << std::flush;
}
