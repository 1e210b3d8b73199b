// The commit of a generation (multifile/create/commit). Wherever the program is killed, and whenever readers
// open the file, they must find one complete generation. The next writer must finish the commit.
#include <gtest/gtest.h>

#include "multifile/create/commit.hpp"
#include "multifile/create/new_file.hpp"
#include "multifile/recover/leftovers.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/tools/verify.hpp"
#include "support/crash_points.hpp"
#include "support/generations.hpp"

namespace sheaf::test::commit_test {

using namespace multifile;

namespace {

WorkProgress quiet;
constexpr int old_generation = 1, new_generation = 2, later_generation = 3;

// Number of files of the old generation (0: no old generation) and of the new one.
struct Sizes {
  int old = 0;
  int now = 0;
};
std::vector<Sizes> all_sizes() {
  std::vector<Sizes> sizes;
  for (const int old : {0, 1, 2, 3, 5})
    for (const int now : {1, 2, 3, 5}) sizes.push_back({old, now});
  return sizes;
}

// Records the changes of a commit, beginning when the new generation is complete under its temporary name.
class Commit {
 public:
  explicit Commit(const Sizes& sizes, const std::string& words = "w", bool durable = false) {
    if (sizes.old > 0) write_generation(memory_, "a", old_generation, sizes.old, words);
    temporary_ = new_temporary_name(memory_, "a");
    write_generation(memory_, temporary_, new_generation, sizes.now);
    for (int k = 0; k < sizes.now; ++k) {
      // An open for writing makes the tape record the file and its contents.
      tape_.open(format::physical_name(temporary_, k), Access::write)->resize(file_size(temporary_, k));
      if (k < sizes.old) tape_.open(format::physical_name("a", k), Access::write)->resize(file_size("a", k));
    }
    for (int k = sizes.now; k < sizes.old; ++k)
      tape_.open(format::physical_name("a", k), Access::write)->resize(file_size("a", k));
    begin_ = tape_.length();
    commit_set(tape_, temporary_, "a", sizes.now, durable);
  }

  size_t begin() const { return begin_; }
  size_t end() const { return tape_.length(); }
  RecordingStore& tape() { return tape_; }
  const std::string& temporary() const { return temporary_; }

 private:
  int64_t file_size(const std::string& name, int number) {
    return memory_.status(format::physical_name(name, number)).size;
  }

  MemoryStore memory_;
  RecordingStore tape_{memory_};
  std::string temporary_;
  size_t begin_ = 0;
};

// Checks the files as they are after each number of changes.
void at_every_point(Commit& commit, const std::string& about,
                    const std::function<void(MemoryStore&)>& check) {
  for (size_t prefix = commit.begin(); prefix <= commit.end(); ++prefix) {
    MemoryStore state;
    commit.tape().replay(prefix, state);
    try {
      check(state);
    } catch (const std::exception& e) {
      FAIL() << e.what() << "\n"
             << about << ", after " << prefix - commit.begin() << " of " << commit.end() - commit.begin()
             << " changes, the last: "
             << (prefix > commit.begin() ? commit.tape().describe(prefix - 1) : "none");
    }
  }
}

std::string text_of(const Sizes& sizes) {
  return std::to_string(sizes.now) + " files replace " + std::to_string(sizes.old);
}

TEST(Commit, AtEveryPointAllReadersFindOneGeneration) {
  for (const std::string words : {"w", "w,journal=off,checksums=off"})
    for (const Sizes& sizes : all_sizes()) {
      Commit commit(sizes, words);
      int last = sizes.old > 0 ? old_generation : 0;
      at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
        if (!state.status("a").exists) return require(last == 0, "there is nothing under the name");
        const int found = generation_of(state, "a");
        require(found >= last, "the old generation is back");
        last = found;
        for (const int other :
             {by_task(state, "a"), by_group(state, "a"), by_group(state, "a", "r,collective"),
              by_mapped(state, "a"), by_group(state, "a", "r,checksums=off")})
          require(other == found, "readers differ");
        require(verify(state, "a", true, quiet).ok(), "verify has findings");
      });
      EXPECT_EQ(last, new_generation) << text_of(sizes);
    }
}

TEST(Commit, AtEveryPointAPlainReaderFindsOneGenerationOrAnError) {
  for (const std::string words : {"w", "w,journal=off,checksums=off"})
    for (const Sizes& sizes : all_sizes()) {
      Commit commit(sizes, words);
      int errors = 0;
      at_every_point(commit, text_of(sizes),
                     [&](MemoryStore& state) { errors += !plain_reader_opens(state, "a"); });
      EXPECT_EQ(errors > 0, sizes.now > 1 || sizes.old == 0) << text_of(sizes);
    }
}

