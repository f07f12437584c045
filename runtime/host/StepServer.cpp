//===- StepServer.cpp - the last step for Prometheus ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/StepServer.h"
#include "../engine/Thread.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace pprt;
using namespace pprt::host;

using Clock = std::chrono::steady_clock;
/// The time of a reader to ask, and to read; and the length of its request.
static constexpr std::chrono::milliseconds kPatience(1000);
static constexpr size_t kLongestRequest = 8192;

std::optional<Endpoint> pprt::host::parseEndpoint(std::string_view text) {
  Endpoint endpoint;
  if (const size_t colon = text.rfind(':'); colon != text.npos) {
    std::string_view host = text.substr(0, colon);
    const bool hasBrackets =
        host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (hasBrackets)
      host = host.substr(1, host.size() - 2);
    if (host.empty() || (!hasBrackets && host.find(':') != host.npos))
      return std::nullopt;
    endpoint.host = host;
    text = text.substr(colon + 1);
  }
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), endpoint.port);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return endpoint;
}

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

/// `NaN` and `+Inf` are numbers to Prometheus.
static std::string printNumber(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

static std::string printGauge(const std::string &name, const char *help,
                              double value) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n" +
         name + " " + printNumber(value) + "\n";
}

/// The value of a label.
static std::string escape(const std::string &text) {
  std::string escaped;
  for (const char c : text)
    if (c == '\n')
      escaped += "\\n";
    else
      escaped +=
          c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return escaped;
}

std::string pprt::host::printForPrometheus(const StepReport *step,
                                           const RunGoal &goal) {
  std::string text =
      printGauge("pp_step", "Steps done.", step ? double(step->step) : 0) +
      printGauge("pp_steps_planned", "Steps of the whole run.",
                 double(goal.steps));
  if (!step)
    return text;
  text +=
      printGauge("pp_loss", "Loss of the last step.", step->loss) +
      printGauge("pp_step_seconds", "Time of the last step.", step->ms / 1e3) +
      printGauge("pp_data_seconds",
                 "Time before it in which no step ran, for lack of data.",
                 step->dataMs / 1e3);
  if (step->itemsPerSecond > 0)
    text += printGauge("pp_" + goal.itemName + "_per_second",
                       "Throughput of the last step.", step->itemsPerSecond);
  if (step->residentBytes > 0)
    text += printGauge("pp_resident_bytes", "Memory of process 0.",
                       double(step->residentBytes));
  if (step->metrics.empty())
    return text;
  text += "# HELP pp_metric What the model reports beside the loss.\n"
          "# TYPE pp_metric gauge\n";
  for (const auto &[name, values] : step->metrics)
    for (size_t i = 0; i < values.size(); ++i)
      text += "pp_metric{name=\"" + escape(name) + "\"" +
              (values.size() == 1 ? std::string()
                                  : ",element=\"" + std::to_string(i) + "\"") +
              "} " + printNumber(values[i]) + "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------===//

namespace {

/// A descriptor that closes itself.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept
      : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
  int get() const { return number; }

private:
  int number;
};

/// Waits until a descriptor is ready. False if `stop` is, or time is up.
bool awaitReady(int descriptor, short events, int stop,
                Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0)
      return false;
    pollfd ready[] = {{descriptor, events, 0}, {stop, POLLIN, 0}};
    const int count = poll(ready, 2, int(left.count()));
    if (count < 0 && errno != EINTR)
      return false;
    if (count > 0)
      return !ready[1].revents;
  }
}

std::string answerOf(const char *status, const std::string &body) {
  return std::string("HTTP/1.0 ") + status +
         "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

Status refuse(const Endpoint &endpoint, const std::string &reason) {
  return Status(ExitCode::usage,
                "'--listen' expects a free port of this host, got " +
                    endpoint.host + ":" + std::to_string(endpoint.port) + ": " +
                    reason);
}

} // namespace

struct StepServer::State {
  Descriptor listener, stop;
  std::string host; ///< as in an address
  uint16_t port = 0;

  std::mutex mutex; ///< of the two
  std::shared_ptr<const StepReport> last;
  RunGoal goal;

  Thread thread; ///< uses all of these

  void serve();
  void answer(int reader);
  std::string respond(const std::string &request);
};

