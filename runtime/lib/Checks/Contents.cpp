//===- Contents.cpp - does each read see what its slot was given? ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure without races, in which slots share bytes at different
// times. Out: a finding for each read of a byte that was not written before, or
// that was last written through another slot. The host also reads: parameters
// and states, between sections. What was written for a micro-batch may be read
// only for that one, or for none, since micro-batches take a slot in turn; what
// was loaded, for the same part of the input over time. Running sums, which a
// reader also writes, and parameters and states go from one to the next. A sum
// that is read for no micro-batch has a part of each.
//
// Visits instructions in any order that respects queues and waits. Without
// races, all conflicting accesses are ordered, so the last write to a byte is
// the same in each such order. A body's contents at its end do not depend on
// those at its start. So the second body, and every later one, differs from the
// first only if a read finds what was written before. If it finds a parameter
// or state, what the host reads after the body is judged in its stead;
// otherwise a second body is visited. Most reads are of slots that nothing has
// written over, and most writes take the place of one whole slot: neither is
// looked for byte by byte.
//
//===----------------------------------------------------------------------===//
#include "../ListAccesses.h"
#include "Passes.h"
#include "Places.h"
#include "Sections.h"

#include <map>
#include <set>

using namespace pprt;
using namespace pprt::checks;

namespace {

/// The last writer of the bytes before `end`. The host writes arguments, and is
/// no instruction.
struct Content {
  uint64_t end;
  uint32_t copy; ///< of a slot
  std::optional<InstructionRef> writer;
  /// Number of the part of the step that the value is for; 0: for all.
  uint32_t part = 0;
  /// Whether micro-batches add to it, one after another.
  bool isSum = false;
};

/// The arena of one program: intervals of bytes by their last write. A write
/// makes at most three intervals. It is of all bytes of a copy, so a copy that
/// has its bytes is one interval.
class Arena {
public:
  explicit Arena(const Places &places)
      : places(places), whole(places.size(), contents.end()) {}

  const SlotCopies &copies() const { return places.copies; }

  void write(uint32_t copy, std::optional<InstructionRef> writer,
             uint32_t part = 0, bool isSum = false);
  /// The last write of all bytes of a copy that nothing has written over.
  const Content *find(uint32_t copy) const {
    const auto here = whole[places.of(copy)];
    return here != contents.end() && here->second.copy == copy ? &here->second
                                                               : nullptr;
  }
  /// Returns the first contents of `copy` that were not written through it, or
  /// that `isMeant` rejects: null if there are none, and an empty optional for
  /// bytes that were never written.
  template <typename Predicate>
  const std::optional<Content> *findForeign(uint32_t copy, Predicate isMeant);
  /// Intervals visited so far, each found in logarithmic time.
  uint64_t operations() const { return visited; }

private:
  using Contents = std::map<uint64_t, Content>; ///< by the first byte

  const Places &places;
  Contents contents;
  /// By place: the interval that is exactly its bytes, or the end.
  std::vector<Contents::iterator> whole;
  std::optional<Content> foreign;
  uint64_t visited = 0;
};

/// Checks one program section by section.
class ContentCheck {
public:
  ContentCheck(const Ranks &ranks, uint32_t number, const Places &places,
               FindingList &report);
  void check();

private:
  void checkSection(Section section);
  void visit(const InstructionRef &ref, const Instruction &instruction,
             const std::vector<SlotAccess> &accesses);
  void checkRead(const InstructionRef &ref, const Instruction &instruction,
                 const SlotAccess &access);
  bool isFromBefore(Section section, const SlotAccess &access) const;
  uint32_t copyOf(const SlotAccess &access) const {
    return arena.copies().number(access.slot, access.copy);
  }
  std::string whatIsThere(uint32_t copy,
                          const std::optional<Content> &foreign) const;
  uint32_t partWrittenBy(const Instruction &instruction, uint32_t slot);
  uint32_t numberOf(std::vector<int64_t> part) {
    return parts.try_emplace(std::move(part), uint32_t(parts.size() + 1))
        .first->second;
  }
  /// That of what is for one micro-batch.
  uint32_t partOf(int32_t microBatch) {
    if (microBatch < 0)
      return 0;
    if (size_t(microBatch) >= partsOf.size())
      return numberOf({microBatch});
    uint32_t &part = partsOf[size_t(microBatch)];
    return part ? part : part = numberOf({microBatch});
  }
  bool isFor(const Content &content, const Instruction &reader);
  /// Notes what `instruction` adds; returns whether its result is a sum.
  bool addToSum(uint32_t copy, const Instruction &instruction);
  void checkSum(const InstructionRef &ref, const Instruction &instruction,
                uint32_t copy);
  Instruction instructionAt(const InstructionRef &ref) const {
    return ranks.instructionsOf(number, ref.section)[ref.index];
  }

