//===- Text.cpp - Schedules as text ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Actions, CSV files and grids, in the spelling of
// torch.distributed.pipelining.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Schedule.h"

#include <algorithm>
#include <cstdio>

using namespace pp::schedule;

static std::string print(const Action &action, char kind) {
  return std::to_string(action.stage) + kind +
         std::to_string(action.microBatch);
}

std::string pp::schedule::print(const Action &action) {
  return ::print(action, static_cast<char>(action.kind));
}

/// Takes a decimal number off the front of `text`. Fails without digits and on
/// numbers no schedule can hold.
static bool consumeNumber(const char *&text, const char *end,
                          unsigned &number) {
  const char *begin = text;
  for (number = 0; text != end && *text >= '0' && *text <= '9'; ++text) {
    number = number * 10 + (*text - '0');
    if (number > maxMicroBatches)
      return false;
  }
  return text != begin;
}

/// Reads an action of which the kind may also be `I`, which sets `isSplit`.
static std::optional<Action> parseAction(const std::string &text,
                                         bool &isSplit) {
  Action action;
  const char *next = text.data(), *end = next + text.size();
  if (!consumeNumber(next, end, action.stage) || next == end)
    return std::nullopt;
  char kind = *next++;
  isSplit = kind == 'I';
  if (isSplit)
    kind = 'B';
  if (kind != 'F' && kind != 'B' && kind != 'W')
    return std::nullopt;
  action.kind = static_cast<Kind>(kind);
  if (!consumeNumber(next, end, action.microBatch) || next != end)
    return std::nullopt;
  return action;
}

std::optional<Action> pp::schedule::parseAction(const std::string &text) {
  bool isSplit = false;
  std::optional<Action> action = ::parseAction(text, isSplit);
  return isSplit ? std::nullopt : action;
}

std::string pp::schedule::printCsv(const Schedule &schedule) {
  std::vector<bool> split = splitBackwards(schedule);
  std::string csv;
  for (const std::vector<Action> &actions : schedule.ranks) {
    for (const Action &action : actions) {
      if (&action != &actions.front())
        csv += ',';
      bool isSplit = action.kind == Kind::Backward &&
                     split[size_t(action.stage) * schedule.microBatches +
                           action.microBatch];
      csv += ::print(action, isSplit ? 'I' : static_cast<char>(action.kind));
    }
    csv += '\n';
  }
  return csv;
}

/// Splits `text` at `separator`; n separators give n + 1 pieces.
static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> pieces(1);
  for (char c : text) {
    if (c == separator)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  return pieces;
}

/// What may be shown: other bytes than printable ASCII as \x1b.
static std::string escape(const std::string &text) {
  std::string shown;
  for (unsigned char c : text) {
    char spelled[5] = {char(c)};
    if (c < ' ' || c > '~')
      std::snprintf(spelled, sizeof(spelled), "\\x%02x", c);
    shown += spelled;
  }
  return shown;
}

