// Hints in text files: the file that the environment names, and the file of the site.
#include "mpiio/file/hints_file.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/warnings.hpp"
#include "support/environment.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::hints_file_test {

using namespace mpiio;

namespace {

using test::EnvironmentVariable;

class HintsFile : public ::testing::Test {
 protected:
  ~HintsFile() override { take_warnings(); }
  void put(const std::string& path, std::string_view text) {
    store_.set_contents(path, std::as_bytes(std::span(text)));
  }
  Hints hints() {
    Hints result;
    take_hints_file(store_, result);
    return result;
  }
  MemoryStore store_;
};

TEST_F(HintsFile, LinesOfKeyAndValue) {
  put("mine",
      "# of all programs\n\ncb_nodes 4\n\tcb_buffer_size\t 1M  # bytes\r\n#romio_cb_read disable\n"
      "another_key some value\nromio_cb_write\n   \nromio_ds_write disable\nromio_ds_write enable\n"
      "cb_config_list n1:2, *:1");
  const EnvironmentVariable named(hints_variable, "mine");
  const Hints h = hints();
  EXPECT_EQ(h.aggregators, 4);
  EXPECT_EQ(h.buffer_size, 1 << 20);
  EXPECT_EQ(h.collective_read, Choice::automatic);
  EXPECT_EQ(h.collective_write, Choice::automatic);
  EXPECT_EQ(h.sieve_write, Choice::disabled);  // the first line of a key takes precedence
  EXPECT_EQ(h.config_list, "n1:2, *:1");
  EXPECT_FALSE(any_warnings());
}

TEST_F(HintsFile, TheFirstValidLineOfAKeyCounts) {
  put("twice", "ind_rd_buffer_size many\nind_rd_buffer_size 49\nind_rd_buffer_size 60\n");
  const EnvironmentVariable named(hints_variable, "twice");
  EXPECT_EQ(hints().sieve_read_size, 49);
  EXPECT_EQ(take_warnings().size(), 1u);
}

TEST_F(HintsFile, NoIndependentCallsMeanCollectiveTransfersWhateverElseIsSaid) {
  for (const char* const text : {"romio_no_indep_rw true\nromio_cb_read disable\n",
                                 "romio_cb_read disable\nromio_no_indep_rw true\n"}) {
    put("collective", text);
    const EnvironmentVariable named(hints_variable, "collective");
    EXPECT_EQ(hints().collective_read, Choice::enabled) << text;
    EXPECT_EQ(hints().collective_write, Choice::enabled) << text;
  }
}

TEST_F(HintsFile, TheSitesIsReadWhereTheUserNamesNone) {
  EXPECT_EQ(hints().words(), Hints().words());
  put(site_hints, "cb_nodes 7\n");
  put("mine", "cb_buffer_size 4096\n");
  EXPECT_EQ(hints().aggregators, 7);
  const EnvironmentVariable named(hints_variable, "mine");
  EXPECT_EQ(hints().aggregators, 0);
  EXPECT_EQ(hints().buffer_size, 4096);
  EXPECT_FALSE(any_warnings());
}

TEST_F(HintsFile, ValuesThatAreNotUnderstoodAreIgnoredAndTold) {
  put("wrong", "cb_nodes many\nromio_cb_read 1\n");
  const EnvironmentVariable named(hints_variable, "wrong");
  const Hints h = hints();
  EXPECT_EQ(h.aggregators, 0);
  EXPECT_EQ(h.collective_read, Choice::enabled);
  const std::string told = "cb_nodes='many' is not understood, and ignored; expected a number from 1 on";
  EXPECT_EQ(take_warnings(), std::vector<std::string>{"'wrong': " + told});
}

TEST_F(HintsFile, WhatCannotBeReadIsToldOnce) {
  store_.add_directory("directory");
  put("huge", std::string((1 << 20) + 1, ' '));
  for (const char* const path : {"missing", "directory", "huge"}) {
    const EnvironmentVariable named(hints_variable, path);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(hints().words(), Hints().words());
    const auto told = take_warnings();
    ASSERT_EQ(told.size(), 1u) << path;
    EXPECT_TRUE(told[0].starts_with("ROMIO_HINTS='" + std::string(path) + "' is not understood")) << told[0];
  }
}

}  // namespace
}  // namespace sheaf::hints_file_test
