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
                                               {"atom", Op::Atom},
                                               {"bar", Op::Bar},
                                               {"barrier", Op::Bar},
                                               {"bfe", Op::Bfe},
                                               {"bfi", Op::Bfi},
                                               {"bfind", Op::Bfind},
                                               {"bra", Op::Bra},
                                               {"brev", Op::Brev},
                                               {"brx", Op::Brx},
                                               {"call", Op::Call},
                                               {"clz", Op::Clz},
                                               {"copysign", Op::Copysign},
                                               {"cos", Op::Cos},
                                               {"cvt", Op::Cvt},
                                               {"cvta", Op::Cvta},
                                               {"div", Op::Div},
                                               {"dp2a", Op::Dp2a},
                                               {"dp4a", Op::Dp4a},
                                               {"ex2", Op::Ex2},
                                               {"exit", Op::Exit},
                                               {"fma", Op::Fma},
                                               {"ld", Op::Ld},
                                               {"ldu", Op::Ld},
                                               {"lg2", Op::Lg2},
                                               {"mad", Op::Mad},
                                               {"madc", Op::MadCarry},
                                               {"match", Op::Match},
                                               {"max", Op::Max},
                                               {"membar", Op::Membar},
                                               {"fence", Op::Membar},
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
                                               {"rsqrt", Op::Rsqrt},
                                               {"sad", Op::Sad},
                                               {"selp", Op::Selp},
                                               {"set", Op::Set},
                                               {"setp", Op::Setp},
                                               {"shf", Op::Shf},
                                               {"shfl", Op::Shfl},
                                               {"shl", Op::Shl},
                                               {"shr", Op::Shr},
                                               {"sin", Op::Sin},
                                               {"sqrt", Op::Sqrt},
                                               {"st", Op::St},
                                               {"sub", Op::Sub},
                                               {"subc", Op::SubCarry},
                                               {"tanh", Op::Tanh},
                                               {"testp", Op::Testp},
                                               {"trap", Op::Trap},
                                               {"vote", Op::Vote},
                                               {"xor", Op::Xor}};

static const std::map<std::string, Type> kTypes = {
    {"b8", Type::B8},       {"b16", Type::B16},      {"b32", Type::B32},
    {"b64", Type::B64},     {"u8", Type::U8},        {"u16", Type::U16},
    {"u32", Type::U32},     {"u64", Type::U64},      {"s8", Type::S8},
    {"s16", Type::S16},     {"s32", Type::S32},      {"s64", Type::S64},
    {"f16", Type::F16},     {"bf16", Type::BF16},    {"f32", Type::F32},
    {"f64", Type::F64},     {"pred", Type::Pred},    {"f32x2", Type::F32x2},
    {"f16x2", Type::F16x2}, {"bf16x2", Type::BF16x2}};

static const std::map<std::string, Compare> kCompares = {
    {"eq", Compare::Eq},   {"ne", Compare::Ne},   {"lt", Compare::Lt},
    {"le", Compare::Le},   {"gt", Compare::Gt},   {"ge", Compare::Ge},
    {"lo", Compare::Lt},   {"ls", Compare::Le},   {"hi", Compare::Gt},
    {"hs", Compare::Ge},   {"equ", Compare::Equ}, {"neu", Compare::Neu},
    {"ltu", Compare::Ltu}, {"leu", Compare::Leu}, {"gtu", Compare::Gtu},
    {"geu", Compare::Geu}, {"num", Compare::Num}, {"nan", Compare::Nan}};

static const std::map<std::string, Space> kSpaces = {
    {"global", Space::Global},      {"shared", Space::Shared},
    {"shared::cta", Space::Shared}, {"local", Space::Local},
    {"param", Space::Parameter},    {"const", Space::Constant}};

bool ptx::isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 ||
         type == Type::F64 || type == Type::F32x2 || type == Type::F16x2 ||
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
  bool meetings(const std::string &word);
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

bool Decoder::meetings(const std::string &word) {
  if (word == "sync" || word == "aligned" || word == "cta")
    return isIn(Op::Bar, Op::Shfl, Op::Vote) ||
           (word == "sync" && isIn(Op::Match, Op::Redux));
  if (word == "warp" && i.op == Op::Bar) {
    i.op = Op::BarWarp;
    return true;
  }
  if (word == "red" && i.op == Op::Bar) {
    i.op = Op::BarRed;
    return true;
  }
  if (word == "sync")
    return i.op == Op::BarWarp;
  if (i.op == Op::Shfl) {
    static const std::map<std::string, ShuffleMode> kModes = {
        {"up", ShuffleMode::Up},
        {"down", ShuffleMode::Down},
        {"bfly", ShuffleMode::Butterfly},
        {"idx", ShuffleMode::Index}};
    auto found = kModes.find(word);
    return found != kModes.end() && (i.shuffle = found->second, true);
  }
  if (isIn(Op::Vote, Op::Match)) {
    static const std::map<std::string, Vote> kVotes = {
        {"all", Vote::All},
        {"any", Vote::Any},
        {"uni", Vote::Uni},
        {"ballot", Vote::Ballot}};
    auto found = kVotes.find(word);
    return found != kVotes.end() && (i.vote = found->second, true);
  }
  return false;
}

