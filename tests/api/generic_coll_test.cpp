// Tests collective calls of the generic interface over pthreads, with and without the callbacks that move
// data.
#include <gtest/gtest.h>

#include <barrier>

#include "api/api_fixture.hpp"
#include "comm/on_threads.hpp"
#include "support/moving_callbacks.hpp"

namespace sheaf::test::generic_coll_test {
namespace {

int only_sender_of_odd(void* cg) { return static_cast<PthreadEnd*>(cg)->rank % 2 ? 51 : 50; }
int none_of_task_2(void* cg) { return static_cast<PthreadEnd*>(cg)->rank == 2 ? 52 : 50; }

class GenericColl : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    failing_mover = -1;
    pieces_written = pieces_read = movers_called = 0;
    aid_ = pt_api();
  }
  void TearDown() override {
    EXPECT_EQ(sion_generic_free_api(aid_), 1);
    Api::TearDown();
  }

  void register_movers(int capability(void*) = pt_capability) {
    EXPECT_EQ(sion_generic_register_execute_and_scatter_cb(aid_, pt_execute_and_scatter), 1);
    EXPECT_EQ(sion_generic_register_gather_and_execute_cb(aid_, pt_gather_and_execute), 1);
    EXPECT_EQ(sion_generic_register_get_capability_cb(aid_, capability), 1);
  }

  struct GenericTask {
    PthreadEnd* end;
    int rank;
    int size;
    int files;
    std::barrier<>* meeting;

    int open(int aid, const std::string& name, const char* mode, sion_int64 chunk,
             sion_int32 block = 64) const {
      int number = rank % files, numfiles = files;
      const int lrank = rank / files, lsize = (size - number + files - 1) / files;
      return sion_generic_paropen(aid, name.c_str(), mode, &chunk, &block, end, rank, size, &number,
                                  &numfiles, &lrank, &lsize, nullptr, nullptr);
    }
  };

  static void on_tasks(int count, int files, const std::function<void(const GenericTask&)>& body) {
    const auto group = std::make_shared<PthreadGroup>(count);
    std::barrier meeting(count);
    on_threads(count, [&](int rank) {
      PthreadEnd end{group, rank};
      body({&end, rank, count, files, &meeting});
    });
  }

  // Writes the streams of all tasks in the same number of collective calls. The amounts differ between tasks,
  // and some calls have no bytes. The program synchronizes between the calls. In every fourth call, task 1
  // writes a part of its bytes individually.
  void write(const GenericTask& task, const std::string& name, const char* mode, int64_t piece,
             int calls) const {
    const int sid = task.open(aid_, name, mode, 2 * piece + 30);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    for (int call = 0; call < calls; ++call) {
      const auto data = content(task.rank, done(task, piece, call), bytes(task, piece, call));
      size_t alone = task.rank == 1 && call % 4 == 2 ? data.size() / 2 : 0;
      EXPECT_EQ(sion_fwrite(data.data(), 1, alone, sid), alone);
      EXPECT_EQ(sion_coll_fwrite(data.data() + alone, 1, data.size() - alone, sid), data.size() - alone)
          << sheaf_last_error();
      task.meeting->arrive_and_wait();
    }
    EXPECT_EQ(sion_generic_parclose(sid), 1) << sheaf_last_error();
  }
  static int64_t bytes(const GenericTask& task, int64_t piece, int call) {
    return call % task.size == task.rank ? 0 : piece * (1 + task.rank % task.files);
  }
  static int64_t done(const GenericTask& task, int64_t piece, int calls) {
    int64_t sum = 0;
    for (int call = 0; call < calls; ++call) sum += bytes(task, piece, call);
    return sum;
  }

  void read(const GenericTask& task, const std::string& name, const char* mode, int64_t piece,
            int calls) const {
    const int sid = task.open(aid_, name, mode, 0);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    for (int call = 0; call < calls; ++call) {
      const auto expected = content(task.rank, done(task, piece, call), bytes(task, piece, call));
      std::vector<std::byte> found(expected.size());
      EXPECT_EQ(sion_coll_fread(found.data(), 1, found.size(), sid), found.size()) << sheaf_last_error();
      EXPECT_EQ(found, expected);
      task.meeting->arrive_and_wait();
    }
    EXPECT_EQ(sion_feof(sid), 1);
    EXPECT_EQ(sion_generic_parclose(sid), 1);
  }

