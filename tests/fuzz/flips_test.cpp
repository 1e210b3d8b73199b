// Flips bits of small multifiles, one at a time: each SHEAF_FLIP_STEP-th bit (5). For a file with
// checksums, each way of reading must report an error or return unchanged data. Without checksums, a flip in
// some fields may change the data that is read. The test lists these fields and fails if a flip in any other
// field changes data. It prints the number of such bits in each field.
#include <gtest/gtest.h>

#include "comm/agree.hpp"
#include "format/header.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/reading.hpp"
#include "fuzz/targets.hpp"
#include "multifile/tools/verify.hpp"
#include "support/mapped.hpp"
#include "support/variable.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

// The field that a byte of a physical file belongs to.
struct ByteField {
  std::string field;
  bool is_data = false;
};

struct Map {
  format::Header header;
  format::Pointer pointer;

  explicit Map(std::span<const std::byte> file)
      : header(format::decode_header(file.first(static_cast<size_t>(format::fixed_size)), "m")),
        pointer(format::decode_pointer(file.subspan(static_cast<size_t>(header.pointer_offset()))
                                           .first<static_cast<size_t>(format::pointer_size)>(),
                                       header.metadata_order)) {}

  ByteField field_of(int64_t at) const {
    const int64_t n = header.ntasks;
    if (at < 36) {
      constexpr const char* words[] = {"magic",      "byte order", "library", "patch",      "version",
                                       "block size", "tasks",      "files",   "file number"};
      return {at == 5 ? "user byte order" : words[at / 4]};
    }
    if (at < 52) return {at < 44 ? "flag1" : "flag2"};
    if (at < format::fixed_size) return {"name"};
    if (at < header.chunksizes_offset()) return {"global ranks"};
    if (at < header.pointer_offset()) return {"chunk sizes"};
    if (at < header.pointer_offset() + format::pointer_size) return {"pointer"};
    if (at < pointer.varheader) return {"data", true};
    if (at < pointer.varheader + 8 * n) return {"block counts"};
    if (at < pointer.varheader + 8 * n * (1 + int64_t{pointer.maxblocks})) return {"block sizes"};
    return {"mapping"};
  }
};

// All information about a multifile that one way of reading returns.
struct ReadingResult {
  bool failed = false;
  ReadContents contents;
  bool operator==(const ReadingResult& other) const {
    return failed == other.failed && contents.ntasks == other.contents.ntasks &&
           contents.tasks == other.contents.tasks;
  }
};

ReadingResult found(const ReadOutcome& outcome) {
  return {outcome.error.has_value() || !outcome.contents.failures.empty(), outcome.contents};
}

constexpr const char* ways[] = {"serial", "single", "parallel", "mapped"};

std::array<ReadingResult, 4> read_every_way(MemoryStore& store, int64_t ntasks) {
  const ReadSettings settings{2, 64 << 10};
  return {found(read_serially(store, settings)), found(read_by_task(store, ntasks, settings)),
          found(read_in_parallel(store, ntasks, settings)), found(read_mapped(store, settings))};
}

// Returns whether exactly one byte of the data of one task differs, and no other value does.
bool differ_in_one_byte(const ReadContents& a, const ReadContents& b) {
  int64_t different = 0;
  if (a.ntasks != b.ntasks || a.tasks.size() != b.tasks.size()) return false;
  for (const auto& [task, old] : a.tasks) {
    const auto at = b.tasks.find(task);
    if (at == b.tasks.end() || at->second.length != old.length || at->second.globalrank != old.globalrank)
      return false;
    for (size_t i = 0; i < old.bytes.size(); ++i) different += old.bytes[i] != at->second.bytes[i];
  }
  return different == 1;
}

struct FlipCounts {
  int64_t detected = 0;  // an error in every way of reading
  int64_t partly = 0;    // an error in some ways, no effect in the others
  int64_t no_effect = 0;
  int64_t in_data = 0;                     // one byte of one task differs
  std::map<std::string, int64_t> changed;  // field -> number of bits with undetected changes
};

