//===- Decode.cpp - what an opcode with its dots says ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A modifier that is not known makes the whole instruction unknown: what it
// changes would be missed.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <cctype>
#include <map>
#include <sstream>

using namespace ptx;

static std::string lower(std::string word) {
  for (char &c : word)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

#define PP_OP(name) {lower(#name), Op::name}
static const std::map<std::string, Op> kOps = {PP_PTX_OPS(PP_OP)};
#define PP_TYPE(name, bytes) {lower(#name), Type::name}
static const std::map<std::string, Type> kTypes = {PP_PTX_TYPES(PP_TYPE)};

static const std::map<std::string, uint8_t> kCompares = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"ge", kGreater | kEqual},
    {"num", kLess | kEqual | kGreater},
    {"nan", kUnordered}};

static const std::map<std::string, Space> kSpaces = {
    {"global", Space::Global},
    {"shared", Space::Shared},
    {"local", Space::Local},
    {"param", Space::Parameter},
    {"const", Space::Constant}};

/// Which outcomes the word of a setp names: `ltu` is `lt` or unordered.
static uint8_t outcomesOf(const std::string &word) {
  if (auto found = kCompares.find(word); found != kCompares.end())
    return found->second;
  auto found = kCompares.find(word.substr(0, 2));
  return word.size() == 3 && word[2] == 'u' && found != kCompares.end()
             ? found->second | kUnordered
             : 0;
}

namespace {

class Decoder {
public:
  Decoder(Instruction &instruction) : i(instruction) {}

  bool modifier(const std::string &word);
  bool finish();

private:
  bool rounding(const std::string &word);
  bool commOps(const std::string &word);
  bool isIn(Op a, Op b = Op::Trap, Op c = Op::Trap, Op d = Op::Trap) {
    return i.op == a || i.op == b || i.op == c || i.op == d;
  }
  bool set(bool &flag) { return flag = true; }

  Instruction &i;
  unsigned types = 0;
};

bool Decoder::rounding(const std::string &word) {
  static const std::map<std::string, std::pair<Rounding, bool>> kRoundings = {
      {"rn", {Rounding::Nearest, false}}, {"rz", {Rounding::Zero, false}},
      {"rm", {Rounding::Down, false}},    {"rp", {Rounding::Up, false}},
      {"rni", {Rounding::Nearest, true}}, {"rzi", {Rounding::Zero, true}},
      {"rmi", {Rounding::Down, true}},    {"rpi", {Rounding::Up, true}}};
  auto found = kRoundings.find(word);
  if (found == kRoundings.end())
    return false;
  i.rounding = found->second.first;
  i.toInteger = found->second.second;
  return true;
}

bool Decoder::commOps(const std::string &word) {
  if (word == "sync")
    return true;
  if (i.op == Op::Vote)
    return word == "ballot";
  if (i.op == Op::Shfl && (word == "bfly" || word == "idx")) {
    i.shuffle = word == "idx" ? ShuffleMode::Index : ShuffleMode::Butterfly;
    return true;
  }
  return false;
}

bool Decoder::modifier(const std::string &word) {
  if ((isIn(Op::Bar, Op::Shfl, Op::Vote) || i.op == Op::Redux) && commOps(word))
    return true;
  if (auto type = kTypes.find(word); type != kTypes.end()) {
    (types++ == 0 ? i.type : i.from) = type->second;
    return types <= 2;
  }
  if (isIn(Op::Ld, Op::St, Op::Cvta, Op::Red)) {
    if (auto space = kSpaces.find(word); space != kSpaces.end()) {
      i.space = space->second;
      return true;
    }
    if (word == "nc")
      return set(i.isNonCoherent);
    // Operands say how many there are; order is judged apart from this.
    if (word == "v2" || word == "v4" || word == "to" || word == "relaxed" ||
        word == "gpu")
      return true;
  }
  if (isIn(Op::Red, Op::Redux)) {
    static const std::map<std::string, Op> kReductions = {{"add", Op::Add},
                                                          {"min", Op::Min},
                                                          {"max", Op::Max},
                                                          {"and", Op::And},
                                                          {"or", Op::Or}};
    auto found = kReductions.find(word);
    return found != kReductions.end() && (i.combine = found->second, true);
  }
  if (i.op == Op::Setp)
    if (uint8_t outcomes = outcomesOf(word)) {
      i.compare = outcomes;
      return true;
    }
  if (isIn(Op::Mul, Op::Mad, Op::Madc)) {
    static const std::map<std::string, Half> kHalves = {
        {"lo", Half::Low}, {"hi", Half::High}, {"wide", Half::Wide}};
    if (auto half = kHalves.find(word); half != kHalves.end()) {
      i.half = half->second;
      return true;
    }
  }
  if (i.op == Op::Shf && (word == "l" || word == "wrap"))
    return true; // no other is known
  if (word == "cc")
    return set(i.carryOut);
  if (word == "approx")
    return set(i.approximate);
  if (word == "ftz")
    return set(i.flush);
  if (word == "sat")
    return i.op == Op::Cvt && set(i.saturate);
  if (word == "NaN")
    return set(i.propagatesNan);
  if (word == "uni")
    return isIn(Op::Bra, Op::Call, Op::Ret);
  return rounding(word);
}

bool Decoder::finish() {
  i.carryIn = isIn(Op::Addc, Op::Subc, Op::Madc);
  if (i.flush && !i.approximate)
    return false;
  // Without an approximation or a space of its own there is no such thing.
  switch (i.op) {
  case Op::Ex2:
    return i.approximate;
  case Op::Ld:
  case Op::St:
  case Op::Red:
    return i.space != Space::None;
  case Op::Cvta:
    return i.space == Space::Global;
  case Op::Cvt:
    return types == 2;
  default:
    return true;
  }
}

} // namespace

bool ptx::decode(const std::string &opcode, Instruction &instruction) {
  std::stringstream words(opcode);
  std::string word;
  if (!std::getline(words, word, '.'))
    return false;
  auto op = kOps.find(word);
  if (op == kOps.end())
    return false;
  instruction.op = op->second;
  Decoder decoder(instruction);
  while (std::getline(words, word, '.'))
    if (!decoder.modifier(word))
      return false;
  return decoder.finish();
}

bool ptx::specialRegister(const std::string &name, Operand &result) {
  static const std::map<std::string, SpecialRegister> kSpecial = {
      {"%tid.x", SpecialRegister::TidX},
      {"%ntid.x", SpecialRegister::NtidX},
      {"%ctaid.x", SpecialRegister::CtaidX},
      {"%nctaid.x", SpecialRegister::NctaidX},
      {"%laneid", SpecialRegister::LaneId}};
  auto found = kSpecial.find(name);
  if (found == kSpecial.end())
    return false;
  result.kind = Operand::Special;
  result.index = uint32_t(found->second);
  return true;
}
