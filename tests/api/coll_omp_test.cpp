// Tests collective calls of the threads of a team. OpenMP barriers separate the calls.
#include <gtest/gtest.h>
#include <omp.h>

#include <string>
#include <vector>

#include "api/api_fixture.hpp"
#include "sion_omp.h"

namespace sheaf::test::coll_omp_test {
namespace {

constexpr int threads = 5;

class CollOpenMP : public Api {
 protected:
  void SetUp() override {
    omp_set_dynamic(0);
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(threads)
    { sheaf_last_error(); }  // creates the runtime's descriptors and threads before the count
    Api::SetUp();
  }

  static int open(const std::string& name, const char* mode, sion_int64 chunk) {
    sion_int32 block = 64;
    int rank = 0;
    return sion_paropen_omp(name.c_str(), mode, &chunk, &block, &rank, nullptr, nullptr);
  }
  static void meet() {
#pragma omp barrier
  }
  // Returns how many bytes this thread transfers in call `call`: none on one thread in turn, more than
  // `piece` on the last thread, and `piece` on the others.
  static int64_t bytes(int64_t piece, int call) {
    const int me = omp_get_thread_num();
    return call % threads == me ? 0 : me == threads - 1 ? 2 * piece + 7 : piece;
  }
};

// Only the first thread of a process may become a collector. The other threads must join its group, however
// large the group becomes (docs/format.md, section 10).
TEST_F(CollOpenMP, OnlyTheFirstThreadCollects) {
  const std::string name = path("team");
#pragma omp parallel num_threads(threads)
  {
    int sid = open(name, "wb,collective,collsize=1", 100);
    EXPECT_EQ(sion_parclose_omp(sid), 1);
    sion_int64 chunk = 0;
    sion_int32 block = 0;
    int rank = 0;
    sid = sion_paropen_omp(name.c_str(), "rb", &chunk, &block, &rank, nullptr, nullptr);
    EXPECT_EQ(chunk, omp_get_thread_num() == threads - 1 ? 512 - 400 : 100);
    EXPECT_EQ(sion_parclose_omp(sid), 1);
  }
}

TEST_F(CollOpenMP, WhatThreadsWriteTogetherTheyRead) {
  for (const auto& amounts : {std::pair<int64_t, int>{40, 12}, {5000, 60}, {200'000, 3}})
    for (const char* const mode :
         {"wb,collective", "wb,posix,collective,collsize=2", "wb,collective,collsize=100"}) {
      const std::string name = path("team");
      const auto piece = amounts.first;  // clang 16 crashes on structured bindings in a parallel region
      const auto calls = amounts.second;
#pragma omp parallel num_threads(threads)
      {
        const int me = omp_get_thread_num();
        int sid = open(name, mode, piece + 10);
        EXPECT_GE(sid, 0) << sheaf_last_error();
        int64_t done = 0;
        for (int call = 0; call < calls; ++call) {
          const auto data = content(me, done, bytes(piece, call));
          const size_t alone = me == 2 && call % 3 == 1 ? data.size() / 2 : 0;
          EXPECT_EQ(sion_fwrite(data.data(), 1, alone, sid), alone);
          EXPECT_EQ(sion_coll_fwrite(data.data() + alone, 1, data.size() - alone, sid), data.size() - alone);
          done += std::ssize(data);
          meet();
        }
        EXPECT_EQ(sion_parclose_omp(sid), 1) << sheaf_last_error();
        for (const char* const reading : {"rb", "rb,collective=2", "rb,collective=auto"}) {
          sid = open(name, reading, 0);
          EXPECT_GE(sid, 0);
          std::vector<std::byte> found(static_cast<size_t>(done));
          size_t at = 0;
          for (int call = 0; call < calls; ++call) {
            const auto n = static_cast<size_t>(bytes(piece, call));
            EXPECT_EQ(sion_coll_fread(found.data() + at, 1, n, sid), n);
            at += n;
            meet();
          }
          EXPECT_EQ(found, content(me, 0, done));
          EXPECT_EQ(sion_parclose_omp(sid), 1);
        }
      }
    }
}

TEST_F(CollOpenMP, AThreadWithBadArgumentsHoldsNobodyUp) {
#pragma omp parallel num_threads(threads)
  {
    const int sid = open(path("bad"), "wb,collective,collsize=2", 1 << 20);
    EXPECT_GE(sid, 0);
    const auto data = content(omp_get_thread_num(), 0, 1 << 20);
    EXPECT_EQ(sion_coll_fwrite(omp_get_thread_num() == 3 ? nullptr : data.data(), 1, data.size(), sid), 0u);
    EXPECT_EQ(sion_coll_fwrite(data.data(), 1, data.size(), sid), data.size());
    EXPECT_EQ(sion_parclose_omp(sid), 1);
  }
}

TEST_F(CollOpenMP, TwoTeamsAtOnceDoNotMix) {
#pragma omp parallel num_threads(2)
  {
    const int team = omp_get_thread_num();
    const std::string name = path("team" + std::to_string(team));
#pragma omp parallel num_threads(3)
    {
      const int me = 10 * team + omp_get_thread_num();
      int sid = open(name, "wb,collective,collsize=2", 300);
      const auto data = content(me, 0, 1000);
      for (int at = 0; at < 1000; at += 250)
        EXPECT_EQ(sion_coll_fwrite(&data[static_cast<size_t>(at)], 1, 250, sid), 250u);
      EXPECT_EQ(sion_parclose_omp(sid), 1);
      sid = open(name, "rb,collective=2", 0);
      std::vector<std::byte> found(1000);
      EXPECT_EQ(sion_coll_fread(found.data(), 1, 1000, sid), 1000u);
      EXPECT_EQ(found, data);
      EXPECT_EQ(sion_parclose_omp(sid), 1);
    }
  }
}

}  // namespace
}  // namespace sheaf::test::coll_omp_test
