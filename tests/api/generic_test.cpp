// Tests the generic calls with callbacks that are implemented with pthreads.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "api/api_fixture.hpp"
#include "comm/on_threads.hpp"
#include "support/thread_callbacks.hpp"

namespace sheaf::test::generic_test {
namespace {

int64_t length_of(int task) { return 300 + 70 * task; }

char* name_by_letter(const char* fname, int number) {
  const std::string name = number == 0 ? fname : std::string(fname) + "-" + static_cast<char>('A' + number);
  return strdup(name.c_str());
}

int gather_and_execute(const void*, sion_int64*, int, sion_int64, void*, int, int, int, int,
                       int(const void*, sion_int64*, int)) {
  return 0;
}
int execute_and_scatter(void*, sion_int64*, int, sion_int64, void*, int, int, int, int,
                        int(void*, sion_int64*, int)) {
  return 0;
}

char* no_name(const char* fname, int number) { return number == 1 ? nullptr : strdup(fname); }

class Generic : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    char name[] = "pthreads";
    aid_ = sion_generic_create_api(name);
    EXPECT_GE(aid_, 0);
    EXPECT_EQ(sion_generic_register_create_local_commgroup_cb(aid_, pt_create), 1);
    EXPECT_EQ(sion_generic_register_free_local_commgroup_cb(aid_, pt_free), 1);
    EXPECT_EQ(sion_generic_register_barrier_cb(aid_, pt_barrier), 1);
    EXPECT_EQ(sion_generic_register_bcastr_cb(aid_, pt_bcastr), 1);
    EXPECT_EQ(sion_generic_register_gatherr_cb(aid_, pt_gatherr), 1);
    EXPECT_EQ(sion_generic_register_gathervr_cb(aid_, pt_gathervr), 1);
    EXPECT_EQ(sion_generic_register_scatterr_cb(aid_, pt_scatterr), 1);
    EXPECT_EQ(sion_generic_register_scattervr_cb(aid_, pt_scattervr), 1);
  }
  void TearDown() override {
    EXPECT_EQ(sion_generic_free_api(aid_), 1);
    EXPECT_EQ(sion_generic_free_api(aid_), 0);
    Api::TearDown();
  }

  // Arguments of one task. By default, tasks are distributed round robin over the files.
  struct TaskArguments {
    PthreadEnd* end = nullptr;
    int rank = 0;
    int size = 0;
    int filenumber = 0;
    int numfiles = 1;
    int lrank = 0;
    int lsize = 0;
    sion_int64 chunk = 100;
    sion_int32 block = 64;
    FILE** fileptr = nullptr;
    char** newname = nullptr;

    void place(int files) {
      numfiles = files;
      filenumber = rank % files;
      lrank = rank / files;
      lsize = (size - filenumber + files - 1) / files;
    }
    int open(int aid, const std::string& file, const char* mode) {
      return sion_generic_paropen(aid, file.c_str(), mode, &chunk, &block, end, rank, size, &filenumber,
                                  &numfiles, &lrank, &lsize, fileptr, newname);
    }
  };

  static void on_tasks(int count, const std::function<void(TaskArguments&)>& body) {
    const auto group = std::make_shared<PthreadGroup>(count);
    on_threads(count, [&](int rank) {
      PthreadEnd end{group, rank};
      TaskArguments task{&end, rank, count};
      body(task);
    });
  }

  void write(TaskArguments& task, const std::string& file, int files, const char* mode = "wb") {
    task.place(files);
    const int sid = task.open(aid_, file, mode);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    const auto data = content(task.rank, 0, length_of(task.rank));
    EXPECT_EQ(sion_fwrite(data.data(), 1, data.size(), sid), data.size());
    EXPECT_EQ(sion_generic_parclose(sid), 1) << sheaf_last_error();
  }

  void read(TaskArguments& task, const std::string& file, int files) {
    task.numfiles = task.filenumber = -1;
    const int sid = task.open(aid_, file, "rb");
    ASSERT_GE(sid, 0) << sheaf_last_error();
    EXPECT_EQ(task.numfiles, files);
    EXPECT_EQ(task.filenumber, task.rank % files);
    std::vector<std::byte> found(static_cast<size_t>(length_of(task.rank)) + 5);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_EQ(found, content(task.rank, 0, length_of(task.rank)));
    EXPECT_EQ(sion_generic_parclose(sid), 1);
  }

