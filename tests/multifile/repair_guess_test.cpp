// A repair must mark a file if it cannot determine all of its contents.
#include <gtest/gtest.h>

#include "multifile/recover/repair.hpp"
#include "multifile/tools/verify.hpp"
#include "support/programs.hpp"

namespace sheaf::test::repair_guess_test {

using namespace multifile;

namespace {

WorkProgress quiet;

void remove_pointer(Store& store, const std::string& path, int64_t ntasks) {
  store.open(path, Access::write)->write_at(std::array<std::byte, 12>{}, 1076 + 16 * ntasks);
}

// Each chunk of 8192 bytes holds two records of 3000 bytes, followed by zeros. Without a journal, a repair
// cannot know where the data ends.
TEST(Repair, MarksWhatItHasGuessed) {
  for (const char* const words : {"w,journal=off", "w,journal=off,checksums=off"})
    for (const int nfiles : {1, 2})
      for (const bool copies : {false, true}) {
        SCOPED_TRACE(std::string(words) + (copies ? ", a copy" : "") + " of " + std::to_string(nfiles));
        MemoryStore store(4096, 4096);
        Program p;
        p.fsblksize = 4096;
        p.nfiles = nfiles;
        p.requests = {5000, 5000};
        p.steps = {std::vector<Step>(4, {Step::write, 3000}), std::vector<Step>(5, {Step::write, 3000})};
        write_in_parallel(store, "a", p, 0, words);
        const int32_t last = nfiles - 1;
        const std::string name = format::physical_name("a", last);
        const PhysicalFile f = load_physical_file(store, name);
        store.open(name, Access::write)->resize(f.pointer.varheader);
        remove_pointer(store, name, f.header.ntasks);
        RepairRequest request;
        if (copies) request.copy_to = "b";
        const RepairReport report = repair(store, "a", request, quiet);
        const RepairedFile& repaired = report.files.back();
        EXPECT_TRUE(repaired.guessed);
        EXPECT_EQ(repaired.guessed_ends, nfiles == 1 ? 5 : 3) << "every chunk";
        const Multifile m = load_multifile(store, copies ? "b" : "a");
        for (const PhysicalFile& file : m.files) {
          EXPECT_TRUE(file.header.guessed) << "file 0 says it of the set";
          ASSERT_TRUE(file.extension);
          EXPECT_EQ(file.extension->identity, m.files.front().extension->identity);
        }
        EXPECT_EQ(m.guessed_ends(), static_cast<uint64_t>(repaired.guessed_ends));
        const VerifyReport verified = verify(store, m.path, true, quiet);
        EXPECT_TRUE(verified.ok());
        EXPECT_FALSE(verified.files.front().notes.empty());
        EXPECT_TRUE(Reader(store, m.path, mode_of("r")).facts().guessed);
        EXPECT_TRUE(Reader(store, m.path, 1, mode_of("r")).facts().guessed);
      }
}

// File 0 of the set has no identity, so the repair marks it with the one of file 1. AddressSanitizer finds
// that the identity was read from a destroyed reader.
TEST(Repair, TakesTheIdentityOfAnotherFileOfTheSet) {
  MemoryStore store(4096, 4096);
  Program p;
  p.fsblksize = 4096;
  p.nfiles = 2;
  p.requests = {5000, 5000};
  p.steps = std::vector(2, std::vector<Step>(4, {Step::write, 3000}));
  write_in_parallel(store, "a", p, 0, "w,journal=off");
  std::optional<format::Identity> identity;
  for (const int32_t k : {0, 1}) {
    const std::string name = format::physical_name("a", k);
    const PhysicalFile f = load_physical_file(store, name);
    ASSERT_TRUE(f.extension);
    identity = f.extension->identity;
    store.open(name, Access::write)->resize(f.pointer.varheader);
    remove_pointer(store, name, f.header.ntasks);
  }
  store.open("a", Access::write)
      ->write_at(std::array<std::byte, format::extension_size>{}, format::extension_offset);
  EXPECT_TRUE(repair(store, "a", {}, quiet).files.front().guessed);
  const PhysicalFile lead = load_physical_file(store, "a");
  ASSERT_TRUE(lead.extension);
  EXPECT_EQ(lead.extension->identity, identity);
}

}  // namespace
}  // namespace sheaf::test::repair_guess_test
