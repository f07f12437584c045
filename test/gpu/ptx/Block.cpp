//===- Block.cpp - the threads of a block: order and control flow ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Block.h"

#include <algorithm>
#include <numeric>

using namespace ptx;

static constexpr uint32_t kNowhere = ~uint32_t(0);

Block::Block(const Program &program, const Function &function,
             const Launch &launch, Memory &memory, Shadow &global,
             Counters &counters)
    : program(program), function(function), launch(launch), memory(memory),
      global(global), counters(counters), threads(launch.block.x),
      random(launch.seed * 2 + 1) {
  registers.resize(size_t(function.registers) * threads);
  unknowns.resize(registers.size());
  places.resize(threads);
  states.resize(threads);
  carries.resize(threads);
  isActive.resize(threads);
  shared.resize(function.sharedBytes);
  sharedWritten.resize(shared.size());
  local.resize(size_t(function.localBytes) * threads);
  localWritten.resize(local.size());
}

void Block::reset(uint32_t newNumber) {
  number = newNumber;
  blockEpoch = 0;
  std::fill(unknowns.begin(), unknowns.end(), 0xFF);
  std::fill(places.begin(), places.end(), 0);
  std::fill(states.begin(), states.end(), State::Running);
  std::fill(sharedWritten.begin(), sharedWritten.end(), std::byte(0));
  std::fill(localWritten.begin(), localWritten.end(), std::byte(0));
  sharedShadow = std::make_unique<Shadow>();
}

bool Block::run(uint32_t newNumber) {
  reset(newNumber);
  while (true) {
    const auto areSome = [&](State state) {
      return std::find(states.begin(), states.end(), state) != states.end();
    };
    areAllStopped = !areSome(State::Running);
    const bool runs = !areAllStopped || areSome(State::CommOp);
    if (areAllStopped)
      std::replace(states.begin(), states.end(), State::CommOp, State::Running);
    if (runs ? !schedule() : !releaseBarrier())
      return false;
    if (std::all_of(states.begin(), states.end(),
                    [](State state) { return state == State::Ended; }))
      return true;
  }
}

/// All threads that are not at the barrier have ended: then it never opens.
bool Block::releaseBarrier() {
  const Instruction *barrier = nullptr;
  for (uint32_t lane = 0; lane < threads; ++lane) {
    if (states[lane] != State::Waiting)
      continue;
    const Instruction &here = function.code[places[lane] - 1];
    if (barrier && barrier != &here)
      return fail(here,
                  "divergent barrier: other threads of the block wait at the "
                  "one of line " +
                      std::to_string(barrier->line),
                  lane);
    barrier = &here;
  }
  for (uint32_t lane = 0; barrier && lane < threads; ++lane)
    if (states[lane] == State::Ended)
      return fail(*barrier,
                  "divergent barrier: this thread has ended before it", lane);
  for (State &state : states)
    if (state == State::Waiting)
      state = State::Running;
  ++blockEpoch;
  return true;
}

bool Block::schedule() {
  uint32_t first = kNowhere, others = 0;
  for (uint32_t lane = 0; lane < threads; ++lane)
    if (states[lane] == State::Running)
      first = std::min(first, places[lane]);
  uint32_t chosen = first;
  // Now and then those who wait go first.
  random = random * 6364136223846793005u + 1442695040888963407u;
  if ((random >> 60) == 0)
    for (uint32_t lane = 0; lane < threads; ++lane)
      if (states[lane] == State::Running && places[lane] != first &&
          (random >> 33) % ++others == 0)
        chosen = places[lane];
  uint32_t stop = kNowhere;
  active.clear();
  for (uint32_t lane = 0; lane < threads; ++lane) {
    isActive[lane] =
        (states[lane] == State::Running || states[lane] == State::CommOp) &&
        places[lane] == chosen;
    if (isActive[lane]) {
      states[lane] = State::Running;
      active.push_back(lane);
    } else if (states[lane] == State::Running)
      stop = std::min(stop, places[lane]);
  }
  at = chosen;
  return runGroup(stop);
}