void StepServer::State::serve() {
  for (;;) {
    pollfd ready[] = {{listener.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR)
      return;
    if (ready[1].revents)
      return;
    const Descriptor reader(accept4(listener.get(), nullptr, nullptr,
                                    SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (reader.get() >= 0)
      answer(reader.get());
    // No descriptor is left, say.
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      (void)poll(&ready[1], 1, 100);
  }
}

void StepServer::State::answer(int reader) {
  auto deadline = Clock::now() + kPatience;
  std::string request;
  const auto isWhole = [&] {
    return request.find("\r\n\r\n") != request.npos ||
           request.find("\n\n") != request.npos;
  };
  while (!isWhole()) {
    char bytes[1024];
    if (request.size() > kLongestRequest ||
        !awaitReady(reader, POLLIN, stop.get(), deadline))
      return;
    const ssize_t count = recv(reader, bytes, sizeof(bytes), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return;
    if (count > 0)
      request.append(bytes, size_t(count));
  }
  const std::string text = respond(request);
  deadline = Clock::now() + kPatience;
  for (size_t sent = 0; sent < text.size();) {
    if (!awaitReady(reader, POLLOUT, stop.get(), deadline))
      return;
    // The signal of a closed connection would end the run.
    const ssize_t count =
        send(reader, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
      return;
    if (count > 0)
      sent += size_t(count);
  }
}

std::string StepServer::State::respond(const std::string &request) {
  const std::string line = request.substr(0, request.find_first_of("\r\n"));
  if (line.rfind("GET ", 0) != 0)
    return answerOf("405 Method Not Allowed", "expects GET /metrics\n");
  const std::string path = line.substr(4, line.find_first_of(" ?", 4) - 4);
  if (path != "/metrics")
    return answerOf("404 Not Found", "expects /metrics\n");
  std::unique_lock<std::mutex> lock(mutex);
  const std::shared_ptr<const StepReport> step = last;
  const RunGoal its = goal;
  lock.unlock(); // the run waits for it
  return answerOf("200 OK", printForPrometheus(step.get(), its));
}

StepServer::StepServer(std::unique_ptr<State> state)
    : state(std::move(state)) {}

Expected<std::unique_ptr<StepServer>>
StepServer::listen(const Endpoint &endpoint) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int error =
          getaddrinfo(endpoint.host.c_str(),
                      std::to_string(endpoint.port).c_str(), &hints, &found))
    return refuse(endpoint, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> held(found,
                                                             freeaddrinfo);
  auto state = std::make_unique<State>();
  int error = 0;
  for (const addrinfo *its = found; its && state->listener.get() < 0;
       its = its->ai_next) {
    Descriptor listener(
        socket(its->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    // Connections of a run before may still be closing.
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener.get(), its->ai_addr, its->ai_addrlen) == 0 &&
        ::listen(listener.get(), 16) == 0)
      state->listener = std::move(listener);
    else
      error = errno;
  }
  if (state->listener.get() < 0)
    return refuse(endpoint, std::strerror(error));
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  getsockname(state->listener.get(), reinterpret_cast<sockaddr *>(&bound),
              &size);
  // The port is at the same place in both.
  state->port = ntohs(reinterpret_cast<sockaddr_in *>(&bound)->sin_port);
  state->host = endpoint.host.find(':') == std::string::npos
                    ? endpoint.host
                    : "[" + endpoint.host + "]";
  state->stop = Descriptor(eventfd(0, EFD_CLOEXEC));
  State *its = state.get();
  if (state->stop.get() < 0 || !state->thread.start([its] { its->serve(); }))
    return Status(ExitCode::device, "cannot start a thread for '--listen'");
  return std::unique_ptr<StepServer>(new StepServer(std::move(state)));
}

StepServer::~StepServer() {
  const uint64_t one = 1;
  (void)!write(state->stop.get(), &one, sizeof(one));
  state->thread.join();
}

std::string StepServer::address() const {
  return "http://" + state->host + ":" + std::to_string(state->port) +
         "/metrics";
}

void StepServer::setGoal(const RunGoal &goal) {
  const std::lock_guard<std::mutex> lock(state->mutex);
  state->goal = goal;
}

Status StepServer::add(const StepReport &step) {
  auto its = std::make_shared<const StepReport>(step);
  const std::lock_guard<std::mutex> lock(state->mutex);
  state->last = std::move(its);
  return {};
}