  const Ranks &ranks;
  const uint32_t number; ///< of the program
  const ppx::ArtifactT &artifact;
  const ppx::ProgramT &program;
  const Mesh &mesh;
  FindingList &report;
  Arena arena;
  /// Numbers of parts of the step, by their axes and coordinates.
  std::map<std::vector<int64_t>, uint32_t> parts;
  std::vector<uint32_t> partsOf; ///< of few micro-batches; 0: not known yet
  static constexpr size_t kFew = 1 << 16;
  /// By copy that is a sum: the micro-batches that it has a part of.
  std::map<uint32_t, std::set<int32_t>> sums;
  /// The slots of parameters and states; by slot, whether it is one.
  std::vector<uint32_t> kept;
  std::vector<bool> isKept;
  bool bodyReadsBefore = false; ///< apart from these
};

} // namespace

void Arena::write(uint32_t copy, std::optional<InstructionRef> writer,
                  uint32_t part, bool isSum) {
  const auto [begin, end] = places[places.of(copy)];
  if (begin == end)
    return;
  const auto here = whole[places.of(copy)];
  if (here != contents.end()) {
    here->second = {end, copy, writer, part, isSum};
    return;
  }
  auto next = contents.lower_bound(begin);
  // Of what it is written over, the bytes before and behind stay.
  const auto overwrite = [&](const Content &old) {
    whole[places.of(old.copy)] = contents.end();
    if (old.end > end)
      contents.emplace_hint(next, end, old);
  };
  if (next != contents.begin())
    if (Content &before = std::prev(next)->second; before.end > begin) {
      overwrite(before);
      before.end = begin;
    }
  while (next != contents.end() && next->first < end) {
    overwrite(next->second);
    next = contents.erase(next);
  }
  whole[places.of(copy)] = contents.emplace_hint(
      next, begin, Content{end, copy, writer, part, isSum});
}

template <typename Predicate>
const std::optional<Content> *Arena::findForeign(uint32_t copy,
                                                 Predicate isMeant) {
  ++visited;
  const auto [begin, end] = places[places.of(copy)];
  if (begin == end)
    return nullptr;
  if (const auto here = whole[places.of(copy)]; here != contents.end()) {
    if (here->second.copy == copy && isMeant(here->second))
      return nullptr;
    foreign = here->second;
    return &foreign;
  }
  // Another has taken some of its bytes: finds the first of these.
  for (uint64_t at = begin; at < end; at = foreign->end) {
    ++visited;
    foreign.reset();
    auto content = contents.upper_bound(at);
    if (content == contents.begin() || (--content)->second.end <= at)
      break;
    foreign = content->second;
    if (foreign->copy != copy)
      break;
  }
  return &foreign;
}

ContentCheck::ContentCheck(const Ranks &ranks, uint32_t number,
                           const Places &places, FindingList &report)
    : ranks(ranks), number(number), artifact(ranks.artifact),
      program(*artifact.programs[number]), mesh(ranks.mesh), report(report),
      arena(places), partsOf(std::min<size_t>(mesh.microBatchCount(), kFew)),
      isKept(program.slots.size()) {
  for (size_t i = 0; i < artifact.arguments.size(); ++i)
    if (const int32_t slot = program.argument_slots[i];
        isPersistent(*artifact.arguments[i]) && slot >= 0) {
      kept.push_back(arena.copies().number(uint32_t(slot), 0));
      isKept[uint32_t(slot)] = true;
      arena.write(kept.back(), std::nullopt);
    }
}

std::string
ContentCheck::whatIsThere(uint32_t copy,
                          const std::optional<Content> &foreign) const {
  if (!foreign)
    return "nothing has written these bytes";
  std::string by = "the host";
  if (const auto &writer = foreign->writer)
    by = describe(*writer, instructionAt(*writer));
  if (foreign->copy == copy)
    return text("expects what is written for its own micro-batch, got what ",
                by, " wrote");
  return text("expects bytes last written through it, got what ", by,
              " wrote through '", arena.copies()[foreign->copy].name, "'");
}

uint32_t ContentCheck::partWrittenBy(const Instruction &instruction,
                                     uint32_t slot) {
  if (instruction->opcode != ppx::Opcode_load)
    return isKept[slot] ? 0 : partOf(instruction.microBatch());
  const ppx::ArgumentT &argument = *artifact.arguments[instruction->binding];
  std::vector<int64_t> part =
      partOverTime(mesh, argument, instruction.microBatch());
  if (part.empty())
    return 0;
  for (const auto &dimension : argument.sharding)
    part.insert(part.end(), dimension->axes.begin(), dimension->axes.end());
  part.push_back(-1); // no micro-batch
  return numberOf(std::move(part));
}

