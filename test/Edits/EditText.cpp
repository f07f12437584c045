//===- EditText.cpp - one change to a text --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A text is a list of words; one is removed, or replaced by another of its kind
// or by a number close by or far off, or a line is removed, repeated or moved.
//
//===----------------------------------------------------------------------===//
#include "Edit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace pp::testing;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

enum class WordKind { Number, Value, Symbol, String, Type, Name };

struct Word {
  WordKind kind;
  size_t begin, end;
};

SmallVector<Word> findWords(StringRef text) {
  SmallVector<Word> words;
  auto isName = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    char c = text[i];
    WordKind kind = WordKind::Name;
    bool isWord = true;
    if (c == '"') {
      kind = WordKind::String;
      end = std::min(text.find('"', i + 1), text.size() - 1) + 1;
    } else if (text.substr(i).starts_with("tensor<")) {
      kind = WordKind::Type;
      end = std::min(text.find('>', i), text.size() - 1) + 1;
    } else if (c == '%' || c == '@') {
      kind = c == '%' ? WordKind::Value : WordKind::Symbol;
      while (end < text.size() && (isName(text[end]) || text[end] == '#'))
        ++end;
    } else if (llvm::isDigit(c)) {
      kind = WordKind::Number;
      while (end < text.size() && llvm::isDigit(text[end]))
        ++end;
    } else if (llvm::isAlpha(c)) {
      while (end < text.size() && isName(text[end]))
        ++end;
    } else {
      isWord = false;
    }
    if (isWord)
      words.push_back({kind, i, end});
    i = end;
  }
  return words;
}

std::string editNumber(StringRef word, std::mt19937 &random) {
  int64_t value = 0;
  if (word.getAsInteger(10, value))
    return "0";
  const char *far[] = {"0",
                       "1",
                       "-1",
                       "65536",
                       "4294967296",
                       "9223372036854775807",
                       "-9223372036854775808",
                       "18446744073709551616"};
  size_t choice = random() % (std::size(far) + 4);
  if (choice < std::size(far))
    return far[choice];
  return std::to_string(choice % 2 ? value + 1 : value - 1);
}

std::string editLines(StringRef text, std::mt19937 &random, std::string &what) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  size_t index = random() % lines.size(), other = random() % lines.size();
  switch (random() % 3) {
  case 0:
    what = "line removed";
    lines.erase(lines.begin() + index);
    break;
  case 1:
    what = "line repeated";
    lines.insert(lines.begin() + other, StringRef(lines[index]));
    break;
  default:
    what = "lines exchanged";
    std::swap(lines[index], lines[other]);
  }
  return llvm::join(lines, "\n");
}

} // namespace

std::string pp::testing::editText(const std::string &text, std::mt19937 &random,
                                  std::string &what) {
  SmallVector<Word> words = findWords(text);
  if (words.empty() || (random() % 8 == 0 && StringRef(text).contains('\n')))
    return editLines(text, random, what);
  // Every kind of word counts as much as any other.
  auto wanted = static_cast<WordKind>(random() % 6);
  SmallVector<Word> candidates;
  for (const Word &word : words)
    if (word.kind == wanted)
      candidates.push_back(word);
  if (candidates.empty())
    candidates = words;
  Word word = candidates[random() % candidates.size()];
  Word other = candidates[random() % candidates.size()];
  StringRef old = StringRef(text).slice(word.begin, word.end);
  std::string by = StringRef(text).slice(other.begin, other.end).str();
  if (word.kind == WordKind::Number)
    by = editNumber(old, random);
  if (random() % 16 == 0)
    by.clear();
  what = ("word " + old + " -> " + by).str();
  return text.substr(0, word.begin) + by + text.substr(word.end);
}
