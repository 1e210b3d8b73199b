// The assertions of striped files.
#include <gtest/gtest.h>

#include <vector>

#include "sfio/request_stream.hpp"
#include "sfio/session/message_link.hpp"
#include "support/assertions.hpp"

namespace sheaf::sfio::assertions_test {
namespace {

TEST(Assertions, OfRequests) {
  const layout::Stripes stripes{100, 1};
  const std::vector<SubfileHandle> subfiles(1);
  const std::vector<Block> overlapping{{0, nullptr, 10}, {5, nullptr, 10}};
  EXPECT_DEBUG_ASSERTION(RequestStreams(stripes, subfiles, overlapping), "next.offset < one.end");
  EXPECT_ASSERTION(RequestStreams(stripes, {}, {}), "ssize.subfiles");
  RequestStreams streams(stripes, subfiles, {{0, nullptr, 10}});
  EXPECT_ASSERTION(streams.next(0, 0), "room > 0");
  EXPECT_ASSERTION(streams.next(1, 1), "i < streams_");
}

TEST(Assertions, OfLinks) {
  EXPECT_ASSERTION(message_link(nullptr, {}, 0), "timeout > 0");
  const auto link = message_link(nullptr, {}, 1);
  EXPECT_ASSERTION(link->start(0, {}, {}), "listener <");
}

}  // namespace
}  // namespace sheaf::sfio::assertions_test
