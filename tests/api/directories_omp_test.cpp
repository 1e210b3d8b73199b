// Tests the threads of a program that changes its current directory while multifiles are open.
#include <gtest/gtest.h>
#include <omp.h>

#include "api/api_fixture.hpp"
#include "sion_omp.h"
#include "support/current_directory.hpp"

namespace sheaf::test::directories_omp_test {
namespace {

class OmpDirectories : public Api {
 protected:
  void SetUp() override {
    omp_set_dynamic(0);
#pragma omp parallel num_threads(4)
    { sheaf_last_error(); }  // creates the runtime's descriptors and threads before the count
    Api::SetUp();
  }
  static int open(const char* mode, FILE** stream = nullptr) {
    sion_int64 chunk = 600;
    sion_int32 block = 64;
    int rank = -1;
    return sion_paropen_omp("a", mode, &chunk, &block, &rank, stream, nullptr);
  }
};

TEST_F(OmpDirectories, EveryThreadWritesAndReadsWhatItHasOpened) {
  const TwoDirectories places(path("directories"));
  for (const char* name : {"a", "a.000001", "a.journal", "a.000001.journal"}) places.plant(name);
  const auto before = places.planted();
  for (const char* mode : {"wb", "wb,files=2", "wb,atomic", "wb,collective,collsize=2"}) {
#pragma omp parallel num_threads(4)
    {
      const int me = omp_get_thread_num();
      const int sid = open(mode);
#pragma omp barrier
#pragma omp single
      places.go_elsewhere();
      const auto data = content(me, 0, 900);
      EXPECT_EQ(sion_fwrite(data.data(), 1, 500, sid), 500u);
      EXPECT_EQ(sion_flush(sid), 1);
      EXPECT_EQ(sion_fwrite(data.data() + 500, 1, 400, sid), 400u);
      EXPECT_EQ(sion_parclose_omp(sid), 1) << mode << sheaf_last_error();
#pragma omp barrier
#pragma omp single
      places.go_here();
      const int back = open("rb");
#pragma omp barrier
#pragma omp single
      places.go_elsewhere();
      std::vector<std::byte> found(901);
      EXPECT_EQ(sion_fread(found.data(), 1, found.size(), back), 900u);
      found.resize(900);
      EXPECT_EQ(found, data) << mode;
      EXPECT_EQ(sion_seek(back, me, 0, 0), 1);
      FILE* const stream = sion_get_fp(back);
      EXPECT_EQ(std::fread(found.data(), 1, 500, stream), 500u);
      found.resize(500);
      EXPECT_EQ(found, content(me, 0, 500)) << mode;
      EXPECT_EQ(sion_parclose_omp(back), 1);
#pragma omp barrier
#pragma omp single
      places.go_here();
    }
    EXPECT_EQ(places.planted(), before) << mode;
    std::filesystem::remove("a");
    std::filesystem::remove("a.000001");
    EXPECT_TRUE(TwoDirectories::contents(places.here).empty()) << mode;
  }
}

// Threads share an open file if they have the same canonical path, not the same name. Therefore one name in
// two directories must give two files.
TEST_F(OmpDirectories, OneNameInTwoDirectoriesIsTwoFiles) {
  const TwoDirectories places(path("directories"));
#pragma omp parallel num_threads(2)
  {
    const int me = omp_get_thread_num();
    const int sids[] = {open("wb"), [&] {
#pragma omp barrier
#pragma omp single
                          places.go_elsewhere();
                          return open("wb");
                        }()};
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(sion_fwrite(content(10 * i + me, 0, 100).data(), 1, 100, sids[i]), 100u);
    EXPECT_EQ(sion_parclose_omp(sids[0]), 1);
    EXPECT_EQ(sion_parclose_omp(sids[1]), 1);
  }
  for (int i = 0; i < 2; ++i) {
    const int back = Api::open((i == 0 ? places.here : places.elsewhere) / "a");
    for (int t = 0; t < 2; ++t) {
      EXPECT_EQ(sion_seek(back, t, 0, 0), 1);
      std::vector<std::byte> found(100);
      EXPECT_EQ(sion_fread(found.data(), 1, 100, back), 100u);
      EXPECT_EQ(found, content(10 * i + t, 0, 100));
    }
    EXPECT_EQ(sion_close(back), 1);
  }
}

}  // namespace
}  // namespace sheaf::test::directories_omp_test
