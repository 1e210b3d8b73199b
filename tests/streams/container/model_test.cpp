// Random programs on one set, all on one host. Every change must be visible to the other programs at once,
// and afterwards to readers of the containers.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "streams/container/set_model.hpp"
#include "streams/container/unverified.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {
namespace {

void run(Store& store, const std::string& path, uint64_t seed, int programs, int steps) {
  Model model;
  const streams::ContainerHost host{"host", "/dev/shm"};
  for (int round = 0; round < 3; ++round) {
    std::vector<SetProgram> all;
    for (int k = 0; k < programs; ++k)
      all.emplace_back(streams::ContainerSet::open(store, path, host), model,
                       seed * 100 + static_cast<uint64_t>(10 * round + k));
    std::mt19937_64 turn(seed);
    for (int step = 0; step < steps; ++step) all[turn() % all.size()].step();
    for (SetProgram& program : all) program.compare_open();
    for (SetProgram& program : all) program.close_all();
    require_seen(store, path, model);
    require(unverified_bytes(store, path) == 0, "bytes without a checksum");
  }
}

TEST(ContainerModel, RandomProgramsInMemory) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    MemoryStore store;
    try {
      run(store, "dir/set" + std::to_string(seed), seed, static_cast<int>(1 + seed % 4), 120);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
  }
}

// The records are in mapped memory if the file system supports it.
TEST(ContainerModel, RandomProgramsOnDisk) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sheaf-model-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    try {
      run(posix_store(), (directory / ("set" + std::to_string(seed))).string(), seed,
          static_cast<int>(1 + seed % 4), 200);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace sheaf::test
