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

// In capitals or not, these are the words of PTX.
#define PP_PTX_OPS(X)                                                          \
  X(Abs), X(Activemask), X(Add), X(Addc), X(And), X(Bar), X(Bfe), X(Bra),      \
      X(Call), X(Clz), X(Copysign), X(Cvt), X(Cvta), X(Div), X(Ex2), X(Exit),  \
      X(Fma), X(Ld), X(Mad), X(Madc), X(Max), X(Min), X(Mov), X(Mul), X(Neg),  \
      X(Not), X(Or), X(Popc), X(Prmt), X(Rcp), X(Red), X(Redux), X(Rem),       \
      X(Ret), X(Selp), X(Setp), X(Shf), X(Shfl), X(Shl), X(Shr), X(Sqrt),      \
      X(St), X(Sub), X(Subc), X(Trap), X(Vote), X(Xor)
#define PP_PTX_TYPES(X)                                                        \
  X(B8, 1), X(B16, 2), X(B32, 4), X(B64, 8), X(U8, 1), X(U16, 2), X(U32, 4),   \
      X(U64, 8), X(S8, 1), X(S16, 2), X(S32, 4), X(S64, 8), X(BF16, 2),        \
      X(F32, 4), X(F64, 8), X(Pred, 1), X(BF16x2, 4), X(F16, 2), X(F16x2, 4),  \
      X(S16x2, 4), X(U16x2, 4)

#define PP_ENUMERATOR(name, ...) name
enum class Op : uint8_t { PP_PTX_OPS(PP_ENUMERATOR) };
enum class Type : uint8_t { PP_PTX_TYPES(PP_ENUMERATOR), None };
#undef PP_ENUMERATOR

inline unsigned bytesOf(Type type) {
#define PP_BYTES(name, bytes) bytes
  static constexpr uint8_t kBytes[] = {PP_PTX_TYPES(PP_BYTES), 0};
#undef PP_BYTES
  return kBytes[size_t(type)];
}
inline bool isFloat(Type type) {
  return type == Type::BF16 || type == Type::F16 || type == Type::F32 ||
         type == Type::F64 || type == Type::BF16x2 || type == Type::F16x2;
}
inline bool isSigned(Type type) {
  return type >= Type::S8 && type <= Type::S64;
}

enum class Space : uint8_t { None, Global, Shared, Local, Parameter, Constant };
enum class Rounding : uint8_t { Nearest, Zero, Down, Up };
/// Of a comparison, which outcomes make it true.
enum Outcome : uint8_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
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
  uint8_t compare = 0;    ///< of setp: outcomes
  Op combine = Op::Mov;   ///< of red, redux
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

} // namespace ptx

#endif // PP_TEST_GPU_PTX_PROGRAM_H
