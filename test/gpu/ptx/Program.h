//===- Program.h - a PTX module in decoded form -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Registers are numbered, names are resolved, and every instruction says what
// it is in fields: what runs looks at no text.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_PROGRAM_H
#define PP_TEST_GPU_PTX_PROGRAM_H

#include "Ptx.h"

#include <map>

namespace ptx {

enum class Op : uint8_t {
  Abs,
  Activemask,
  Add,
  AddCarry,
  And,
  Bar,
  Bfe,
  Bra,
  Call,
  Clz,
  Copysign,
  Cvt,
  Cvta,
  Div,
  Ex2,
  Exit,
  Fma,
  Ld,
  Mad,
  MadCarry,
  Max,
  Min,
  Mov,
  Mul,
  Neg,
  Not,
  Or,
  Popc,
  Prmt,
  Rcp,
  Red,
  Redux,
  Rem,
  Ret,
  Selp,
  Setp,
  Shf,
  Shfl,
  Shl,
  Shr,
  Sqrt,
  St,
  Sub,
  SubCarry,
  Trap,
  Vote,
  Xor
};

enum class Type : uint8_t {
  None,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  BF16,
  F32,
  F64,
  Pred,
  BF16x2
};
inline unsigned bytesOf(Type type) {
  switch (type) {
  case Type::None:
    return 0;
  case Type::B8:
  case Type::U8:
  case Type::S8:
  case Type::Pred:
    return 1;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::BF16:
    return 2;
  case Type::B32:
  case Type::U32:
  case Type::S32:
  case Type::F32:
  case Type::BF16x2:
    return 4;
  default:
    return 8;
  }
}
bool isFloat(Type type);
inline bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

enum class Space : uint8_t { None, Global, Shared, Local, Parameter, Constant };
enum class Rounding : uint8_t { Nearest, Zero, Down, Up };
enum class Compare : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};
enum class Half : uint8_t { Low, High, Wide };
enum class ShuffleMode : uint8_t { Butterfly, Index };

enum class SpecialRegister : uint8_t { TidX, NtidX, CtaidX, NctaidX, LaneId };

struct Operand {
  enum Kind : uint8_t { None, Register, Literal, Special } kind = None;
  uint32_t index = 0;          ///< of a register, or which special one
  uint64_t bits = 0;           ///< of a literal
  bool negated = false;        ///< of a predicate
  bool isLocalPlace = false;   ///< a literal that is a place in local memory
  uint32_t sharedVariable = 0; ///< one that is a place in this one, from 1 on
};

struct Instruction {
  Op op = Op::Trap;
  Type type = Type::None, from = Type::None; ///< `from` is what a cvt takes
  Space space = Space::None;
  Rounding rounding = Rounding::Nearest;
  bool toInteger = false; ///< cvt.rni and the like of a float to a float
  Compare compare = Compare::Eq;
  Op combine = Op::Mov; ///< of red, redux
  Half half = Half::Low;
  ShuffleMode shuffle = ShuffleMode::Butterfly;
  bool approximate = false, flush = false, saturate = false,
       propagatesNan = false, carryIn = false, carryOut = false,
       isNonCoherent = false;
  Operand guard; ///< a predicate register, or none
  std::vector<Operand> results, operands;
  /// An address is operands[0] plus this.
  int64_t offset = 0;
  uint32_t target = 0; ///< of a branch
  std::string callee;  ///< of a call
  unsigned line = 0;
};

struct Function {
  std::string name;
  bool isEntry = false;
  std::vector<Instruction> code;
  uint32_t registers = 0;
  /// What each thread has for .local variables and parameters of calls.
  uint32_t localBytes = 0;
  uint32_t parameterBytes = 0; ///< of a launch
  /// What a block has for the .shared variables that it uses.
  uint32_t sharedBytes = 0;
  std::vector<KernelParameter> parameters;
  /// Of a function that is called: these, and its parameters, lie in its local
  /// memory.
  std::vector<KernelParameter> returns;
  uint32_t block = 0; ///< threads that .reqntid asks for
};

class Program {
public:
  std::vector<Function> functions;
  std::vector<Entry> entries;
  struct SharedVariable {
    uint64_t bytes = 0, alignment = 1;
  };
  std::vector<SharedVariable> sharedVariables;
  /// Variables in global and constant memory.
  std::vector<std::byte> globals;
};

/// Variables of a module lie there; no allocation does.
constexpr uint64_t kGlobalsBase = uint64_t(1) << 60;
/// Null, and `error`, for text that is not understood.
std::unique_ptr<Program> parseProgram(const std::string &text,
                                      std::string &error);
/// Fills all but operands from an opcode with its dots. False if there is no
/// such instruction, or none that is known here.
bool decode(const std::string &opcode, Instruction &instruction);
/// False if no special register is called so.
bool specialRegister(const std::string &name, Operand &operand);

/// Puts the body of every function that is called where it is called. False,
/// and `error`, if there is none.
bool inlineCalls(const Program &program, Function &function,
                 std::string &error);
/// Gives the shared variables that a function uses their places.
void placeShared(const Program &program, Function &function);
inline uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool runProgram(const Program &program, const Launch &launch, Memory &memory,
                std::string &error, Accesses *accesses, Counters *counters);

} // namespace ptx

#endif // PP_TEST_GPU_PTX_PROGRAM_H
