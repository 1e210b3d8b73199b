// Traits of striped files. Names that are not striped must have the traits of the operating system's files.
// Traits of striped names must not depend on how subfiles are reached.
#include <gtest/gtest.h>

#include <filesystem>

#include "sfio/striped_store.hpp"
#include "storage/posix/posix_store.hpp"

namespace sheaf::testing::striped_traits_test {

using namespace sfio;

namespace {

TEST(StripedTraits, PromiseNothingBetweenHosts) {
  EXPECT_EQ(to_string(any_store().traits("sfio:unit=65536;localhost,/tmp/a;localhost,/tmp/b;")),
            "unknown: coherent, locks host, unit 1 bytes, 2 stripes of 64 KiB, fallocate no, mmap no");
}

TEST(StripedTraits, AreThoseOfTheFileSystemForOtherNames) {
  const std::string directory = std::filesystem::temp_directory_path().string();
  const FileSystemTraits expected = posix_store().traits(directory);
  EXPECT_EQ(any_store().traits(directory + "/a"), expected);
  EXPECT_EQ(any_store_here()->traits(directory + "/a"), expected);
}

}  // namespace
}  // namespace sheaf::testing::striped_traits_test
