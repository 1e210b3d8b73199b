// Conclusions from probes between two paths to a directory.
#include "storage/probes.hpp"

#include <gtest/gtest.h>

namespace sheaf::testing::probes_test {
namespace {

TEST(Probes, OnlyWhatIsSeenInEveryWayIsCoherent) {
  const Tried well{6, 6}, badly{6, 0};
  PairFindings all;
  all.after_close = all.after_sync = all.at_once = all.kept_open = all.kept_open_after = all.page = well;
  EXPECT_TRUE(all.is_coherent() && all.is_close_to_open());
  for (Tried PairFindings::*const tried : {&PairFindings::at_once, &PairFindings::kept_open,
                                           &PairFindings::kept_open_after, &PairFindings::page}) {
    PairFindings found = all;
    found.*tried = badly;
    EXPECT_FALSE(found.is_coherent());
    EXPECT_TRUE(found.is_close_to_open());
  }
}

}  // namespace
}  // namespace sheaf::testing::probes_test