class Flips : public ::testing::Test {
 protected:
  // Flips bits of the files and checks all ways of reading. `unprotected` lists the fields in which a
  // flip may change the data that is read.
  void flip_everything(const std::string& name, const std::set<std::string>& unprotected) {
    const std::vector<std::string> paths = store.paths();
    int64_t ntasks = 0;
    {
      WorkProgress progress;
      ASSERT_TRUE(verify(store, "m", true, progress).ok());
      ntasks = read_serially(store, {}).contents.ntasks;
    }
    const auto before = read_every_way(store, ntasks);
    for (const ReadingResult& f : before) ASSERT_FALSE(f.failed);
    FlipCounts counts;
    // 5 has no common factor with 8, so all bits of a byte occur.
    const auto step = static_cast<int64_t>(test::variable("SHEAF_FLIP_STEP", 5));
    for (const std::string& path : paths) {
      const Bytes contents = store.contents(path);
      const Map map(contents);
      for (int64_t bit = 0; bit < 8 * std::ssize(contents); bit += step) {
        Bytes flipped = contents;
        flipped[static_cast<size_t>(bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
        store.set_contents(path, flipped);
        try {
          judge(before, ntasks, map.field_of(bit / 8), unprotected, counts);
        } catch (const Contradiction& c) {
          ADD_FAILURE() << c.what;
        }
        if (HasFailure()) FAIL() << name << ": bit " << bit % 8 << " of byte " << bit / 8 << " of " << path;
      }
      store.set_contents(path, contents);
    }
    report(name, counts);
  }

  void judge(const std::array<ReadingResult, 4>& before, int64_t ntasks, const ByteField& place,
             const std::set<std::string>& unprotected, FlipCounts& counts) {
    const MemoryBound bound(MemoryBound::for_files(4096));
    const auto after = read_every_way(store, ntasks);
    int failed = 0, changed = 0;
    for (size_t w = 0; w < after.size(); ++w) {
      if (after[w].failed) {
        ++failed;
      } else if (!(after[w] == before[w])) {
        ++changed;
        ASSERT_FALSE(checked) << ways[w] << ": unnoticed change of " << place.field
                              << " in spite of checksums";
        if (place.is_data) {
          ASSERT_TRUE(differ_in_one_byte(before[w].contents, after[w].contents))
              << ways[w] << ": more than one byte of data";
        } else {
          ASSERT_TRUE(unprotected.contains(place.field))
              << ways[w] << ": unnoticed change of " << place.field;
        }
      }
    }
    if (changed > 0) {
      ++(place.is_data ? counts.in_data : counts.changed[place.field]);
    } else {
      ++(failed == 0 ? counts.no_effect : failed == 4 ? counts.detected : counts.partly);
    }
    WorkProgress progress;
    const bool sound = verify(store, "m", true, progress).ok();
    ASSERT_TRUE(!sound || !after[0].failed) << "verify likes what cannot be read";
  }

  void report(const std::string& name, const FlipCounts& t) {
    std::string fields;
    for (const auto& [field, bits] : t.changed) {
      fields += (fields.empty() ? "" : ", ") + field + " " + std::to_string(bits);
      RecordProperty(field, static_cast<int>(bits));
    }
    std::printf(
        "%s: detected %lld bits, detected by some readers %lld, no effect %lld, data %lld, unnoticed: %s\n",
        name.c_str(), static_cast<long long>(t.detected), static_cast<long long>(t.partly),
        static_cast<long long>(t.no_effect), static_cast<long long>(t.in_data),
        fields.empty() ? "none" : fields.c_str());
    EXPECT_GT(t.detected, 0);
    EXPECT_EQ(t.in_data > 0, !checked);
  }

  bool checked = false;  // the files have checksums
  MemoryStore store{512, 512};
};

test::Program program(int32_t nfiles) {
  test::Program p;
  p.fsblksize = 8;
  p.nfiles = nfiles;
  p.requests = {16, 8, 24};
  p.steps = {{{test::Step::write, 40}}, {{test::Step::write, 5}}, {{test::Step::write, 24}}};
  return p;
}

const std::set<std::string> in_one_file{"block counts", "block sizes", "global ranks"};
// A flip in the file number turns the first file into another member of a set. Readers may open such a file
// by itself, and then return its fields as they are.
const std::set<std::string> in_set{"block counts", "block sizes", "global ranks", "mapping", "file number"};

constexpr const char* plain = "w,checksums=off";

TEST_F(Flips, InOneFile) {
  test::write_in_parallel(store, "m", program(1), 0, plain);
  flip_everything("one file", in_one_file);
}

TEST_F(Flips, InASet) {
  test::write_in_parallel(store, "m", program(2), 0, plain);
  flip_everything("two files", in_set);
}

test::MappedProgram mapped_program() {
  test::MappedProgram m;
  m.program = program(2);
  m.places = {{1, 0}, {0, 0}, {1, 1}};
  m.owners = {0, 0, 0};
  return m;
}

TEST_F(Flips, InAMappedSet) {
  test::write_mapped(store, "m", mapped_program(), 0, plain);
  flip_everything("mapped", in_set);
}

TEST_F(Flips, InOneFileWithChecksums) {
  checked = true;
  test::write_in_parallel(store, "m", program(1));
  flip_everything("one file with checksums", {});
}

TEST_F(Flips, InASetWithChecksums) {
  checked = true;
  test::write_in_parallel(store, "m", program(2));
  flip_everything("two files with checksums", {});
}

TEST_F(Flips, InAMappedSetWithChecksums) {
  checked = true;
  test::write_mapped(store, "m", mapped_program());
  flip_everything("mapped with checksums", {});
}

TEST_F(Flips, InASerialFileWithChecksums) {
  checked = true;
  test::write_serially(store, "m", program(1));
  flip_everything("serial with checksums", {});
}

}  // namespace
}  // namespace sheaf::fuzz