/// Until the lanes part, wait, end, or meet others at `stop`.
bool Block::runGroup(uint32_t stop) {
  while (true) {
    const Instruction &i = function.code[at];
    counters.laneInstructions += active.size();
    uint32_t next = at + 1;
    bool parts = false;
    switch (i.op) {
    case Op::Bra: {
      const size_t before = active.size();
      if (!branch(i, next))
        return false;
      parts = next == kNowhere || active.size() != before;
      break;
    }
    case Op::Exit:
    case Op::Ret: {
      Values guard = valuesOf(i.guard);
      for (uint32_t lane : active) {
        if (guard.unknown[lane * guard.step])
          return fail(i, "a value that was never written decides who ends",
                      lane);
        const bool ends =
            i.guard.kind == Operand::None ||
            bool(guard.bits[lane * guard.step] & 1) != i.guard.negated;
        if (ends)
          states[lane] = State::Ended;
        else
          places[lane] = next;
      }
      return true;
    }
    case Op::Bar:
      if (i.guard.kind != Operand::None)
        return fail(i, "a barrier that a predicate guards is not known here");
      for (uint32_t lane : active) {
        states[lane] = State::Waiting;
        places[lane] = next;
      }
      return true;
    default:
      if (!areAllStopped && awaitsOthers(i))
        return true;
      if (!execute(i))
        return false;
    }
    if (parts)
      return true;
    at = next;
    // Others are here, or behind: those who are first go on.
    if (at >= stop) {
      for (uint32_t lane : active)
        places[lane] = at;
      return true;
    }
  }
}

bool Block::awaitsOthers(const Instruction &i) {
  const size_t position = i.op == Op::Shfl ? 3
                          : i.op == Op::Vote || i.op == Op::Redux
                              ? 1
                              : i.operands.size();
  if (position >= i.operands.size())
    return false;
  const Values mask = valuesOf(i.operands[position]);
  bool areComing = false, areHere = false;
  uint32_t first = kNowhere, here = 0;
  for (uint32_t lane : active) {
    if (lane / kWarp * kWarp != first) {
      first = lane / kWarp * kWarp;
      here = activeMask(first);
    }
    uint32_t missing = uint32_t(mask.bits[lane * mask.step]) & ~here;
    for (uint32_t other = first; missing && other < threads;
         ++other, missing >>= 1)
      if (missing & 1) {
        areComing |= states[other] == State::Running;
        areHere |= states[other] == State::CommOp && places[other] == at;
      }
  }
  for (uint32_t lane : active) {
    if (areComing)
      states[lane] = State::CommOp;
    if (areComing || areHere)
      places[lane] = at; // and go on together
  }
  return areComing || areHere;
}

/// `next` is where all go, or nowhere if they part: then places say where.
bool Block::branch(const Instruction &i, uint32_t &next) {
  if (i.guard.kind == Operand::None) {
    next = i.target;
    return true;
  }
  Values guard = valuesOf(i.guard);
  size_t taken = 0;
  for (uint32_t lane : active) {
    if (guard.unknown[lane * guard.step])
      return fail(i, "a value that was never written decides where to go",
                  lane);
    const bool jumps =
        bool(guard.bits[lane * guard.step] & 1) != i.guard.negated;
    taken += jumps;
    places[lane] = jumps ? i.target : at + 1;
  }
  next = taken == 0 ? at + 1 : taken == active.size() ? i.target : kNowhere;
  return true;
}

bool Block::fail(const Instruction &i, const std::string &message,
                 uint32_t lane) {
  failure = function.name + ": line " + std::to_string(i.line) + ": " + message;
  if (lane != kNowhere)
    failure += " (thread " + std::to_string(lane) + " of block " +
               std::to_string(number) + ")";
  return false;
}

