//===- OtherInput.cpp - recognizes files that are not modules -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OtherInput.h"

#include <algorithm>
#include <cctype>

/// Without spaces and comments at its beginning.
static std::string_view skipComments(std::string_view text) {
  while (true) {
    text.remove_prefix(
        std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.substr(0, 2) != "//")
      return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

static bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '$';
}

/// Whether `text` begins with `module`, an op of a dialect (`func.func`), a
/// quoted op, a value, an alias, or resources.
static bool beginsAsModule(std::string_view text) {
  const char first = text[0], second = text.size() > 1 ? text[1] : ' ';
  if (first == '#' || first == '!' || first == '%')
    return isWord(second);
  if (first == '"')
    return text.substr(1, text.find('"', 1) - 1).find('.') != text.npos;
  if (text.substr(0, 3) == "{-#")
    return true;
  const auto *end = std::find_if_not(text.begin(), text.end(), isWord);
  const std::string_view word = text.substr(0, end - text.begin());
  const size_t dot = word.find('.');
  return word == "module" ||
         (dot != word.npos && dot > 0 && dot + 1 < word.size());
}

/// Advice on how to pass `content`, if it is one of our files; otherwise its
/// kind.
static std::string describe(std::string_view content) {
  const std::string_view text = skipComments(content);
  if (content.empty())
    return "an empty file";
  if (text.empty() || content.substr(0, 4) == "ML\xefR")
    return "";
  if (content.size() > 6 && content.substr(4, 3) == "PPX")
    return "an artifact, which pp-run runs";
  // The length of a header of JSON, in eight bytes.
  if (content.size() > 9 && content[7] == '\0' && content[8] == '{')
    return "a safetensors file, which pp-run takes as --parameters";
  if (text.substr(0, 9) == "#pp.plan<")
    return "a plan, which --parallelize takes as plan=FILE";
  if (beginsAsModule(text))
    return "";
  const std::string_view line =
      text.substr(0, std::min<size_t>(text.find('\n'), 24));
  if (std::any_of(line.begin(), line.end(), [](unsigned char c) {
        return c < 0x80 && !std::isprint(c) && !std::isspace(c);
      }))
    return "binary data";
  if (text[0] == '{' || text[0] == '[')
    return "JSON";
  return "text that begins with '" + std::string(line) + "'";
}

/// The name behind the magic number and the version of MLIR's bytecode.
static std::string_view getProducer(std::string_view content) {
  if (content.substr(0, 4) != "ML\xefR" || content.size() < 6)
    return {};
  const std::string_view rest = content.substr(5);
  return rest.substr(0, std::min(rest.find('\0'), size_t(80)));
}

bool pp::isStableHLO(std::string_view content) {
  if (content.substr(0, 4) == "ML\xefR")
    return content.find("stablehlo") != std::string_view::npos;
  constexpr std::string_view prefix = "stablehlo.";
  for (size_t at = content.find(prefix); at != std::string_view::npos;
       at = content.find(prefix, at + 1))
    if (at > 0 && (content[at - 1] == ' ' || content[at - 1] == '"'))
      return true;
  return false;
}

std::string pp::findOtherInput(std::string_view content) {
  if (const std::string_view producer = getProducer(content);
      producer.substr(0, 9) == "StableHLO")
    return "expects the text of StableHLO, got its portable bytecode (" +
           std::string(producer) +
           "); jax.jit(loss).lower(...).as_text(debug_info=True) writes text, "
           "and this makes text of FILE:\n"
           "  python -c 'from jaxlib.mlir.dialects import stablehlo as s; from "
           "jaxlib.mlir.ir import Context; c = Context(); "
           "s.register_dialect(c); print(s.deserialize_portable_artifact(c, "
           "open(\"FILE\", \"rb\").read()))'";
  const std::string other = describe(content);
  if (other.empty())
    return "";
  return "expects an MLIR module, as pp-model writes it: text that begins with "
         "'module' or 'func.func @main'; got " +
         other;
}
