// The placement of files on GlusterFS, and names of hosts.
#include "storage/posix/gluster_placement.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/os/host_name.hpp"

namespace sheaf::gluster_placement_test {
namespace {

// Values of glusterfs.pathinfo from GlusterFS 10, with shorter paths.
constexpr std::string_view distributed = "(<DISTRIBUTE:par-dht> <POSIX(/h2/brick/b):h2:/h2/brick/b/c1/f>)";
constexpr std::string_view replicated =
    "(<DISTRIBUTE:par-dht> (<REPLICATE:par-replicate-0> <POSIX(/b):h1:/b/f> <POSIX(/b):h2:/b/f>))";
constexpr std::string_view dispersed = "(<DISTRIBUTE:par-dht> (<EC:par-disperse-0> <POSIX(/b):h1:/b/f>))";

TEST(GlusterPlacement, IsTheHostOfTheOnlyBrick) {
  EXPECT_EQ(placement_in(distributed).host, "h2");
  EXPECT_FALSE(placement_in(distributed).one_client);
  EXPECT_EQ(placement_in("(<POSIX(/a b):node-7.example.org:/a b/f>)").host, "node-7.example.org");
}

TEST(GlusterPlacement, IsUnknownWithSeveralBricks) {
  EXPECT_EQ(placement_in(replicated).host, "");
  EXPECT_FALSE(placement_in(replicated).one_client);
}

TEST(GlusterPlacement, OfDispersedFilesHasOneClient) {
  EXPECT_TRUE(placement_in(dispersed).one_client);
  EXPECT_EQ(placement_in(dispersed).host, "");
}

TEST(GlusterPlacement, OfAnyOtherTextIsUnknown) {
  for (const std::string text : {"", "(", "<POSIX(", "<POSIX(/b", "<POSIX(/b):"}) {
    EXPECT_EQ(placement_in(text).host, "") << text;
    EXPECT_FALSE(placement_in(text).one_client) << text;
  }
  EXPECT_EQ(gluster_placement(-1).host, "");
}

TEST(HostName, IsEqualWithAndWithoutADomain) {
  const std::string name = host_name();
  EXPECT_TRUE(is_this_host(name));
  EXPECT_TRUE(is_this_host(name.substr(0, name.find('.')) + ".example.org"));
  EXPECT_FALSE(is_this_host(name + "x"));
  for (const char* const other : {"", "127.0.0.1", "192.168.0.1"}) EXPECT_FALSE(is_this_host(other)) << other;
}

}  // namespace
}  // namespace sheaf::gluster_placement_test