  int aid_ = -1;
};

TEST_F(Generic, WhatTasksWriteTheyRead) {
  for (const auto& [tasks, files] : {std::pair{1, 1}, {4, 1}, {4, 2}, {5, 3}, {3, 3}}) {
    const std::string file = path("f" + std::to_string(tasks) + std::to_string(files));
    on_tasks(tasks, [&, n = files](TaskArguments& task) {
      write(task, file, n, n == 2 ? "wb,posix" : "wb");
      read(task, file, n);
      int freed = 0;
      task.end->freed = &freed;
      read(task, file, n);
      EXPECT_EQ(freed, 1) << "the local group is freed at close";
      EXPECT_GT(task.end->count["create"], 0);
      for (const char* callback : {"barrier", "bcastr", "gatherr", "scatterr"})
        EXPECT_EQ(task.end->count[callback] > 0, tasks > 1) << callback << ": a group of one calls nobody";
    });
    const int sid = open(file);
    for (int task = 0; task < tasks; ++task) {
      EXPECT_EQ(sion_seek(sid, task, 0, 0), 1);
      std::vector<std::byte> found(static_cast<size_t>(length_of(task)));
      EXPECT_EQ(sion_fread(found.data(), 1, found.size(), sid), found.size());
      EXPECT_EQ(found, content(task, 0, length_of(task)));
    }
    EXPECT_EQ(sion_close(sid), 1);
  }
}

TEST_F(Generic, NamesOfFilesCanBeTheProgramsOwn) {
  EXPECT_EQ(sion_generic_register_get_multi_filename_cb(aid_, name_by_letter), 0);
  EXPECT_EQ(sion_generic_register_get_multi_filename_cb(aid_, name_by_letter), -1) << "set already";
  on_tasks(5, [&](TaskArguments& task) {
    char* name = nullptr;
    task.newname = &name;
    task.place(3);
    const int sid = task.open(aid_, path("set"), "wb");
    ASSERT_GE(sid, 0) << sheaf_last_error();
    const std::array<std::string, 3> names{path("set"), path("set-B"), path("set-C")};
    EXPECT_EQ(name, names[static_cast<size_t>(task.rank % 3)]);
    std::free(name);
    EXPECT_EQ(sion_generic_parreinit(sid, 200), 1) << sheaf_last_error();
    const auto data = content(task.rank, 0, length_of(task.rank));
    EXPECT_EQ(sion_fwrite(data.data(), 1, data.size(), sid), data.size());
    EXPECT_EQ(sion_generic_parclose(sid), 1) << sheaf_last_error();
    task.newname = nullptr;
    read(task, path("set"), 3);
    EXPECT_EQ(task.chunk, 256);
  });
  EXPECT_TRUE(std::filesystem::exists(path("set-B")));
  EXPECT_FALSE(std::filesystem::exists(path("set.000001")));
}

TEST_F(Generic, ANameThatCannotBeMadeIsAnErrorOfAll) {
  EXPECT_EQ(sion_generic_register_get_multi_filename_cb(aid_, no_name), 0);
  on_tasks(4, [&](TaskArguments& task) {
    task.place(2);
    EXPECT_EQ(task.open(aid_, path("set"), "wb"), -1);
  });
  EXPECT_FALSE(std::filesystem::exists(path("set")));
}

TEST_F(Generic, AFailingCallbackIsAnErrorOfAllAndHangsNobody) {
  on_tasks(4, [&](TaskArguments& task) { write(task, path("there"), 2); });
  for (const char* mode : {"wb", "rb"})
    for (int failing = 0; failing < 4; failing += 3)
      for (int at = 0; at < 150; at += at < 30 ? 1 : 7)
        on_tasks(4, [&](TaskArguments& task) {
          task.place(2);
          if (task.rank == failing) task.end->fail_at = at;
          const int sid = task.open(aid_, path(*mode == 'w' ? "written" : "there"), mode);
          if (sid < 0) return;
          const int closed = sion_generic_parclose(sid);
          if (task.end->fail_at >= 0 && task.end->calls > at + 8) {
            EXPECT_EQ(closed, 0) << "told, at the latest in the next round";
          }
        });
}

