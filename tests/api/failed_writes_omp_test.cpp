// If a write of one thread fails, the close must fail on all threads of the team, unless this thread has
// repeated the write.
#include <omp.h>

#include <array>

#include "api/api_fixture.hpp"
#include "sion_omp.h"
#include "support/largest_file.hpp"

namespace sheaf::test::failed_writes_omp_test {
namespace {

constexpr int threads = 3;

class FailedWritesOpenMP : public Api {
 protected:
  void SetUp() override {
    omp_set_dynamic(0);
#pragma omp parallel num_threads(threads)
    { sheaf_last_error(); }  // creates the runtime's descriptors before the count
    Api::SetUp();
  }
};

TEST_F(FailedWritesOpenMP, CloseFailsOnAllThreadsUnlessTheOneRepeatsIt) {
  for (const char* const mode : {"wb,atomic,buffer=0", "wb,atomic,collective", "wb,atomic,compress=lz4"})
    for (const bool repeats : {false, true}) {
      SCOPED_TRACE(mode);
      const std::string file = path("a");
      LargestFile limit(400'000);
      std::array<int, threads> closed{};
      std::array<std::string, threads> errors;
#pragma omp parallel num_threads(threads)
      {
        const int thread = omp_get_thread_num();
        sion_int64 chunk = 100'000;
        sion_int32 block = 4096;
        int rank = 0;
        const int sid = sion_paropen_omp(file.c_str(), mode, &chunk, &block, &rank, nullptr, nullptr);
        EXPECT_GE(sid, 0);
        std::vector<std::byte> rejected;
        for (int call = 0; thread == 1 && rejected.empty() && call < 100; ++call) {
          const auto data = content(1009 * call, 0, 90'000);
          if (sion_fwrite(data.data(), 1, data.size(), sid) != data.size()) rejected = data;
        }
        EXPECT_EQ(rejected.empty(), thread != 1);
#pragma omp barrier
#pragma omp single
        limit.lift();
        if (thread == 1) {
          EXPECT_EQ(sion_flush(sid), 0);
        }
        if (thread == 1 && repeats) {
          EXPECT_EQ(sion_fwrite(rejected.data(), 1, rejected.size(), sid), rejected.size());
        }
        closed[static_cast<size_t>(thread)] = sion_parclose_omp(sid);
        errors[static_cast<size_t>(thread)] = sheaf_last_error();
      }
      for (int t = 0; t < threads; ++t) {
        const std::string& error = errors[static_cast<size_t>(t)];
        EXPECT_EQ(closed[static_cast<size_t>(t)], repeats) << error;
        EXPECT_TRUE(repeats || error.find("has failed and was not repeated") != std::string::npos) << error;
      }
      EXPECT_EQ(std::filesystem::exists(file), repeats);
      std::filesystem::remove(file);
    }
}

}  // namespace
}  // namespace sheaf::test::failed_writes_omp_test
