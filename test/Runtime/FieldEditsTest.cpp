//===- FieldEditsTest.cpp - artifacts with some numbers changed -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Changes fields of a real artifact, under a checksum that fits: a number, a
// length, an offset, an element of a vector. One at a time, or several that lie
// together, for example in one table, because checks compare fields with each
// other. The artifact is refused, or runs on the cpu backend to its end: with
// other numbers perhaps, but inside of its memory. The sanitize presets make
// this test strict. The machine code, its place and its length are left
// unchanged: it is trusted.
//
//   PPFieldEditsTest --artifacts=FOLDER [--edits=N, of each artifact]
//   [--seed=N]
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "pprt/Checks.h"
#include "pprt/Files.h"
#include "pprt/Session.h"

#include <flatbuffers/minireflect.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

using namespace pprt;

namespace {

std::string artifactFolder;
int editCount = 2500, seed = 9;

/// Some bytes of a file.
struct Place {
  size_t offset, width;
};

/// Every number, length and offset of head and image, by its field.
class Places final : public flatbuffers::IterationVisitor {
public:
  explicit Places(const std::vector<uint8_t> &file) : file(file) {
    uint32_t headBytes = 0;
    std::memcpy(&headBytes, file.data(), sizeof(headBytes));
    path = {0};
    flatbuffers::IterateFlatBuffer(&file[8], ppx::HeadTypeTable(), this);
    path = {1};
    flatbuffers::IterateFlatBuffer(&file[headBytes], ppx::ImageTypeTable(),
                                   this);
    for (const auto &[field, its] : places)
      all.insert(all.end(), its.begin(), its.end());
    std::sort(all.begin(), all.end(), [](const Place &a, const Place &b) {
      return a.offset < b.offset;
    });
  }
  /// Picks any field of the schema, then any of its places in the file: there
  /// are thousands of waits, and one mesh.
  const Place &pick(std::mt19937_64 &random) const {
    auto field = places.begin();
    std::advance(field, random() % places.size());
    return field->second[random() % field->second.size()];
  }

  /// Picks up to `count` more places within some tables of `place`.
  std::vector<Place> pickNear(const Place &place, size_t count,
                              std::mt19937_64 &random) const {
    constexpr size_t reach = 30; // places
    const auto at =
        size_t(std::lower_bound(
                   all.begin(), all.end(), place.offset,
                   [](const Place &p, size_t o) { return p.offset < o; }) -
               all.begin());
    const size_t begin = at - std::min(at, reach),
                 end = std::min(all.size(), at + reach);
    std::vector<Place> result;
    while (result.size() < count)
      result.push_back(all[begin + random() % (end - begin)]);
    return result;
  }

private:
  void StartSequence() override { path.push_back(0); }
  void EndSequence() override { path.pop_back(); }
  void Field(size_t index, size_t, flatbuffers::ElementaryType type,
             bool isVector, const flatbuffers::TypeTable *described,
             const char *, const uint8_t *value) override {
    path.back() = index;
    // Only the machine code consists of bytes.
    if (!value || (isVector && type == flatbuffers::ET_UCHAR))
      return;
    if (!isVector)
      return Element(0, type, described, value);
    add(value, 4);
    add(value + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(value), 4);
  }
  void Element(size_t, flatbuffers::ElementaryType type,
               const flatbuffers::TypeTable *described,
               const uint8_t *value) override {
    // The fields of structs follow.
    const bool isStruct = type == flatbuffers::ET_SEQUENCE &&
                          described->st == flatbuffers::ST_STRUCT;
    if (!isStruct && type != flatbuffers::ET_UCHAR)
      add(value, flatbuffers::InlineSize(type, described));
  }
  void String(const flatbuffers::String *string) override {
    add(reinterpret_cast<const uint8_t *>(string), 4);
    if (string->size() > 0)
      add(string->Data(), 1);
  }
  void add(const uint8_t *at, size_t width) {
    places[path].push_back({size_t(at - file.data()), width});
  }

  const std::vector<uint8_t> &file;
  std::vector<size_t> path; ///< of field indices, from the root
  std::map<std::vector<size_t>, std::vector<Place>> places;
  std::vector<Place> all; ///< in the order of the file
};

struct Counts {
  int unchanged = 0, unreadable = 0, refused = 0, failed = 0, finished = 0;
};

} // namespace

static uint64_t read(const std::vector<uint8_t> &file, const Place &place) {
  uint64_t value = 0;
  std::copy_n(&file[place.offset], place.width,
              reinterpret_cast<uint8_t *>(&value));
  return value;
}

static void write(std::vector<uint8_t> &file, const Place &place,
                  uint64_t value) {
  std::copy_n(reinterpret_cast<const uint8_t *>(&value), place.width,
              &file[place.offset]);
}

static uint64_t otherValue(uint64_t old, std::mt19937_64 &random) {
  const uint64_t values[] = {
      0,       1,       2,        old + 1,  old - 1,      2 * old,
      old / 2, old ^ 4, old + 64, 1u << 31, ~uint64_t(0), ~uint64_t(0) / 2,
      random()};
  return values[random() % std::size(values)];
}