TEST_F(Generic, BadPlacementsAreRefusedByAll) {
  const auto expect_refusal = [&](const std::function<void(TaskArguments&)>& spoil) {
    on_tasks(4, [&](TaskArguments& task) {
      task.place(2);
      spoil(task);
      EXPECT_EQ(task.open(aid_, path("bad"), "wb"), -1);
    });
    EXPECT_FALSE(std::filesystem::exists(path("bad")));
  };
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 1) t.lrank = -1;
  });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 1) t.lrank = 2;
  });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 3) t.lrank = 0;
  });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 3) t.lsize = 3;
  });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 0) t.numfiles = 3;
  });
  expect_refusal([](TaskArguments& t) { t.numfiles = 3; });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 2) t.filenumber = 2;
  });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 2) t.filenumber = -1;
  });
  expect_refusal([](TaskArguments& t) {
    if (t.rank == 2) t.chunk = -1;
  });
  on_tasks(3, [&](TaskArguments& task) {
    task.place(1);
    EXPECT_EQ(sion_generic_paropen(aid_, path("bad").c_str(), "wb", &task.chunk, &task.block, task.end,
                                   task.rank, 3, &task.filenumber, &task.numfiles,
                                   task.rank == 1 ? nullptr : &task.lrank, &task.lsize, nullptr, nullptr),
              -1)
        << "no lrank on one task";
    EXPECT_EQ(task.open(aid_, path("missing"), "rb"), -1);
  });
}

TEST_F(Generic, BadApisAreRefused) {
  PthreadEnd end{std::make_shared<PthreadGroup>(1), 0};
  TaskArguments task{&end, 0, 1, 0, 1, 0, 1};
  EXPECT_EQ(task.open(-1, path("bad"), "wb"), -1);
  EXPECT_EQ(task.open(aid_ + 1, path("bad"), "wb"), -1);
  EXPECT_EQ(sion_generic_create_api(nullptr), -1);
  char name[] = "incomplete";
  const int other = sion_generic_create_api(name);
  EXPECT_NE(other, aid_);
  EXPECT_EQ(sion_generic_register_barrier_cb(other, pt_barrier), 1);
  EXPECT_EQ(sion_generic_register_barrier_cb(other, pt_barrier), 0) << "set already";
  EXPECT_EQ(sion_generic_register_bcastr_cb(other, nullptr), 0);
  EXPECT_EQ(sion_generic_register_get_capability_cb(other, pt_barrier), 1);
  EXPECT_EQ(sion_generic_register_execute_and_scatter_cb(other, execute_and_scatter), 1);
  EXPECT_EQ(sion_generic_register_execute_and_scatter_cb(other, execute_and_scatter), 0);
  EXPECT_EQ(sion_generic_register_gather_and_execute_cb(other, gather_and_execute), 1);
  EXPECT_EQ(sion_generic_register_gather_and_execute_cb(-1, gather_and_execute), 0);
  EXPECT_EQ(task.open(other, path("bad"), "wb"), -1);
  EXPECT_TRUE(last_error_has("lacks the callbacks create_local_commgroup, free_local_commgroup, bcastr,"))
      << sheaf_last_error();
  EXPECT_EQ(sion_generic_free_api(other), 1);
  EXPECT_EQ(sion_generic_register_barrier_cb(other, pt_barrier), 0);
  EXPECT_EQ(sion_generic_register_get_multi_filename_cb(other, no_name), -1);
  task.rank = 1;
  EXPECT_EQ(task.open(aid_, path("bad"), "wb"), -1) << "rank outside of the group";
  EXPECT_EQ(sion_generic_parclose(-1), -1);
  EXPECT_EQ(sion_generic_parclose(aid_), -1) << "an API is no multifile";
  EXPECT_EQ(sion_generic_parreinit(-1, 10), -1);
}

}  // namespace
}  // namespace sheaf::test::generic_test