Moment Block::momentOf(uint32_t lane, bool isAtomic) const {
  return {number, lane, blockEpoch, isAtomic};
}

uint32_t Block::activeMask(uint32_t first) const {
  uint32_t mask = 0;
  for (uint32_t lane = first; lane < std::min(first + kWarp, threads); ++lane)
    mask |= uint32_t(isActive[lane] != 0) << (lane - first);
  return mask;
}

uint64_t Block::special(uint32_t which, uint32_t lane) const {
  switch (SpecialRegister(which)) {
  case SpecialRegister::TidX:
    return lane;
  case SpecialRegister::NtidX:
    return threads;
  case SpecialRegister::CtaidX:
    return number;
  case SpecialRegister::NctaidX:
    return launch.grid.x;
  case SpecialRegister::LaneId:
    return lane % kWarp;
  }
  return 0;
}

Block::Values Block::valuesOf(const Operand &operand) {
  static const uint8_t isKnown = 0;
  if (operand.kind == Operand::Register)
    return {registers.data() + size_t(operand.index) * threads,
            unknowns.data() + size_t(operand.index) * threads, 1};
  if (operand.kind == Operand::Special) {
    // Few at a time are in use: an instruction has at most four operands.
    static constexpr size_t kSlots = 4;
    scratchBits.resize(kSlots * threads);
    scratchSlot = (scratchSlot + 1) % kSlots;
    uint64_t *bits = scratchBits.data() + scratchSlot * threads;
    for (uint32_t lane : active)
      bits[lane] = special(operand.index, lane);
    scratchUnknown.assign(threads, 0);
    return {bits, scratchUnknown.data(), 1};
  }
  return {&operand.bits, &isKnown, 0};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

// Blocks run one after another: nothing may depend on which comes first, and
// what does is a race that the bytes show.

Module::Module() = default;
Module::~Module() = default;

std::unique_ptr<Module> Module::parse(const std::string &text,
                                      std::string &error) {
  std::unique_ptr<Module> module(new Module);
  module->program = parseProgram(text, error);
  return module->program ? std::move(module) : nullptr;
}

const Entry *Module::find(const std::string &name) const {
  for (const Entry &entry : program->entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

bool Module::run(const Launch &launch, Memory &memory, std::string &error,
                 Accesses *accesses, Counters *counters) const {
  const Function *function = nullptr;
  for (const Function &candidate : program->functions)
    if (candidate.isEntry && candidate.name == launch.entry)
      function = &candidate;
  if (!function) {
    error = "expects an entry of the module, got '" + launch.entry + "'";
    return false;
  }
  if (launch.parameters.size() < function->parameterBytes) {
    error =
        launch.entry + ": expects " + std::to_string(function->parameterBytes) +
        " bytes of parameters, got " + std::to_string(launch.parameters.size());
    return false;
  }
  if (function->block != 0 && function->block != launch.block.x) {
    error = launch.entry + ": expects blocks of " +
            std::to_string(function->block) + " threads, got " +
            std::to_string(launch.block.x);
    return false;
  }
  if (launch.block.x == 0 || launch.block.x > 1024) {
    error = launch.entry + ": expects blocks of 1 to 1024 threads";
    return false;
  }
  Shadow global;
  Counters counted;
  Block block(*program, *function, launch, memory, global, counted);
  std::vector<uint32_t> blocks = launch.blocks;
  if (blocks.empty()) {
    blocks.resize(launch.grid.x);
    std::iota(blocks.begin(), blocks.end(), 0);
  }
  // Blocks come in any order; this one depends on the seed.
  if (launch.seed % 2 == 1)
    std::reverse(blocks.begin(), blocks.end());
  for (uint32_t number : blocks)
    if (!block.run(number)) {
      error = block.error();
      return false;
    }
  if (accesses)
    global.collect(*accesses);
  if (counters)
    *counters = counted;
  return true;
}