// The program is killed in the commit, and the next writer is killed while it finishes the commit.
TEST(Commit, IsFinishedByTheNextWriterWhateverKillsThat) {
  for (const Sizes& sizes : all_sizes()) {
    Commit commit(sizes);
    at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
      if (!find_commit_record(state, "a")) return;
      RecordingStore tape(state);
      for (int k = 0; k < sizes.now; ++k)
        for (const std::string& name : {commit.temporary(), std::string("a")})
          if (const auto file = format::physical_name(name, k); state.status(file).exists)
            tape.open(file, Access::write)->resize(state.status(file).size);
      const size_t begin = tape.length();
      require(finish_commit(tape, "a"), "there was something to finish");
      for (size_t prefix = begin; prefix <= tape.length(); ++prefix) {
        MemoryStore again;
        tape.replay(prefix, again);
        require(generation_of(again, "a") == new_generation, "not the new generation");
        finish_commit(again, "a");
        require(!find_commit_record(again, "a") && plain_reader_opens(again, "a"), "it is not finished");
        require(!again.status(commit.temporary()).exists, "a temporary file is left");
        require(generation_of(again, "a") == new_generation, "finished, it is not the new generation");
      }
    });
  }
}

TEST(Commit, OfALaterGenerationFinishesTheOneItFinds) {
  for (const Sizes& sizes : all_sizes())
    for (const int files : {1, 2, 3}) {
      Commit commit(sizes);
      at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
        const bool begun = find_commit_record(state, "a").has_value();
        const std::string temporary = new_temporary_name(state, "a");
        write_generation(state, temporary, later_generation, files);
        commit_set(state, temporary, "a", files, false);
        require(generation_of(state, "a") == later_generation, "not the later generation");
        require(plain_reader_opens(state, "a"), "not under plain names");
        require(!begun || !state.status(commit.temporary()).exists, "the generation before was not finished");
      });
    }
}

TEST(Commit, IsFinishedByAppendingAndRepairing) {
  for (const Sizes& sizes : {Sizes{0, 2}, Sizes{3, 2}, Sizes{1, 5}}) {
    Commit commit(sizes);
    at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
      if (!find_commit_record(state, "a")) return;
      RepairRequest only_look;
      only_look.dry_run = true;
      require(repair(state, "a", only_look, quiet).was_complete(), "repair does not find it complete");
      require(find_commit_record(state, "a").has_value(), "a dry run has changed it");
      repair(state, "a", {.copy_to = "copy"}, quiet);
      require(generation_of(state, "copy") == new_generation, "the copy is another one");
      run_fibers(fibers(2), [&](Comm& comm) {
        const std::vector<int64_t> mine =
            comm.rank() == 0 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{2, 3, 4};
        Writer writer(state, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0}, mode_of("append"));
        writer.close();
      });
      require(generation_of(state, "a") == new_generation && plain_reader_opens(state, "a"), "append");
    });
    at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
      if (!find_commit_record(state, "a")) return;
      repair(state, "a", {}, quiet);
      require(generation_of(state, "a") == new_generation && plain_reader_opens(state, "a"), "repair");
    });
  }
}

TEST(Commit, OfAnOpenThatEmptiesTheNameIsDiscarded) {
  for (const Sizes& sizes : {Sizes{0, 2}, Sizes{3, 2}, Sizes{1, 5}})
    for (const bool mapped : {false, true}) {
      Commit commit(sizes);
      at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
        if (!find_commit_record(state, "a")) return;
        write_generation(state, "a", later_generation, 2, "w", mapped);
        require(generation_of(state, "a") == later_generation, "not what was written");
        for (const std::string& name : state.paths())
          require(name.find("sheaf-tmp") == name.npos || name.ends_with(".commit"), name + " is left");
      });
    }
}

// An open that takes over a name must discard the commit record as well (multifile/journal/ownership).
TEST(Commit, OfARecordThatIsSetAsideIsDiscardedWithIt) {
  for (const Sizes& sizes : {Sizes{0, 2}, Sizes{3, 2}}) {
    Commit commit(sizes);
    at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
      if (!find_commit_record(state, "a")) return;
      NewFile made = create_file(state, "a", "a", {}, OldFile::set_aside);
      require(made.existed && made.file->status().size == 0, "no new file was made");
      require(find_commit_record(state, made.aside).has_value(), "the record is not aside");
      state.rename(made.aside, made.replaced);
      require(generation_of(state, "a") == new_generation, "not what it was after an open that failed");
      made = create_file(state, "a", "a", {}, OldFile::set_aside);
      remove_set_aside(state, made.replaced, made.aside);
      for (const std::string& name : state.paths())
        require(name.find("sheaf-tmp") == name.npos || name.ends_with(".commit"), name + " is left");
    });
  }
}

