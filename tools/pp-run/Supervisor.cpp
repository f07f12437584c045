//===- Supervisor.cpp - starts a job, and starts it again -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The job has a process group of its own. So a signal reaches it once, through
// this process: from a terminal, from `timeout` and from a batch system, which
// would otherwise signal both, and a second signal ends a job before it saves.
//
// Signals are blocked, and waited for together with the end of the job, so none
// is lost between two calls.
//
//===----------------------------------------------------------------------===//
#include "Supervisor.h"
#include "CheckpointWatch.h"
#include "Command.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pp::run;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

/// How long a process that has outlived its launcher may hold the checkpoints,
/// and a launcher may outlive the job.
static constexpr std::chrono::seconds kLongestHold{60}, kLongestEnd{10};

namespace {

class Supervisor {
public:
  Supervisor(const Options &options, Command command);
  Status run();

private:
  /// Starts a command and waits for its end, which is a status of waitpid().
  Expected<int> runOnce(const Command &command);
  [[noreturn]] void become(const Command &command, pid_t parent) const;
  int await(pid_t job);
  /// Passes one of the signals on to a job.
  void passOn(int signal, pid_t job);
  /// The next of the signals; none, if it does not come soon.
  int awaitSignal(int milliseconds) const;
  /// Waits until no process of an earlier start writes to the checkpoints.
  void awaitFolder();
  /// Whether the last start has saved something.
  bool lookForNewer();
  /// Waits for a moment, or a signal.
  void pause();
  bool mayBeCured(int code) const;
  /// Chooses the size of the start behind one with this end. Returns why there
  /// is none; empty: there is one.
  std::string chooseNext(int code);
  void tellOfNext(const std::string &end, const Command &next,
                  bool resumes) const;

  const Options &options;
  const Command first;
  const std::string program;
  const uint64_t wholeDp; ///< of `first`
  uint64_t dp;            ///< of the last start, then of the next one
  uint64_t starts = 1;
  uint64_t inVain = 0; ///< starts in a row that have saved nothing new
  CheckpointWatch watch;
  sigset_t heeded, inherited;
  bool isToldToEnd = false;
  bool isOverdue = false; ///< whether the last launcher was
};

} // namespace

/// The path of this program. Read once: a later build may take its place.
static std::string ownPath() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

static void execute(const Command &command, const std::string &program) {
  std::vector<std::string> words = command.launcher;
  words.push_back(program);
  words.insert(words.end(), command.options.begin(), command.options.end());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
}

static Status cannotStart(const std::string &what) {
  return Status(ExitCode::device,
                "cannot start " + what + ": " + std::strerror(errno));
}

/// The code with which a shell would end.
static int codeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

namespace {
/// A code of pp-run behind which another start may succeed.
struct Curable {
  ExitCode code;
  const char *words;
};
} // namespace

static constexpr Curable kCurable[] = {
    {ExitCode::hang, "hung"},
    {ExitCode::io, "could not read or write"},
    {ExitCode::device, "failed on a device"}};

static const Curable *findCurable(int code) {
  for (const Curable &its : kCurable)
    if (code == int(its.code))
      return &its;
  return nullptr;
}

static std::string describeEnd(int code) {
  const std::string number = " (code " + std::to_string(code) + ")";
  if (const Curable *its = findCurable(code))
    return its->words + number;
  const int signal = code - 128;
  return signal > 0 && signal < NSIG
             ? "was ended by signal " + std::to_string(signal) + " (" +
                   ::strsignal(signal) + ")"
             : "was ended by its launcher" + number;
}

/// The divisor of `whole` below `part`, which is above 1.
static uint64_t nextDivisor(uint64_t whole, uint64_t part) {
  do
    --part;
  while (whole % part != 0);
  return part;
}

Supervisor::Supervisor(const Options &options, Command command)
    : options(options), first(std::move(command)), program(ownPath()),
      wholeDp(dataParallelOf(options.parallelize).value_or(1)), dp(wholeDp),
      watch(options.checkpoint) {
  sigemptyset(&heeded);
  for (int signal : {SIGCHLD, SIGTSTP, SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    // What the caller ignores, as nohup does, the job ignores, too.
    if (action.sa_handler != SIG_IGN || signal == SIGCHLD)
      sigaddset(&heeded, signal);
  }
  // An ignored one would not tell how the job has ended.
  std::signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &heeded, &inherited);
}

bool Supervisor::mayBeCured(int code) const {
  // Launchers, like shells, end with 128 and the signal that has ended a
  // process, and above that with failures of their own.
  if (code > 128)
    return code != int(ExitCode::interrupted);
  // A model that does not compile has this code, too, but not behind a start
  // that compiled it. mpirun has it if it cannot reach a host.
  if (code == int(ExitCode::doesNotCompile))
    return starts > 1 && !first.launcher.empty();
  return findCurable(code) != nullptr;
}

void Supervisor::become(const Command &command, pid_t parent) const {
  setpgid(0, 0);
  // Else a job that saves now and then would go on without its supervisor.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent)
    _exit(int(ExitCode::interrupted));
  // It may be started again, and could not read the same once more. A job that
  // is not in the terminal's group would be stopped when it reads.
  if (const int null = ::open("/dev/null", O_RDONLY); null >= 0) {
    dup2(null, STDIN_FILENO);
    ::close(null);
  }
  sigprocmask(SIG_SETMASK, &inherited, nullptr);
  execute(command, program);
  std::cerr << "pp-run: error: " << cannotStart("the job").message()
            << std::endl;
  _exit(127);
}