bool ContentCheck::isFor(const Content &content, const Instruction &reader) {
  if (content.part == 0 || content.part == partOf(reader.microBatch()))
    return true;
  const Instruction writer = instructionAt(*content.writer);
  if (writer->opcode != ppx::Opcode_load)
    return reader.microBatch() < 0 ||
           reader.microBatch() == writer.microBatch();
  const ppx::ArgumentT &argument = *artifact.arguments[writer->binding];
  return partOverTime(mesh, argument, writer.microBatch()) ==
         partOverTime(mesh, argument, reader.microBatch());
}

/// A kernel may also work in place, within one micro-batch. A gate is said to
/// read what it writes, but adds nothing to it.
bool ContentCheck::addToSum(uint32_t copy, const Instruction &instruction) {
  const Content *before = arena.find(copy);
  if (!before || instruction.microBatch() < 0 ||
      instruction->opcode == ppx::Opcode_gate ||
      isKept[arena.copies().slotOf(copy)])
    return false;
  if (!before->isSum) {
    const int32_t first =
        before->writer ? instructionAt(*before->writer).microBatch() : -1;
    if (first == instruction.microBatch())
      return false;
    sums[copy].clear();
    if (first >= 0)
      sums[copy].insert(first);
  }
  sums[copy].insert(instruction.microBatch());
  return true;
}

/// A value that only one micro-batch has written is a sum that lacks the
/// others.
void ContentCheck::checkSum(const InstructionRef &ref,
                            const Instruction &instruction, uint32_t copy) {
  const Content *content = arena.find(copy);
  if (!content || content->part == 0 || instruction.microBatch() >= 0)
    return;
  const Instruction writer = instructionAt(*content->writer);
  if (writer->opcode == ppx::Opcode_load)
    return;
  const std::set<int32_t> only = {writer.microBatch()};
  const std::set<int32_t> &parts = content->isSum ? sums.at(copy) : only;
  if (parts.size() == mesh.microBatchCount())
    return;
  int32_t missing = 0;
  while (parts.count(missing))
    ++missing;
  report.add(ref, instruction,
             text("reads '", arena.copies()[copy].name,
                  "'; expects a sum over all ", mesh.microBatchCount(),
                  " micro-batches, got none of micro-batch ", missing));
}

void ContentCheck::checkRead(const InstructionRef &ref,
                             const Instruction &instruction,
                             const SlotAccess &access) {
  const uint32_t copy = copyOf(access);
  if (const auto *foreign =
          arena.findForeign(copy, [&](const Content &content) {
            // A running sum begins with its first micro-batch.
            return access.writes || isFor(content, instruction);
          }))
    report.add(ref, instruction,
               text("reads '", program.slots[access.slot]->name, "'; ",
                    whatIsThere(copy, *foreign)));
  else
    checkSum(ref, instruction, copy);
}

/// Whether what `access` finds is older than the section, and not the host's.
bool ContentCheck::isFromBefore(Section section,
                                const SlotAccess &access) const {
  const Content *content = arena.find(copyOf(access));
  return content && !isKept[access.slot] &&
         (!content->writer || content->writer->section != section);
}

void ContentCheck::visit(const InstructionRef &ref,
                         const Instruction &instruction,
                         const std::vector<SlotAccess> &accesses) {
  report.work(accesses.size());
  if (report.full())
    return;
  for (const SlotAccess &access : accesses)
    if (access.reads) {
      checkRead(ref, instruction, access);
      bodyReadsBefore |=
          ref.section == Section::body && isFromBefore(ref.section, access);
    }
  for (const SlotAccess &access : accesses)
    if (access.writes) {
      const uint32_t copy = copyOf(access);
      const bool isSum = access.reads && addToSum(copy, instruction);
      arena.write(copy, ref, partWrittenBy(instruction, access.slot), isSum);
    }
}

void ContentCheck::checkSection(Section section) {
  const InstructionList &list = ranks.instructionsOf(number, section);
  const QueueOrder order(list, program.queues.size());
  const uint32_t rank = program.ranks.front();
  ListAccesses accesses(artifact, list);
  report.work(visitInOrder(list, order, [&](uint32_t index) {
    visit({rank, section, index}, list[index], accesses.of(index));
  }));
  for (uint32_t copy : kept)
    if (const auto *foreign =
            arena.findForeign(copy, [](const Content &) { return true; }))
      report.add(text("rank ", rank, ", after the ", sectionName(section),
                      ": the host reads '", arena.copies()[copy].name, "'; ",
                      whatIsThere(copy, *foreign)),
                 rank);
}

void ContentCheck::check() {
  for (Section section : kSections) {
    if (report.empty())
      checkSection(section);
    if (report.empty() && section == Section::body && bodyReadsBefore)
      checkSection(section);
  }
  report.work(arena.operations());
}

void checks::checkContents(const Ranks &ranks, uint32_t program,
                           const Places &places, FindingList &report) {
  ContentCheck(ranks, program, places, report).check();
}
