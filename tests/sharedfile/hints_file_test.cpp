// Hints in text files: the one that the environment names, and that of the site.
#include "sharedfile/hints_file.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/warnings.hpp"
#include "support/environment.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::hints_file_test {
namespace {

using test::Variable;

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
  const Variable named(hints_variable, "mine");
  const Hints h = hints();
  EXPECT_EQ(h.aggregators, 4);
  EXPECT_EQ(h.buffer_size, 1 << 20);
  EXPECT_EQ(h.collective_read, Choice::automatic);
  EXPECT_EQ(h.collective_write, Choice::automatic);
  EXPECT_EQ(h.sieve_write, Choice::enable);
  EXPECT_EQ(h.config_list, "n1:2, *:1");
  EXPECT_FALSE(any_warnings());
}

TEST_F(HintsFile, TheSitesIsReadWhereTheUserNamesNone) {
  EXPECT_EQ(hints().words(), Hints().words());
  put(site_hints, "cb_nodes 7\n");
  put("mine", "cb_buffer_size 4096\n");
  EXPECT_EQ(hints().aggregators, 7);
  const Variable named(hints_variable, "mine");
  EXPECT_EQ(hints().aggregators, 0);
  EXPECT_EQ(hints().buffer_size, 4096);
  EXPECT_FALSE(any_warnings());
}

TEST_F(HintsFile, ValuesThatAreNotUnderstoodAreIgnoredAndTold) {
  put("wrong", "cb_nodes many\nromio_cb_read 1\n");
  const Variable named(hints_variable, "wrong");
  const Hints h = hints();
  EXPECT_EQ(h.aggregators, 0);
  EXPECT_EQ(h.collective_read, Choice::enable);
  const std::string told = "cb_nodes='many' is not understood, and ignored; expected a number from 1 on";
  EXPECT_EQ(take_warnings(), std::vector<std::string>{"'wrong': " + told});
}

TEST_F(HintsFile, WhatCannotBeReadIsToldOnce) {
  store_.add_directory("directory");
  put("huge", std::string((1 << 20) + 1, ' '));
  for (const char* const path : {"missing", "directory", "huge"}) {
    const Variable named(hints_variable, path);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(hints().words(), Hints().words());
    const auto told = take_warnings();
    ASSERT_EQ(told.size(), 1u) << path;
    EXPECT_TRUE(told[0].starts_with("ROMIO_HINTS='" + std::string(path) + "' is not understood")) << told[0];
  }
}

}  // namespace
}  // namespace sheaf::hints_file_test