int Supervisor::awaitSignal(int milliseconds) const {
  const timespec most = {milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return sigtimedwait(&heeded, nullptr, &most);
}

void Supervisor::passOn(int signal, pid_t job) {
  if (signal == SIGTSTP) {
    kill(-job, SIGTSTP);
    raise(SIGSTOP);
    kill(-job, SIGCONT);
  } else if (signal > 0 && signal != SIGCHLD) {
    isToldToEnd = true;
    kill(-job, signal);
  }
}

int Supervisor::await(pid_t job) {
  int status = 0;
  isOverdue = false;
  while (waitpid(job, &status, WNOHANG) != job) {
    passOn(awaitSignal(1000), job);
    // mpirun waits for the daemon of a host that is gone. A second signal ends
    // it.
    isOverdue = !first.launcher.empty() && watch.hasEndedFor(kLongestEnd);
    if (isOverdue)
      kill(-job, watch.hasEndedFor(2 * kLongestEnd) ? SIGKILL : SIGTERM);
  }
  return status;
}

Expected<int> Supervisor::runOnce(const Command &command) {
  watch.begin();
  const pid_t parent = getpid(), job = fork();
  if (job < 0)
    return cannotStart("a process");
  if (job == 0)
    become(command, parent);
  // Both do, so that it is done when either goes on.
  setpgid(job, job);
  return await(job);
}

void Supervisor::awaitFolder() {
  const auto end = Clock::now() + kLongestHold;
  while (!isToldToEnd && Clock::now() < end && watch.mayBeTaken())
    pause();
}

bool Supervisor::lookForNewer() {
  // A disk may be away for a moment.
  const auto end = Clock::now() + kLongestHold;
  Expected<bool> isNewer = watch.findNewer();
  for (; !isNewer && !isToldToEnd && Clock::now() < end;
       isNewer = watch.findNewer())
    pause();
  return isNewer && *isNewer;
}

void Supervisor::pause() {
  const int signal = awaitSignal(200);
  isToldToEnd |= signal > 0 && signal != SIGCHLD && signal != SIGTSTP;
}

std::string Supervisor::chooseNext(int code) {
  if (starts > options.restarts)
    return "as --restart=" + std::to_string(options.restarts) + " says";
  // Fewer devices read and write no better.
  if (options.isElastic && inVain > 0 && dp > 1 && code != int(ExitCode::io)) {
    dp = nextDivisor(wholeDp, dp);
    inVain = 0;
  }
  return inVain > 1 ? "the second in a row that has saved nothing" : "";
}

void Supervisor::tellOfNext(const std::string &end, const Command &next,
                            bool resumes) const {
  std::cerr << "pp-run: warning: " << end << "; start " << starts + 1
            << " of at most " << options.restarts + 1;
  if (resumes)
    std::cerr << " goes on from step " << *watch.step();
  else
    std::cerr << " begins as the first one";
  if (dp < wholeDp)
    std::cerr << ", with dp=" << dp << " of " << wholeDp;
  if (const auto processes = processCountOf(next.launcher);
      dp < wholeDp && processes)
    std::cerr << " and " << *processes << " of "
              << *processCountOf(first.launcher) << " processes";
  std::cerr << std::endl;
}

Status Supervisor::run() {
  (void)watch.findNewer();
  // What lies in the folder may be of another run.
  bool isOwn = options.resumesOwn && !options.resumesParametersOnly;
  Command command = first;
  for (;; ++starts) {
    const Expected<int> status = runOnce(command);
    if (!status)
      return status.status();
    // What a launcher does that has to be ended says nothing.
    const int code = isOverdue ? int(ExitCode::hang) : codeOf(*status);
    // Without a message: the job has said why.
    const Status end(ExitCode(code), "");
    // mpirun has a code of its own for a job that was told to end.
    if (isToldToEnd && !first.launcher.empty() &&
        code == int(ExitCode::doesNotCompile))
      return Status(ExitCode::interrupted, "");
    if (isToldToEnd || !mayBeCured(code))
      return end;
    // Until then it may save.
    awaitFolder();
    const bool hasSaved = lookForNewer();
    if (isToldToEnd)
      return end;
    isOwn |= hasSaved;
    if (isOverdue && isOwn && watch.step() >= options.steps) {
      std::cerr << "pp-run: warning: all steps are saved, but the launcher had "
                   "to be ended"
                << std::endl;
      return {};
    }
    inVain = hasSaved ? 0 : inVain + 1;
    const std::string what =
        (isOverdue ? "the job has ended, but not its launcher"
                   : "the job " + describeEnd(code)) +
        (hasSaved ? "" : ", and nothing new is saved");
    if (const std::string why = chooseNext(code); !why.empty()) {
      std::cerr << "pp-run: error: " << what << "; gives up after start "
                << starts << ", " << why << std::endl;
      return end;
    }
    const bool resumes = isOwn && watch.step();
    command = shrunk(first, wholeDp, dp);
    if (resumes)
      command = resumed(std::move(command));
    tellOfNext(what, command, resumes);
  }
}

Status pp::run::supervise(const Options &options, int argc,
                          const char *const *argv) {
  Command command = commandOf(argc, argv, options.launcherCommand);
  if (options.restarts > 0)
    return Supervisor(options, std::move(command)).run();
  // Nobody has to come back: signals and codes are those of the launcher.
  execute(command, ownPath());
  return cannotStart(options.launcherCommand.front());
}