/// With several fields, half of the time those with the same value as `place`
/// are chosen, and all get one value.
static void edit(std::vector<uint8_t> &file, const Places &places,
                 const Place &place, std::mt19937_64 &random) {
  const uint64_t old = read(file, place), value = otherValue(old, random);
  if (random() % 2) {
    const bool isOneValue = random() % 2;
    for (const Place &other : places.pickNear(place, 1 + random() % 12, random))
      if (const uint64_t its = read(file, other); !isOneValue)
        write(file, other, otherValue(its, random));
      else if (its == old || random() % 8 == 0)
        write(file, other, value);
  }
  write(file, place, value);
}

/// Runs two steps over zeros, and reads every resulting value.
static Status run(ppx::ArtifactT artifact) {
  SessionOptions options;
  options.hangTimeoutSeconds = 20;
  auto shared = std::make_shared<const ppx::ArtifactT>(std::move(artifact));
  Expected<std::unique_ptr<Session>> created = Session::create(shared, options);
  if (!created)
    return created.status();
  Session &session = **created;
  std::vector<std::vector<uint8_t>> batches(shared->arguments.size());
  for (uint32_t i = 0; i < shared->arguments.size(); ++i) {
    const ppx::Role role = shared->arguments[i]->role;
    if (role != ppx::Role_input && role != ppx::Role_label)
      continue;
    batches[i].resize(session.argumentBytes(i));
    if (Status status =
            session.setInput(i, batches[i].data(), batches[i].size());
        !status.ok())
      return status;
  }
  for (Status status : {session.initialize(1), session.begin(), session.step(),
                        session.step(), session.end()})
    if (!status.ok())
      return status;
  for (uint32_t i = 0; i < shared->arguments.size(); ++i)
    if (batches[i].empty() && session.argumentBytes(i) > 0) {
      std::vector<uint8_t> values(session.argumentBytes(i));
      if (Status status = session.getArgument(i, values.data(), values.size());
          !status.ok())
        return status;
    }
  for (uint32_t i = 0; i < shared->outputs.size(); ++i)
    if (session.outputBytes(i) > 0)
      (void)session.scalar(i);
  return {};
}

static void tryEdit(const std::vector<uint8_t> &whole, const Places &places,
                    const Place &place, std::mt19937_64 &random,
                    Counts &counts) {
  std::vector<uint8_t> file = whole;
  edit(file, places, place, random);
  if (file == whole) {
    ++counts.unchanged;
    return;
  }
  sealArtifact(file);
  Expected<ppx::ArtifactT> artifact =
      parseArtifact(file.data(), file.size(), "edited");
  if (!artifact) {
    // Or an image for another machine.
    EXPECT_TRUE(artifact.status().code() == ExitCode::badArtifact ||
                artifact.status().code() == ExitCode::device);
    ++counts.unreadable;
  } else if (!checkArtifact(*artifact).ok()) {
    ++counts.refused;
  } else if (Status status = run(std::move(*artifact)); !status.ok()) {
    EXPECT_NE(status.code(), ExitCode::hang) << status.message();
    ++counts.failed;
  } else {
    ++counts.finished;
  }
}

TEST(FieldEdits, AreRefusedOrHarmless) {
  if (artifactFolder.empty())
    GTEST_SKIP() << "no --artifacts";
  int files = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(artifactFolder)) {
    if (entry.path().extension() != ".ppx")
      continue;
    ++files;
    Expected<std::string> content = readFile(entry.path(), 1 << 30);
    ASSERT_TRUE(content.ok()) << content.status().message();
    const std::vector<uint8_t> whole(content->begin(), content->end());
    const Places places(whole);
    std::mt19937_64 random{uint64_t(seed)};
    Counts counts;
    for (int i = 0; i < editCount; ++i) {
      const Place &place = places.pick(random);
      SCOPED_TRACE(entry.path().string() + ", byte " +
                   std::to_string(place.offset));
      tryEdit(whole, places, place, random, counts);
    }
    std::printf("%s: of %d edits %d change nothing, %d cannot be read, %d are "
                "refused by a check, %d fail, %d finish\n",
                entry.path().filename().c_str(), editCount, counts.unchanged,
                counts.unreadable, counts.refused, counts.failed,
                counts.finished);
    EXPECT_GT(counts.unreadable, 0);
    EXPECT_GT(counts.finished, 0);
  }
  EXPECT_GT(files, 0);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  auto valueOf = [](const std::string &argument, const std::string &option) {
    return argument.compare(0, option.size(), option) == 0
               ? argument.substr(option.size())
               : std::string();
  };
  for (int i = 1; i < argc; ++i) {
    if (std::string folder = valueOf(argv[i], "--artifacts="); !folder.empty())
      artifactFolder = folder;
    if (std::string count = valueOf(argv[i], "--edits="); !count.empty())
      editCount = std::atoi(count.c_str());
    if (std::string number = valueOf(argv[i], "--seed="); !number.empty())
      seed = std::atoi(number.c_str());
  }
  return RUN_ALL_TESTS();
}