bool Decoder::modifier(const std::string &word) {
  if (i.op == Op::BarWarp && word == "sync")
    return true;
  if ((isIn(Op::Bar, Op::Shfl, Op::Vote) || isIn(Op::Match, Op::Redux)) &&
      meetings(word))
    return true;
  if (auto type = kTypes.find(word); type != kTypes.end()) {
    (types++ == 0 ? i.type : i.from) = type->second;
    return types <= 2;
  }
  if (isIn(Op::Ld, Op::St, Op::Cvta, Op::Atom) || i.op == Op::Red) {
    if (auto space = kSpaces.find(word); space != kSpaces.end()) {
      i.space = space->second;
      return true;
    }
    if (word == "nc")
      return set(i.isNonCoherent);
    if (word == "v2" || word == "v4" || word == "v8" || word == "to" ||
        word == "weak" || word == "relaxed" || word == "gpu" ||
        word == "acquire" || word == "release" || word == "acq_rel" ||
        word == "cta" || word == "sys" || word == "L1::no_allocate" ||
        word == "volatile")
      return true; // operands say how many; order is judged apart from this
  }
  if (isIn(Op::Atom, Op::Red, Op::Redux, Op::BarRed)) {
    static const std::map<std::string, Op> kAtomics = {
        {"add", Op::Add}, {"min", Op::Min},   {"max", Op::Max},
        {"and", Op::And}, {"or", Op::Or},     {"xor", Op::Xor},
        {"cas", Op::Cas}, {"exch", Op::Exch}, {"inc", Op::Inc},
        {"dec", Op::Dec}, {"popc", Op::Popc}};
    auto found = kAtomics.find(word);
    return found != kAtomics.end() && (i.combine = found->second, true);
  }
  if (i.op == Op::Membar)
    return word == "gl" || word == "cta" || word == "sc" || word == "acq_rel" ||
           word == "gpu" || word == "sys";
  if (isIn(Op::Setp, Op::Set)) {
    if (auto compare = kCompares.find(word); compare != kCompares.end()) {
      i.compare = compare->second;
      return true;
    }
    if (word == "and" || word == "or" || word == "xor") {
      i.combine = kOps.at(word);
      return true;
    }
  }
  if (isIn(Op::Mul, Op::Mad, Op::MadCarry, Op::Dp2a)) {
    static const std::map<std::string, Half> kHalves = {
        {"lo", Half::Low}, {"hi", Half::High}, {"wide", Half::Wide}};
    if (auto half = kHalves.find(word); half != kHalves.end()) {
      i.half = half->second;
      return true;
    }
  }
  if (i.op == Op::Shf) {
    if (word == "l" || word == "r") {
      i.shiftsRight = word == "r";
      return true;
    }
    if (word == "wrap" || word == "clamp") {
      i.wraps = word == "wrap";
      return true;
    }
  }
  if (word == "cc")
    return set(i.carryOut);
  if (word == "approx")
    return set(i.approximate);
  if (word == "full")
    return set(i.full);
  if (word == "ftz")
    return set(i.flush);
  if (word == "sat")
    return set(i.saturate);
  if (word == "NaN")
    return set(i.propagatesNan);
  if (word == "relu")
    return isIn(Op::Fma, Op::Cvt) && set(i.relu);
  if (word == "uni")
    return isIn(Op::Bra, Op::Brx, Op::Call, Op::Ret);
  if (word == "idx" && i.op == Op::Brx)
    return true;
  if (word == "shiftamt")
    return i.op == Op::Bfind && set(i.shiftsRight);
  return rounding(word);
}

bool Decoder::finish() {
  if (isIn(Op::AddCarry, Op::SubCarry, Op::MadCarry))
    i.carryIn = true;
  // Without an approximation or a rounding of its own there is no such thing.
  switch (i.op) {
  case Op::Ex2:
  case Op::Lg2:
  case Op::Sin:
  case Op::Cos:
  case Op::Tanh:
  case Op::Rsqrt:
    return i.approximate;
  case Op::Set:
    std::swap(i.type, i.from);
    return types == 2;
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
      {"%tid.y", SpecialRegister::TidY},
      {"%tid.z", SpecialRegister::TidZ},
      {"%ntid.x", SpecialRegister::NtidX},
      {"%ntid.y", SpecialRegister::NtidY},
      {"%ntid.z", SpecialRegister::NtidZ},
      {"%ctaid.x", SpecialRegister::CtaidX},
      {"%ctaid.y", SpecialRegister::CtaidY},
      {"%ctaid.z", SpecialRegister::CtaidZ},
      {"%nctaid.x", SpecialRegister::NctaidX},
      {"%nctaid.y", SpecialRegister::NctaidY},
      {"%nctaid.z", SpecialRegister::NctaidZ},
      {"%laneid", SpecialRegister::LaneId},
      {"%warpid", SpecialRegister::WarpId},
      {"WARP_SZ", SpecialRegister::WarpSize},
      {"%lanemask_lt", SpecialRegister::LaneMaskLt},
      {"%lanemask_le", SpecialRegister::LaneMaskLe},
      {"%lanemask_gt", SpecialRegister::LaneMaskGt},
      {"%lanemask_ge", SpecialRegister::LaneMaskGe},
      {"%lanemask_eq", SpecialRegister::LaneMaskEq}};
  auto found = kSpecial.find(name);
  if (found == kSpecial.end())
    return false;
  result.kind = Operand::Special;
  result.index = uint32_t(found->second);
  return true;
}