TEST(Commit, LeavesNoFileOfTheReplacedGeneration) {
  for (const Sizes& sizes : all_sizes()) {
    Commit commit(sizes);
    MemoryStore state;
    commit.tape().replay(commit.end(), state);
    std::vector<std::string> names{"a"};
    for (int k = 1; k < sizes.now; ++k) names.push_back(format::physical_name("a", k));
    EXPECT_EQ(state.paths(), names) << text_of(sizes);
  }
}

TEST(Commit, RemovesNoFileOfAnotherGeneration) {
  MemoryStore store;
  write_generation(store, "a", old_generation, 5);
  write_generation(store, "b", old_generation, 5);
  store.set_contents("a.000004", store.contents("b.000004"));
  const std::string temporary = new_temporary_name(store, "a");
  write_generation(store, temporary, new_generation, 2);
  commit_set(store, temporary, "a", 2, false);
  EXPECT_TRUE(store.status("a.000004").exists);
  EXPECT_FALSE(store.status("a.000003").exists);
}

TEST(Commit, IsListedAndFinishedAsALeftoverAndNotRemoved) {
  for (const Sizes& sizes : {Sizes{0, 3}, Sizes{5, 2}}) {
    Commit commit(sizes);
    at_every_point(commit, text_of(sizes), [&](MemoryStore& state) {
      if (!state.status(commit.temporary()).exists) return;
      const auto found = find_leftovers(state, "", state.paths());
      require(found.size() == 1 && found[0].state == LeftoverState::complete, "it is not listed as complete");
      require(found[0].committed == find_commit_record(state, "a").has_value(), "wrongly committed or not");
      if (found[0].committed)
        require(code_of([&] { remove_leftover(state, found[0]); }) == Code::invalid_argument,
                "it is removed");
      finish_leftover(state, found[0]);
      require(generation_of(state, "a") == new_generation && plain_reader_opens(state, "a"), "not finished");
    });
  }
}

// With `durable`, readers must find one generation even if any unsynced change is lost.
TEST(Commit, SurvivesLossesOfPower) {
  for (const Sizes& sizes : {Sizes{1, 1}, Sizes{2, 1}, Sizes{0, 2}, Sizes{1, 3}, Sizes{3, 2}, Sizes{5, 5}}) {
    Commit commit(sizes, "w,durable", true);
    for (size_t prefix = commit.begin(); prefix <= commit.end(); ++prefix)
      for (uint64_t loss = 0; loss < 20; ++loss) {
        MemoryStore state;
        commit.tape().replay_losing_unsynced(prefix, 100 * prefix + loss, state);
        if (sizes.old == 0 && !state.status("a").exists && prefix < commit.end()) continue;
        const auto lost = attempt([&] {
          const int found = generation_of(state, "a");
          require(prefix < commit.end() || found == new_generation, "the commit had returned");
        });
        EXPECT_FALSE(lost) << lost->what() << "\n"
                           << text_of(sizes) << ", after " << prefix << " of " << commit.end();
      }
  }
}

TEST(Commit, NeedsNamesThatHaveRoomForTheIdentity) {
  const std::string longest(format::max_extended_name, 'x');
  EXPECT_NO_THROW(require_committable(longest, 5));
  EXPECT_NO_THROW(require_committable(longest + "x", 1));
  EXPECT_EQ(code_of([&] { require_committable(longest + "x", 2); }), Code::invalid_argument);
  EXPECT_TRUE(mode_of("w,atomic,journal=off,checksums=off").extension());
}

TEST(Commit, OfARecordWithoutItsGenerationIsDamageThatTheNextCommitReplaces) {
  MemoryStore store;
  const format::CommitRecord record{.nfiles = 2, .identity = new_identity(), .number = 7};
  store.set_contents("a", format::encode(record));
  EXPECT_EQ(code_of([&] { generation_of(store, "a"); }), Code::damaged);
  EXPECT_EQ(code_of([&] { finish_commit(store, "a"); }), Code::damaged);
  const std::string temporary = new_temporary_name(store, "a");
  write_generation(store, temporary, new_generation, 2);
  commit_set(store, temporary, "a", 2, false);
  EXPECT_EQ(generation_of(store, "a"), new_generation);
}

}  // namespace
}  // namespace sheaf::test::commit_test
