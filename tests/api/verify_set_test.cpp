// Tests sheaf_verify on sets of containers. It must find the same damage as the command `sheaf verify`.
#include "api/api_fixture.hpp"
#include "sheaf_tools.h"

namespace sheaf::test::verify_set_test {
namespace {

using Findings = std::vector<std::string>;  // "file name: state"

void note(void* user, const char* path, const char* state, const char*) {
  static_cast<Findings*>(user)->push_back(std::filesystem::path(path).filename().string() + ": " + state);
}

class VerifySet : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    sheaf_set* const set = sheaf_set_open(path("set").c_str());
    ASSERT_NE(set, nullptr) << sheaf_last_error();
    sheaf_stream* const stream = sheaf_stream_open(set, "one", "w");
    const std::string text(30'000, 'x');
    ASSERT_EQ(sheaf_stream_write(stream, text.data(), text.size(), 0), 30'000);
    ASSERT_EQ(sheaf_stream_close(stream), 0);
    ASSERT_EQ(sheaf_set_close(set), 0);
  }
  int verify(int data, Findings& findings) const {
    findings.clear();
    return sheaf_verify(path("set").c_str(), data, nullptr, note, &findings);
  }
};

TEST_F(VerifySet, OfWholeContainersFindsNothing) {
  Findings findings;
  EXPECT_EQ(verify(1, findings), 1) << sheaf_last_error();
  EXPECT_EQ(findings, Findings{"set: complete"});
}

TEST_F(VerifySet, OfDamagedContainersTellsThem) {
  for (const auto& entry : std::filesystem::directory_iterator(path("")))
    if (entry.path().filename().string().starts_with("set.container.")) {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(20);
      file.put('?');
    }
  Findings findings;
  EXPECT_EQ(verify(1, findings), 0) << sheaf_last_error();
  EXPECT_EQ(findings.at(0), "set: damaged");
}

TEST_F(VerifySet, BesideAMultifileChecksBoth) {
  const int sid = create(path("set"), {100});
  ASSERT_GE(sid, 0);
  ASSERT_EQ(sion_close(sid), 1);
  Findings findings;
  verify(0, findings);
  EXPECT_EQ(findings.size(), 2u);
}

// The callback cancels the verification. The call must not report this as damage.
TEST_F(VerifySet, CanBeEndedByTheProgress) {
  Findings findings;
  const auto stop = [](void*, long long done, long long) { return done > 0 ? 1 : 0; };
  EXPECT_EQ(sheaf_verify(path("set").c_str(), 1, stop, note, &findings), -1);
  EXPECT_TRUE(last_error_has("callback"));
  EXPECT_EQ(findings, Findings{});
}

}  // namespace
}  // namespace sheaf::test::verify_set_test
