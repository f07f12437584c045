//===- Children.cpp - judges mutants, each in a process of its own --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two children at a time; what one prints is kept until it has ended.
//
//===----------------------------------------------------------------------===//
#include "Mutants.h"

#include <csignal>
#include <cstdlib>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pprt;
using namespace pprt::mutants;

const char *const mutants::kOutcomeNames[kOutcomes] = {
    "fault", "error", "bits", "died", "hang", "survived", "unseen", "none"};

static constexpr size_t kAtOnce = 2;
/// What a mutant may take of a processor, which takes less than a second where
/// it ends, and of time where it waits.
static constexpr unsigned kProcessorSeconds = 30, kSeconds = 300;
/// What a child's last line begins with, before the outcome's number.
static constexpr char kMark[] = "\noutcome ";

namespace {

struct Child {
  size_t attempt;
  int output;
};

} // namespace

static std::pair<pid_t, int> start(const Attempt &attempt) {
  // Of any length: nobody reads before the end.
  const int output = memfd_create("judged", 0);
  const pid_t child = output < 0 ? -1 : fork();
  if (child < 0)
    std::abort();
  if (child > 0)
    return {child, output};
  // A fault is printed there, and ends the process.
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const rlimit limit = {kProcessorSeconds, kProcessorSeconds + 5};
  setrlimit(RLIMIT_CPU, &limit);
  alarm(kSeconds);
  const Judged judged = attempt();
  const std::string line =
      judged.text + kMark + char('0' + int(judged.outcome));
  (void)!write(output, line.data(), line.size());
  // Whatever a mutant has left is not taken apart.
  _exit(0);
}

static Judged finish(int output, int status) {
  std::string text;
  char buffer[4096];
  lseek(output, 0, SEEK_SET);
  for (ssize_t count; (count = read(output, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, size_t(count));
  close(output);
  if (const size_t mark = text.rfind(kMark); mark != std::string::npos)
    return {Outcome(text[mark + sizeof(kMark) - 1] - '0'),
            text.substr(0, mark)};
  if (WIFSIGNALED(status) &&
      (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU))
    return {Outcome::hang, text};
  return {text.find(": fault: ") == std::string::npos ? Outcome::died
                                                      : Outcome::fault,
          text};
}

std::vector<Judged> mutants::judge(const std::vector<Attempt> &attempts) {
  std::vector<Judged> result(attempts.size());
  std::map<pid_t, Child> children;
  for (size_t next = 0; next < attempts.size() || !children.empty();) {
    if (next < attempts.size() && children.size() < kAtOnce) {
      const auto [child, output] = start(attempts[next]);
      children[child] = {next++, output};
      continue;
    }
    int status = 0;
    const pid_t ended = wait(&status);
    const auto found = children.find(ended);
    if (found == children.end())
      continue;
    result[found->second.attempt] = finish(found->second.output, status);
    children.erase(found);
  }
  return result;
}
