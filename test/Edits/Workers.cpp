//===- Workers.cpp - trials that may crash --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A process takes a range of trials and tells by a pipe, a line per trial, that
// it begins it and what it returned. Where the lines end, it died; another
// process goes on behind that trial.
//
//===----------------------------------------------------------------------===//
#include "Workers.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace pp::testing;

namespace {

using Trial = std::function<std::string(unsigned, const std::string &)>;
using Report = std::function<void(unsigned, const std::string &)>;

class Worker {
public:
  Worker(const WorkerLimits &limits, const Trial &trial)
      : limits(&limits), trial(&trial) {}

  void start(unsigned first, unsigned end);
  /// Reads what there is. False once the process has ended.
  bool read(const Report &done);
  /// Collects the dead process; tells of the trial it died in, and returns
  /// the trial to go on with.
  unsigned finish(const Report &died);

  int pipe() const { return fd; }
  unsigned end() const { return last; }

private:
  [[noreturn]] void runAll(int out);

  const WorkerLimits *limits;
  const Trial *trial;
  std::string folder, unread;
  pid_t process = -1;
  int fd = -1;
  unsigned next = 0, last = 0;
  bool isBusy = false; ///< in trial `next`
};

void Worker::start(unsigned first, unsigned end) {
  char pattern[] = "/tmp/edits-XXXXXX";
  int ends[2];
  if (!mkdtemp(pattern) || ::pipe2(ends, O_CLOEXEC)) {
    std::perror("edits: cannot start a worker");
    std::exit(1);
  }
  folder = pattern;
  next = first;
  last = end;
  isBusy = false;
  unread.clear();
  process = fork();
  if (process < 0) {
    std::perror("edits: cannot start a worker");
    std::exit(1);
  }
  if (process == 0) {
    close(ends[0]);
    runAll(ends[1]);
  }
  close(ends[1]);
  fd = ends[0];
}

void Worker::runAll(int out) {
  // Address space is counted, not memory: the libraries' share is free.
  rlimit space{limits->memoryBytes + (uint64_t(2) << 30), RLIM_INFINITY};
  rlimit core{0, 0};
  setrlimit(RLIMIT_AS, &space);
  setrlimit(RLIMIT_CORE, &core);
  std::string log = folder + "/log";
  if (!std::freopen(log.c_str(), "w", stderr) ||
      !std::freopen("/dev/null", "w", stdout))
    _exit(1);
  for (; next < last; ++next) {
    dprintf(out, "begin\n");
    std::rewind(stderr);
    alarm(limits->seconds); // SIGALRM ends the process
    std::string result = (*trial)(next, folder);
    alarm(0);
    std::replace(result.begin(), result.end(), '\n', '|');
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (uint64_t(usage.ru_maxrss) * 1024 > limits->memoryBytes) {
      dprintf(out, "memory\n");
      _exit(1);
    }
    dprintf(out, "end %s\n", result.c_str());
  }
  _exit(0);
}

bool Worker::read(const Report &done) {
  char buffer[4096];
  ssize_t count = ::read(fd, buffer, sizeof(buffer));
  if (count <= 0)
    return false;
  unread.append(buffer, count);
  for (size_t end; (end = unread.find('\n')) != std::string::npos;) {
    std::string line = unread.substr(0, end);
    unread.erase(0, end + 1);
    isBusy = line.compare(0, 4, "end ") != 0;
    if (!isBusy)
      done(next++, line.substr(4));
  }
  return true;
}

unsigned Worker::finish(const Report &died) {
  int status = 0;
  close(fd);
  waitpid(process, &status, 0);
  if (isBusy || next < last) {
    std::string why =
        WIFSIGNALED(status)
            ? (WTERMSIG(status) == SIGALRM
                   ? "no end after " + std::to_string(limits->seconds) + " s"
                   : std::string("signal ") + strsignal(WTERMSIG(status)))
            : "more than " + std::to_string(limits->memoryBytes >> 20) +
                  " MB, or an exit in its midst";
    // The first frames that are ours say most.
    if (FILE *log = std::fopen((folder + "/log").c_str(), "r")) {
      char line[512];
      int frames = 0;
      while (std::fgets(line, sizeof(line), log) && frames < 4)
        if (std::strstr(line, "pp::") || std::strstr(line, "(anonymous")) {
          why += "\n    " + std::string(line, std::strcspn(line, "\n"));
          ++frames;
        }
      std::fclose(log);
    }
    died(next++, why);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return next;
}

} // namespace

void pp::testing::runTrials(unsigned first, unsigned last,
                            const WorkerLimits &limits, const Trial &trial,
                            const Report &done, const Report &died) {
  unsigned next = first;
  std::vector<Worker> workers;
  auto startNext = [&](Worker &worker) {
    if (next >= last)
      return false;
    unsigned end = std::min(next + limits.trialsPerProcess, last);
    worker.start(next, end);
    next = end;
    return true;
  };
  for (unsigned i = 0; i < limits.workers; ++i)
    if (Worker worker(limits, trial); startNext(worker))
      workers.push_back(worker);
  while (!workers.empty()) {
    std::vector<pollfd> pipes;
    for (const Worker &worker : workers)
      pipes.push_back({worker.pipe(), POLLIN, 0});
    poll(pipes.data(), pipes.size(), -1);
    for (size_t i = workers.size(); i-- > 0;) {
      Worker &worker = workers[i];
      if (!pipes[i].revents || worker.read(done))
        continue;
      unsigned resumed = worker.finish(died);
      if (resumed < worker.end())
        worker.start(resumed, worker.end());
      else if (!startNext(worker))
        workers.erase(workers.begin() + i);
    }
  }
}
