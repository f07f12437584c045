//===- Data.cpp - what --data and its options name ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers are Hugging Face's: pp-tokenize, a program in Python that lies
// beside this one, calls them and keeps the tokens.
//
//===----------------------------------------------------------------------===//
#include "Data.h"
#include "Launch.h"
#include "pprt/Files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

static constexpr char kText[] = "text:";

namespace {

/// How a program ended, and what it wrote to its standard output.
struct Ended {
  int status = 0;
  std::string output;
};

/// Tokens of a text.
struct Tokens {
  uint64_t count = 0, vocabulary = 0;
  std::string path;
};

} // namespace

/// Runs python3 with these words and waits.
static Expected<Ended> runPython(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemFailure("python3", "make a pipe for");
  words.insert(words.begin(), "python3");
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  errno = ::posix_spawnp(&child, "python3", &actions, nullptr, arguments.data(),
                         environ);
  const bool isStarted = errno == 0;
  const Status failure =
      isStarted ? Status()
                : Status(ExitCode::usage,
                         std::string("--tokenizer=FILE needs python3 with the "
                                     "package tokenizers, got: ") +
                             std::strerror(errno) +
                             "; install Python, then pip install tokenizers");
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Ended ended;
  char piece[4096];
  for (ssize_t got = 1; isStarted && got != 0;) {
    got = ::read(ends[0], piece, sizeof(piece));
    if (got > 0)
      ended.output.append(piece, size_t(got));
    else if (got < 0 && errno != EINTR)
      break;
  }
  ::close(ends[0]);
  while (isStarted && ::waitpid(child, &ended.status, 0) < 0 && errno == EINTR)
    ;
  return isStarted ? Expected<Ended>(std::move(ended)) : failure;
}

/// COUNT VOCABULARY PATH, a line.
static bool parse(const std::string &line, Tokens &tokens) {
  const char *const end = line.data() + line.size();
  const auto [first, error] = std::from_chars(line.data(), end, tokens.count);
  if (error != std::errc() || first == end || *first != ' ')
    return false;
  const auto [second, other] =
      std::from_chars(first + 1, end, tokens.vocabulary);
  if (other != std::errc() || second == end || *second != ' ')
    return false;
  tokens.path.assign(second + 1, end);
  return !tokens.path.empty();
}

/// Makes tokens of the text, or finds those that were made before. `most` is
/// the largest vocabulary that the model takes; 0: not known.
static Expected<Tokens> tokenize(const Options &options,
                                 const std::string &text, uint64_t most) {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = self.parent_path() / "pp-tokenize";
  if (error || !std::filesystem::exists(program, error))
    return Status(ExitCode::usage, "--tokenizer=FILE expects pp-tokenize "
                                   "beside pp-run, as it is installed, got "
                                   "none: " +
                                       program);
  std::vector<std::string> words = {program, "--cache",
                                    "--tokenizer=" + options.tokenizer,
                                    "--most=" + std::to_string(most)};
  if (options.quiet)
    words.emplace_back("--quiet");
  words.insert(words.end(), {"--", text});
  Expected<Ended> ended = runPython(std::move(words));
  if (!ended)
    return ended.status();
  std::string &line = ended->output;
  while (!line.empty() && line.back() == '\n')
    line.pop_back();
  const bool hasEnded = WIFEXITED(ended->status);
  const int code = hasEnded ? WEXITSTATUS(ended->status) : 0;
  Tokens tokens;
  if (hasEnded && code == 0 && parse(line, tokens))
    return tokens;
  if (hasEnded && (code == int(ExitCode::usage) || code == int(ExitCode::io)) &&
      !line.empty())
    return Status(ExitCode(code), line);
  return Status(
      ExitCode::io,
      text + ": expects pp-tokenize to make tokens of it, got " +
          (hasEnded ? "exit code " + std::to_string(code)
                    : "signal " + std::to_string(WTERMSIG(ended->status))));
}

/// The smallest bound of the integers that the model takes; 0: none.
static uint64_t vocabularyOf(const ppx::ArtifactT &artifact) {
  uint64_t least = 0;
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact.arguments)
    if ((argument->role == ppx::Role_input ||
         argument->role == ppx::Role_label) &&
        argument->bound > 0 && (least == 0 || argument->bound < least))
      least = argument->bound;
  return least;
}

DataOptions pp::run::dataOptions(const Options &options, uint64_t seed) {
  DataOptions its;
  its.seed = seed;
  its.shuffle = options.shuffle;
  its.holdOut = options.holdOut;
  return its;
}

static Expected<Batches> openHere(const Options &options,
                                  const ppx::ArtifactT &artifact,
                                  DataOptions its) {
  if (options.tokenizer == "bytes" || options.data.rfind(kText, 0) != 0)
    return Batches::open(options.data, artifact, its);
  const std::string text = options.data.substr(std::strlen(kText));
  const Expected<Tokens> tokens =
      tokenize(options, text, vocabularyOf(artifact));
  if (!tokens)
    return tokens.status();
  its.name = text + " by " + options.tokenizer;
  its.shuffle = its.shuffle.value_or(false); // as other texts
  return Batches::open("tokens:" + tokens->path, artifact, its);
}

Expected<Batches> pp::run::openData(const Options &options, World &world,
                                    const ppx::ArtifactT &artifact,
                                    uint64_t seed, bool evaluates) {
  DataOptions its = dataOptions(options, seed);
  its.evaluates = evaluates;
  its.readsHeldOut = evaluates && options.evaluatesHeldOut();
  if (evaluates) // --shuffle is of --data
    its.shuffle = std::nullopt;
  // Process 0 makes the tokens that others of its host then find.
  Expected<Batches> batches = Status();
  for (const bool isTurnOfFirst : {true, false}) {
    const bool isMine = (world.process() == 0) == isTurnOfFirst;
    if (isMine)
      batches = openHere(options, artifact, its);
    if (Status status = world.agree(isMine ? batches.status() : Status()).first;
        !status.ok())
      return status;
    if (world.processCount() == 1)
      return batches;
  }
  if (Status status = compareFiles(world, batches->fingerprint(), "--data");
      !status.ok())
    return status;
  return batches;
}
