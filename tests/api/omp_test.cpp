// Tests the OpenMP calls, in which each thread of a team has a stream.
#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "api/api_fixture.hpp"
#include "sion_omp.h"

namespace sheaf::test::omp_test {
namespace {

int64_t length_of(int task) { return 500 + 130 * task; }

class OpenMP : public Api {
 protected:
  void SetUp() override {
    omp_set_dynamic(0);
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(8)
    { sheaf_last_error(); }  // creates the runtime's descriptors and threads before the count
    Api::SetUp();
  }

  // Writes one thread's part of `file`: the content of task shift + thread.
  static void write(const std::string& file, int shift, const char* mode = "wb") {
    const int thread = omp_get_thread_num();
    sion_int64 chunk = 200 + thread;
    sion_int32 block = 64;
    int rank = -7;
    const int sid = sion_paropen_omp(file.c_str(), mode, &chunk, &block, &rank, nullptr, nullptr);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    EXPECT_EQ(rank, thread);
    const auto data = content(shift + thread, 0, length_of(thread));
    for (size_t at = 0; at < data.size(); at += 50)
      EXPECT_EQ(sion_fwrite(&data[at], 1, std::min<size_t>(50, data.size() - at), sid),
                std::min<size_t>(50, data.size() - at));
    EXPECT_EQ(sion_parclose_omp(sid), 1) << sheaf_last_error();
  }

  static void read(const std::string& file, int shift, const char* mode = "rb") {
    const int thread = omp_get_thread_num();
    sion_int64 chunk = 0;
    sion_int32 block = 0;
    int rank = -7;
    const int sid = sion_paropen_omp(file.c_str(), mode, &chunk, &block, &rank, nullptr, nullptr);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    EXPECT_EQ(rank, -7) << "reading does not touch it";
    EXPECT_EQ(block, 64);
    std::vector<std::byte> found(static_cast<size_t>(length_of(thread)) + 9);
    const size_t count = sion_fread(found.data(), 1, found.size(), sid);
    found.resize(count);
    EXPECT_EQ(found, content(shift + thread, 0, length_of(thread)));
    EXPECT_EQ(sion_parclose_omp(sid), 1) << sheaf_last_error();
  }

