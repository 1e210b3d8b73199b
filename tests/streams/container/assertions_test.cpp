// The assertions of named streams.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/os/host_memory.hpp"
#include "streams/container/container_writer.hpp"
#include "streams/container/index/container_index.hpp"
#include "streams/container/sums/room_index.hpp"
#include "support/assertions.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::streams_assertions_test {
using namespace streams;
namespace {

TEST(Assertions, OfChecksums) {
  SharedSums sums{};
  EXPECT_DEBUG_ASSERTION(SumWriter::after_append(sums, 0), "appending");
  RoomIndex index;
  for (const int64_t place : {8192, 4096}) {
    format::ContainerRecord record{.kind = format::RecordKind::piece};
    record.room = true;
    record.place = place;
    index.add(record, place);
  }
  EXPECT_DEBUG_ASSERTION(index.find(4096), "is_sorted");
}

TEST(Assertions, OfTheIndex) {
  const std::string key = "assertions-" + std::to_string(getpid());
  const auto memory = HostMemory::join("/dev/shm", key, ContainerIndex::layout,
                                       [](HostMemory& made) { ContainerIndex(made).begin({}, false); });
  unlink(("/dev/shm/sheaf-" + key).c_str());  // the process may abort
  ContainerIndex index(*memory);
  MemoryStore store;
  ContainerWriter writer(*store.open("a", Access::create), index, false);
  EXPECT_ASSERTION(writer.room(2, 1), "least <= wanted");
}

}  // namespace
}  // namespace sheaf::test::streams_assertions_test
