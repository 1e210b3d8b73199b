// Simulated hosts with random cache events.
#include <random>

#include "support/hosts_store.hpp"
#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::hosts_random_test {
namespace {

using test::HostsStore;
using test::SimulatedHosts;

TEST(HostsAtRandom, PressureWritesBackBeforeAnybodyAsks) {
  int early = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedHosts cluster({.seed = seed, .pressure = 2});
    HostsStore host(cluster, 0, 0);
    const auto a = host.open("f", Access::create);
    a->write_at(bytes("a"), 0);
    early += cluster.contents("f").empty() ? 0 : 1;
  }
  EXPECT_GT(early, 2);
  EXPECT_LT(early, 18);
}

// Hosts that write and read only pages of their own must lose no data, whatever the caches do.
TEST(HostsAtRandom, PagesOfOneHostAreWhatItWrote) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    constexpr int hosts = 3;
    constexpr int64_t pages_each = 4;
    SimulatedHosts cluster({.page = 64,
                            .unit = 64,
                            .seed = seed,
                            .pressure = 3,
                            .timeout = 4,
                            .answers_tell_change_before = seed % 2 == 0});
    std::mt19937_64 random(seed);
    std::string expected;
    std::vector<std::unique_ptr<HostsStore>> stores;
    std::vector<std::shared_ptr<File>> files;
    for (int host = 0; host < hosts; ++host) {
      stores.push_back(std::make_unique<HostsStore>(cluster, host, host));
      files.push_back(stores.back()->open("f", Access::create));
    }
    for (int step = 0; step < 200; ++step) {
      const size_t host = random() % hosts;
      const int64_t region = 64 * pages_each;
      const auto begin = static_cast<int64_t>(host) * region +
                         static_cast<int64_t>(random() % static_cast<uint64_t>(region));
      const auto most = static_cast<uint64_t>(static_cast<int64_t>(host + 1) * region - begin);
      const size_t length = 1 + random() % most;
      const std::string letters(length, static_cast<char>('a' + step % 26));
      if (random() % 3 > 0) {
        files[host]->write_at(bytes(letters), begin);
        expected.resize(std::max(expected.size(), static_cast<size_t>(begin) + length));
        expected.replace(static_cast<size_t>(begin), length, letters);
      } else if (random() % 4 == 0) {
        files[host]->sync();
      } else {
        // Holes of its own region must be zeros. Beyond the size it has cached, the host may see the end of
        // the file.
        const std::string found = read_text(*files[host], begin, length);
        expected.resize(std::max(expected.size(), static_cast<size_t>(begin) + length));
        EXPECT_EQ(found, expected.substr(static_cast<size_t>(begin), found.size()))
            << "seed " << seed << ", step " << step;
      }
    }
    for (const auto& file : files) file->close();
    std::string found = text(cluster.contents("f"));
    found.resize(expected.size());
    EXPECT_EQ(found, expected) << "seed " << seed;
    EXPECT_EQ(cluster.counts().shared_units, 0);
    EXPECT_EQ(cluster.counts().foreign_bytes, 0);
  }
}

// A single host must behave like any file system.
TEST(HostsAtRandom, OneHostAgreesWithItself) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SimulatedHosts cluster({.page = 64, .seed = seed, .pressure = 3, .timeout = 4});
    HostsStore host(cluster, 0, 0);
    MemoryStore model;
    std::mt19937_64 random(seed);
    auto file = host.open("f", Access::create);
    const auto expected = model.open("f", Access::create);
    for (int step = 0; step < 300; ++step) {
      const auto offset = static_cast<int64_t>(random() % 500);
      const size_t length = 1 + random() % 150;
      switch (random() % 6) {
        case 0:
        case 1: {
          const Bytes data = pattern(length, static_cast<unsigned>(step));
          file->write_at(data, offset);
          expected->write_at(data, offset);
          break;
        }
        case 2:
          file->resize(offset);
          expected->resize(offset);
          break;
        case 3:
          if (random() % 4 != 0) break;
          file->close();
          file = host.open("f", Access::write);
          break;
        default:
          EXPECT_EQ(read_text(*file, offset, length), read_text(*expected, offset, length))
              << "seed " << seed << ", step " << step;
      }
      EXPECT_EQ(file->status().size, expected->status().size) << "seed " << seed << ", step " << step;
    }
    file->close();
    EXPECT_EQ(text(cluster.contents("f")), text(model.contents("f"))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sheaf::testing::hosts_random_test