  // Opens `file` for writing on a team of `threads` threads. Returns the handle of each thread.
  static std::vector<int> open_all(const std::string& file, int threads, const char* mode = "wb") {
    std::vector<int> sids(static_cast<size_t>(threads), -9);
#pragma omp parallel num_threads(threads)
    {
      sion_int64 chunk = 100;
      sion_int32 block = 64;
      int rank = 0;
      sids[static_cast<size_t>(omp_get_thread_num())] =
          sion_paropen_omp(file.c_str(), mode, &chunk, &block, &rank, nullptr, nullptr);
    }
    return sids;
  }
  static std::vector<int> close_all(const std::vector<int>& sids, int threads) {
    std::vector<int> results(static_cast<size_t>(threads), -9);
#pragma omp parallel num_threads(threads)
    {
      const auto thread = static_cast<size_t>(omp_get_thread_num());
      results[thread] = sion_parclose_omp(thread < sids.size() ? sids[thread] : -1);
    }
    return results;
  }
};

TEST_F(OpenMP, WhatEachThreadWritesItReads) {
  for (const char* mode : {"wb", "wb,posix"})
    for (const int threads : {1, 2, 4, 7}) {
      const std::string file = path("team" + std::to_string(threads));
#pragma omp parallel num_threads(threads)
      write(file, 0, mode);
#pragma omp parallel num_threads(threads)
      read(file, 0);
      const int sid = open(file);
      ASSERT_GE(sid, 0);
      for (int task = 0; task < threads; ++task) {
        EXPECT_EQ(sion_seek(sid, task, 0, 0), 1);
        std::vector<std::byte> found(static_cast<size_t>(length_of(task)));
        EXPECT_EQ(sion_fread(found.data(), 1, found.size(), sid), found.size());
        EXPECT_EQ(found, content(task, 0, length_of(task)));
      }
      EXPECT_EQ(sion_close(sid), 1);
    }
}

TEST_F(OpenMP, OutsideAParallelRegionIsATeamOfOne) {
  write(path("a"), 0);
  read(path("a"), 0);
}

TEST_F(OpenMP, ThreadsShareOneDescriptor) {
  const long before = open_descriptors();
  const auto sids = open_all(path("a"), 5);
  for (int tries = 0; tries < 2000 && open_descriptors() < before + 2; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(open_descriptors(), before + 2) << "that of the file, and of its lease";
  EXPECT_EQ(close_all(sids, 5), std::vector<int>(5, 1));
}

TEST_F(OpenMP, EachThreadHasAStreamOfItsOwn) {
  const std::string file = path("a");
#pragma omp parallel num_threads(3)
  {
    const int thread = omp_get_thread_num();
    sion_int64 chunk = 1000;
    sion_int32 block = 64;
    int rank = 0;
    FILE* stream = nullptr;
    char* name = nullptr;
    const int sid = sion_paropen_omp(file.c_str(), "wb", &chunk, &block, &rank, &stream, &name);
    EXPECT_GE(sid, 0);
    EXPECT_EQ(name, file);
    std::free(name);
    const auto data = content(thread, 0, length_of(thread));
    EXPECT_EQ(std::fwrite(data.data(), 1, data.size(), stream), data.size());
    EXPECT_EQ(sion_parclose_omp(sid), 1);
  }
#pragma omp parallel num_threads(3)
  read(file, 0);
}

// Threads print to a FILE* on the physical file, or to one that writes through the library, beyond their
// chunks. If the close succeeds, no byte may be missing.
TEST_F(OpenMP, ThreadsPrintBeyondTheirChunks) {
  const std::string file = path("a");
  for (const std::string mode : {"wb,fileptr=stream", "wb"}) {
    std::array<int, 3> closed{};
#pragma omp parallel num_threads(3)
    {
      const int thread = omp_get_thread_num();
      sion_int64 chunk = 64;
      sion_int32 block = 64;
      int rank = 0;
      FILE* stream = nullptr;
      const int sid = sion_paropen_omp(file.c_str(), mode.c_str(), &chunk, &block, &rank, &stream, nullptr);
      const auto data = content(thread, 0, length_of(thread));
      EXPECT_EQ(std::fwrite(data.data(), 1, data.size(), stream), data.size());
      closed[static_cast<size_t>(thread)] = sion_parclose_omp(sid);
    }
    EXPECT_EQ(closed, (std::array<int, 3>{closed[0], closed[0], closed[0]}));
    EXPECT_TRUE(closed[0] == 1 || mode == "wb");
    if (closed[0] != 1) continue;
#pragma omp parallel num_threads(3)
    read(file, 0);
  }
}

TEST_F(OpenMP, TwoTeamsAtOnceDoNotMix) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> masters;
    for (int team = 0; team < 2; ++team)
      masters.emplace_back([&, team] {
        const std::string file = path("team" + std::to_string(team));
        const int threads = 2 + team;
#pragma omp parallel num_threads(threads)
        {
          write(file, 10 * team);
          read(file, 10 * team);
        }
      });
    for (std::thread& master : masters) master.join();
  }
}

TEST_F(OpenMP, NestedTeamsDoNotMix) {
#pragma omp parallel num_threads(2)
  {
    const int outer = omp_get_thread_num();
    write(path("outer"), 0);
    const std::string file = path("inner" + std::to_string(outer));
#pragma omp parallel num_threads(2)
    {
      write(file, 20 * outer);
      read(file, 20 * outer);
    }
    read(path("outer"), 0);
  }
}

TEST_F(OpenMP, SeveralMultifilesAreOpenAtOnce) {
#pragma omp parallel num_threads(3)
  {
    const int thread = omp_get_thread_num();
    std::array<int, 4> sids{};
    for (size_t f = 0; f < sids.size(); ++f) {
      sion_int64 chunk = 100;
      sion_int32 block = 64;
      int rank = 0;
      sids[f] = sion_paropen_omp(path("f" + std::to_string(f)).c_str(), "wb", &chunk, &block, &rank, nullptr,
                                 nullptr);
      EXPECT_GE(sids[f], 0);
    }
    // Every thread also writes a serial multifile of its own.
    const int own = create(path("own" + std::to_string(thread)), {100});
    for (size_t i = 0; i < 100; ++i) {
      const auto byte = content(thread, static_cast<int64_t>(i));
      for (const int sid : sids) EXPECT_EQ(sion_fwrite(&byte, 1, 1, sid), 1u);
      EXPECT_EQ(sion_fwrite(&byte, 1, 1, own), 1u);
    }
    EXPECT_EQ(sion_close(own), 1);
    for (size_t f = sids.size(); f-- > 0;) EXPECT_EQ(sion_parclose_omp(sids[f]), 1);
  }
  for (const char* name : {"f0", "f3", "own1"}) {
    const int sid = open(path(name));
    std::vector<std::byte> found(100);
    EXPECT_EQ(sion_seek(sid, name[0] == 'f' ? 1 : 0, 0, 0), 1);
    EXPECT_EQ(sion_fread(found.data(), 1, 100, sid), 100u);
    EXPECT_EQ(found, content(1, 0, 100));
    EXPECT_EQ(sion_close(sid), 1);
  }
}

TEST_F(OpenMP, AnErrorOfOneThreadIsTheOutcomeOfAll) {
  const std::string file = path("a");
#pragma omp parallel num_threads(4)
  {
    const int thread = omp_get_thread_num();
    sion_int64 chunk = thread == 2 ? -1 : 100;
    sion_int32 block = 64;
    int rank = -7;
    FILE* stream = stdout;
    const auto open_with = [&](const char* name, const char* mode, sion_int64* size) {
      return sion_paropen_omp(name, mode, size, &block, &rank, &stream, nullptr);
    };
    EXPECT_EQ(open_with(file.c_str(), "wb", &chunk), -1) << "negative chunk size";
    EXPECT_TRUE(last_error_has("chunk size -1 of task 2")) << sheaf_last_error();
    chunk = 100;
    EXPECT_EQ(open_with(thread == 1 ? nullptr : file.c_str(), "wb", &chunk), -1) << "no name";
    EXPECT_EQ(open_with(file.c_str(), "wb", thread == 3 ? nullptr : &chunk), -1) << "no chunk size";
    EXPECT_EQ(open_with(file.c_str(), thread == 0 ? "rb" : "wb", &chunk), -1) << "another mode";
    EXPECT_EQ(open_with(path(thread == 3 ? "b" : "c").c_str(), "wb", &chunk), -1) << "another name";
    EXPECT_EQ(open_with(file.c_str(), "", &chunk), -1) << "no mode";
    EXPECT_EQ(open_with(path("no/such").c_str(), "wb", &chunk), -1) << "no directory";
    EXPECT_EQ(open_with(path("missing").c_str(), "rb", &chunk), -1) << "no file";
    block = thread == 1 ? 128 : 64;
    EXPECT_EQ(open_with(file.c_str(), "wb", &chunk), -1) << "another block size";
    EXPECT_EQ(rank, -7);
    EXPECT_EQ(stream, stdout) << "not touched by a failing open";
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(OpenMP, AnotherNumberOfThreadsThanWroteIsRefused) {
#pragma omp parallel num_threads(3)
  write(path("a"), 0);
  for (const int threads : {1, 2, 4})
    EXPECT_EQ(open_all(path("a"), threads, "rb"), std::vector<int>(static_cast<size_t>(threads), -1));
}

TEST_F(OpenMP, ClosingWithAnotherTeamSizeFailsAndDoesNotHang) {
  const auto sids = open_all(path("a"), 3);
  for (const int threads : {1, 2, 4})
    EXPECT_EQ(close_all(sids, threads), std::vector<int>(static_cast<size_t>(threads), 0));
  EXPECT_EQ(close_all(sids, 3), std::vector<int>(3, 1));
}

TEST_F(OpenMP, InvalidHandlesFailAndDoNotHang) {
  EXPECT_EQ(sion_parclose_omp(-1), 0);
  EXPECT_EQ(sion_parclose_omp(1 << 30), 0);
  const auto sids = open_all(path("a"), 3);
  EXPECT_EQ(close_all({sids[0], -1, sids[2]}, 3), std::vector<int>(3, 0)) << "one invalid";
  EXPECT_EQ(close_all({sids[0], sids[1], sids[1]}, 3), std::vector<int>(3, 0)) << "one twice";
  const int serial = create(path("b"), {10});
  EXPECT_EQ(close_all({sids[0], serial, sids[2]}, 3), std::vector<int>(3, 0)) << "one serial";
  const auto others = open_all(path("c"), 3);
  EXPECT_EQ(close_all({sids[0], others[1], sids[2]}, 3), std::vector<int>(3, 0))
      << "one of another multifile";
  EXPECT_EQ(sion_close(serial), 1);
  EXPECT_EQ(close_all({sids[1], sids[0], sids[2]}, 3), std::vector<int>(3, 1))
      << "threads may swap their handles";
  EXPECT_EQ(close_all(others, 3), std::vector<int>(3, 1));
  EXPECT_EQ(close_all(others, 3), std::vector<int>(3, 0)) << "closed already";
}

TEST_F(OpenMP, RegistersALock) {
  write(path("a"), 0);
  EXPECT_EQ(sion_lock_user_callbacks_defined(), 1);
  const auto callback = [](void*) { return SION_SUCCESS; };
  EXPECT_EQ(sion_lock_register_lock_callbacks(callback, callback, nullptr), 0) << "the first lock stays";
}

}  // namespace
}  // namespace sheaf::test::omp_test