static std::string trim(const std::string &text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Whether the cell is what torch.distributed.pipelining has beside compute
/// actions, such as `1SEND_F0` or `0UNSHARD`: that follows from the order.
static bool isCommunication(const std::string &cell) {
  const char *next = cell.data(), *end = next + cell.size();
  unsigned number = 0;
  if (!consumeNumber(next, end, number))
    return false;
  std::string word(next, end);
  const size_t digits = word.find_last_not_of("0123456789") + 1;
  next += digits;
  const bool hasNumber = next != end;
  if (hasNumber && !consumeNumber(next, end, number))
    return false;
  word.resize(digits);
  for (const char *known :
       {"SEND_F", "SEND_B", "RECV_F", "RECV_B", "WAIT_SEND_F", "WAIT_SEND_B",
        "WAIT_RECV_F", "WAIT_RECV_B"})
    if (word == known)
      return hasNumber;
  for (const char *known :
       {"UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD"})
    if (word == known)
      return !hasNumber;
  return false;
}

/// The actions of a cell: one, or those of `(0F3;3B1)OVERLAP_F_B`, which are
/// run one after the other here.
static std::vector<std::string> splitCell(const std::string &cell) {
  const std::string tail = ")OVERLAP_F_B";
  const size_t end = cell.find(tail);
  if (cell.front() != '(' || end == std::string::npos ||
      end + tail.size() != cell.size())
    return {cell};
  return split(cell.substr(1, end - 1), ';');
}

std::optional<Schedule> pp::schedule::parseCsv(const std::string &text,
                                               std::string &error) {
  Schedule schedule;
  schedule.name = "csv";
  constexpr char mark[] = "\xef\xbb\xbf"; // spreadsheets begin with it
  const bool isMarked = text.compare(0, 3, mark) == 0;
  std::vector<std::string> lines = split(text.substr(isMarked ? 3 : 0), '\n');
  while (!lines.empty() && trim(lines.back()).empty())
    lines.pop_back();
  std::vector<Action> needsWeight;
  for (size_t row = 0; row < lines.size(); ++row) {
    schedule.ranks.emplace_back();
    std::vector<std::string> cells = split(lines[row], ',');
    for (size_t column = 0; column < cells.size(); ++column) {
      std::string cell = trim(cells[column]);
      if (cell.empty() || isCommunication(cell))
        continue;
      for (const std::string &part : splitCell(cell)) {
        bool isSplit = false;
        std::optional<Action> action = ::parseAction(part, isSplit);
        if (!action || action->stage >= maxStages ||
            action->microBatch >= maxMicroBatches) {
          error = "row " + std::to_string(row + 1) + ", column " +
                  std::to_string(column + 1) +
                  ": expects an action such as 0F0, 1B3 or 1W3, with a stage "
                  "below " +
                  std::to_string(maxStages) + " and a micro-batch below " +
                  std::to_string(maxMicroBatches) + ", got '" +
                  escape(cell.substr(0, 40)) + "'";
          return std::nullopt;
        }
        if (isSplit)
          needsWeight.push_back(*action);
        schedule.stages = std::max(schedule.stages, action->stage + 1);
        schedule.microBatches =
            std::max(schedule.microBatches, action->microBatch + 1);
        schedule.ranks.back().push_back(*action);
      }
    }
  }
  if (schedule.stages == 0) {
    error = "expects one row of actions per rank, got no action";
    return std::nullopt;
  }
  for (size_t row = 0; row < schedule.ranks.size(); ++row)
    if (schedule.ranks[row].empty()) {
      error = "row " + std::to_string(row + 1) + ": expects actions, got none";
      return std::nullopt;
    }
  if (size_t(schedule.stages) * schedule.microBatches > maxActions) {
    error = "expects at most " + std::to_string(maxActions) +
            " pairs of stage and micro-batch, got " +
            std::to_string(schedule.stages) + " x " +
            std::to_string(schedule.microBatches);
    return std::nullopt;
  }
  std::vector<bool> hasWeight = splitBackwards(schedule);
  for (const Action &action : needsWeight)
    if (!hasWeight[size_t(action.stage) * schedule.microBatches +
                   action.microBatch]) {
      error = "expects " + ::print(action, 'W') + " beside " +
              ::print(action, 'I') +
              ", which is the gradients of inputs alone, got none; " +
              ::print(action, 'B') + " is both in one";
      return std::nullopt;
    }
  return schedule;
}

const char *pp::schedule::rowName(const Schedule &schedule) {
  for (size_t row = 0; row < schedule.ranks.size(); ++row)
    for (const Action &action : schedule.ranks[row])
      if (action.stage != row)
        return "position ";
  return "stage ";
}

std::string pp::schedule::printGrid(const Schedule &schedule, size_t markRank,
                                    size_t markIndex) {
  size_t width = 0;
  for (const std::vector<Action> &actions : schedule.ranks)
    for (const Action &action : actions)
      width = std::max(width, print(action).size());
  size_t rankWidth = std::to_string(schedule.ranks.size() - 1).size();

  std::string grid;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::string number = std::to_string(rank);
    grid += rowName(schedule) + std::string(rankWidth - number.size(), ' ') +
            number + " |";
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      bool isMarked = rank == markRank && i == markIndex;
      std::string cell = print(schedule.ranks[rank][i]);
      size_t padding = width - cell.size();
      grid += (isMarked ? "[" : " ") + cell + (isMarked ? "]" : " ") +
              std::string(padding, ' ');
    }
    grid.erase(grid.find_last_not_of(' ') + 1);
    grid += '\n';
  }
  return grid;
}