  void write_and_read() {
    for (const auto& [tasks, files] : {std::pair{1, 1}, {4, 1}, {5, 2}, {6, 3}})
      for (const auto& [piece, calls] : {std::pair<int64_t, int>{40, 9}, {5000, 60}, {200'000, 3}})
        for (const char* const mode :
             {"wb,collective,collsize=2", "wb,collective", "wb,collective,collsize=100"}) {
          SCOPED_TRACE(std::to_string(tasks) + " tasks, " + std::to_string(files) + " files, " +
                       std::to_string(piece) + " bytes, " + mode);
          const std::string name = path("set");
          on_tasks(tasks, files, [&, p = piece, c = calls](const GenericTask& task) {
            write(task, name, mode, p, c);
            for (const char* const reading : {"rb", "rb,collective=2", "rb,collective=auto"})
              read(task, name, reading, p, c);
          });
        }
  }

  int aid_ = -1;
};

TEST_F(GenericColl, WithoutCallbacksThatMoveDataEveryTaskTransfersItsOwn) { write_and_read(); }

TEST_F(GenericColl, WithoutCallbacksThatMoveDataThereIsAWarning) {
  sion_generic_register_execute_and_scatter_cb(
      aid_,
      pt_execute_and_scatter);  // one of the three callbacks is not enough
  const auto warnings_of = [&](const char* writing, const char* reading) {
    ::testing::internal::CaptureStderr();
    sheaf_print_errors(1);
    on_tasks(3, 1, [&](const GenericTask& task) {
      write(task, path("a"), writing, 100, 3);
      read(task, path("a"), reading, 100, 3);
    });
    sheaf_print_errors(0);
    const std::string text = ::testing::internal::GetCapturedStderr();
    size_t count = 0;
    for (size_t at = text.find("SION_ERROR_WARN"); at != std::string::npos;
         at = text.find("SION_ERROR_WARN", at + 1))
      ++count;
    EXPECT_EQ(text.find("gather_and_execute") != std::string::npos, count > 0) << text;
    return count;
  };
  EXPECT_EQ(warnings_of("wb,collective,collsize=3", "rb,collective=3"), 2u);
  const int sid = open(path("a"));
  ASSERT_GE(sid, 0);
  sion_int64 skip = 0;
  EXPECT_EQ(sion_get_locations(sid, nullptr, nullptr, &skip, nullptr, nullptr, nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(skip, 3 * 256) << "chunks of 230 bytes, each from a block of 64 bytes on";
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_EQ(warnings_of("wb", "rb"), 0u);
  EXPECT_EQ(movers_called, 0);
}

TEST_F(GenericColl, ThroughTheCallbacksThatMoveData) {
  register_movers();
  write_and_read();
  EXPECT_GT(pieces_written, 0);
  EXPECT_GT(pieces_read, 0);
}

TEST_F(GenericColl, OnlyCollectiveModesCallThem) {
  register_movers();
  on_tasks(4, 1, [&](const GenericTask& task) {
    write(task, path("a"), "wb", 100, 5);
    read(task, path("a"), "rb", 100, 5);
  });
  EXPECT_EQ(movers_called, 0);
}

TEST_F(GenericColl, TasksThatMayOnlySendCollectNothing) {
  register_movers(only_sender_of_odd);
  on_tasks(4, 1, [&](const GenericTask& task) {
    const int sid = task.open(aid_, path("a"), "wb,collective,collsize=1", 64);
    ASSERT_GE(sid, 0);
    const auto data = content(task.rank, 0, 200);
    EXPECT_EQ(sion_coll_fwrite(data.data(), 1, 200, sid), 200u);
    EXPECT_EQ(sion_generic_parclose(sid), 1);
  });
  EXPECT_GT(pieces_written, 0) << "with one task per collector nobody would send";
}

TEST_F(GenericColl, TasksOfNoCapabilityMoveTheirBytesThemselves) {
  register_movers(none_of_task_2);
  on_tasks(4, 1, [&](const GenericTask& task) {
    write(task, path("a"), "wb,collective,collsize=4", 300, 8);
    read(task, path("a"), "rb,collective=4", 300, 8);
  });
}

// If a callback that moves data fails on one task, a collector or a sender, the call must fail on all tasks.
// The close must fail as well, because no task repeats the call.
TEST_F(GenericColl, AFailingMoverIsAnErrorOfAll) {
  register_movers();
  for (const int failing : {0, 1, 3})
    for (const int64_t piece : {100, 400'000}) {
      on_tasks(4, 1, [&](const GenericTask& task) {
        const int sid = task.open(aid_, path("a"), "wb,collective,collsize=2", piece + 900);
        ASSERT_GE(sid, 0);
        task.meeting->arrive_and_wait();
        failing_mover = failing;
        const auto data = content(task.rank, 0, piece);
        const size_t written = sion_coll_fwrite(data.data(), 1, data.size(), sid);
        EXPECT_EQ(written, 0u);
        EXPECT_TRUE(last_error_has("gather_and_execute callback returned 5")) << sheaf_last_error();
        EXPECT_EQ(sion_generic_parclose(sid), 0);
        EXPECT_TRUE(last_error_has("has failed and was not repeated")) << sheaf_last_error();
        task.meeting->arrive_and_wait();
        failing_mover = -1;
        task.meeting->arrive_and_wait();
        write(task, path("b"), "wb,collective,collsize=2", 100, 6);
        const int reader = task.open(aid_, path("b"), "rb,collective=2", 0);
        ASSERT_GE(reader, 0);
        task.meeting->arrive_and_wait();
        failing_mover = failing;
        std::byte byte{};
        EXPECT_EQ(sion_coll_fread(&byte, 1, 1, reader), 0u);
        EXPECT_TRUE(last_error_has("execute_and_scatter callback returned 5")) << sheaf_last_error();
        task.meeting->arrive_and_wait();
        failing_mover = -1;
        task.meeting->arrive_and_wait();
        EXPECT_EQ(sion_coll_fread(&byte, 1, 1, reader), 1u) << "the next call works";
        EXPECT_EQ(sion_generic_parclose(reader), 1);
      });
    }
}

}  // namespace
}  // namespace sheaf::test::generic_coll_test
