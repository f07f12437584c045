//===- Decode.cpp - what an opcode with its dots says ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A modifier that is not known makes the whole instruction unknown: what it
// changes would be missed.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <map>
#include <sstream>

using namespace ptx;

static const std::map<std::string, Op> kOps = {{"abs", Op::Abs},
                                               {"activemask", Op::Activemask},
                                               {"add", Op::Add},
                                               {"addc", Op::AddCarry},
                                               {"and", Op::And},
                                               {"bar", Op::Bar},
                                               {"bfe", Op::Bfe},
                                               {"bra", Op::Bra},
                                               {"call", Op::Call},
                                               {"clz", Op::Clz},
                                               {"copysign", Op::Copysign},
                                               {"cvt", Op::Cvt},
                                               {"cvta", Op::Cvta},
                                               {"div", Op::Div},
                                               {"ex2", Op::Ex2},
                                               {"exit", Op::Exit},
                                               {"fma", Op::Fma},
                                               {"ld", Op::Ld},
                                               {"mad", Op::Mad},
                                               {"madc", Op::MadCarry},
                                               {"max", Op::Max},
                                               {"min", Op::Min},
                                               {"mov", Op::Mov},
                                               {"mul", Op::Mul},
                                               {"neg", Op::Neg},
                                               {"not", Op::Not},
                                               {"or", Op::Or},
                                               {"popc", Op::Popc},
                                               {"prmt", Op::Prmt},
                                               {"rcp", Op::Rcp},
                                               {"red", Op::Red},
                                               {"redux", Op::Redux},
                                               {"rem", Op::Rem},
                                               {"ret", Op::Ret},
                                               {"selp", Op::Selp},
                                               {"setp", Op::Setp},
                                               {"shf", Op::Shf},
                                               {"shfl", Op::Shfl},
                                               {"shl", Op::Shl},
                                               {"shr", Op::Shr},
                                               {"sqrt", Op::Sqrt},
                                               {"st", Op::St},
                                               {"sub", Op::Sub},
                                               {"subc", Op::SubCarry},
                                               {"trap", Op::Trap},
                                               {"vote", Op::Vote},
                                               {"xor", Op::Xor}};

static const std::map<std::string, Type> kTypes = {
    {"b8", Type::B8},     {"b16", Type::B16},      {"b32", Type::B32},
    {"b64", Type::B64},   {"u8", Type::U8},        {"u16", Type::U16},
    {"u32", Type::U32},   {"u64", Type::U64},      {"s8", Type::S8},
    {"s16", Type::S16},   {"s32", Type::S32},      {"s64", Type::S64},
    {"bf16", Type::BF16}, {"f32", Type::F32},      {"f64", Type::F64},
    {"pred", Type::Pred}, {"bf16x2", Type::BF16x2}};

static const std::map<std::string, Compare> kCompares = {
    {"eq", Compare::Eq},   {"ne", Compare::Ne},   {"lt", Compare::Lt},
    {"le", Compare::Le},   {"gt", Compare::Gt},   {"ge", Compare::Ge},
    {"lo", Compare::Lt},   {"ls", Compare::Le},   {"hi", Compare::Gt},
    {"hs", Compare::Ge},   {"equ", Compare::Equ}, {"neu", Compare::Neu},
    {"ltu", Compare::Ltu}, {"leu", Compare::Leu}, {"gtu", Compare::Gtu},
    {"geu", Compare::Geu}, {"num", Compare::Num}, {"nan", Compare::Nan}};

static const std::map<std::string, Space> kSpaces = {
    {"global", Space::Global},
    {"shared", Space::Shared},
    {"local", Space::Local},
    {"param", Space::Parameter},
    {"const", Space::Constant}};

bool ptx::isFloat(Type type) {
  return type == Type::BF16 || type == Type::F32 || type == Type::F64 ||
         type == Type::BF16x2;
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
    if (auto compare = kCompares.find(word); compare != kCompares.end()) {
      i.compare = compare->second;
      return true;
    }
  if (isIn(Op::Mul, Op::Mad, Op::MadCarry)) {
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
  i.carryIn = isIn(Op::AddCarry, Op::SubCarry, Op::MadCarry);
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
