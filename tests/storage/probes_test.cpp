// What follows from what was tried between two ways to a directory.
#include "storage/probes.hpp"

#include <gtest/gtest.h>

namespace sheaf::testing::probes_test {
namespace {

TEST(Probes, OnlyWhatIsSeenInEveryWayIsCoherent) {
  const Tried well{6, 6}, badly{6, 0};
  const PairFindings all{.after_close = well,
                         .after_sync = well,
                         .at_once = well,
                         .kept_open = well,
                         .kept_open_after = well,
                         .page = well};
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
