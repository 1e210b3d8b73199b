// Runs the campaign over striped files, on which SFIO is built. Compute tasks and I/O listeners are fibers,
// and the disks of the listeners fail. campaign/sfio.cpp tests the C interface of SFIO, which tracks failed
// writes, with real processes.
#include <gtest/gtest.h>

#include "campaign/injection.hpp"
#include "campaign/region_oracle.hpp"
#include "sfio/striped/cluster.hpp"
#include "support/variable.hpp"

namespace sheaf::test::campaign {
namespace {

constexpr int64_t striped_size = 4000;

struct StripedProgram {
  uint64_t seed = 0;
  int tasks = 1, listeners = 1, calls = 1;
  int64_t unit = 1;
};

StripedProgram draw_striped(uint64_t seed) {
  Random random(seed * 911 + 3);
  StripedProgram p;
  p.seed = seed;
  p.tasks = 1 + static_cast<int>(random.below(4));
  p.listeners = 1 + static_cast<int>(random.below(4));
  p.calls = 1 + static_cast<int>(random.below(8));
  p.unit = 1 + random.below(200);
  return p;
}

// Writes blocks that do not overlap to the part of the file that belongs to `task`.
void write_blocks(const StripedProgram& p, StripedFile& file, int task, Regions& regions) {
  Random random(p.seed * 57 + static_cast<uint64_t>(task));
  const int64_t part = striped_size / p.tasks;
  for (int call = 0; call < p.calls; ++call) {
    std::vector<std::string> texts;
    std::vector<Block> blocks;
    texts.reserve(20);
    for (int64_t at = random.below(100); at < part && texts.size() < 20; at += 1 + random.below(300)) {
      const int64_t length = 1 + random.below(std::min<int64_t>(part - at, 250));
      texts.emplace_back(static_cast<size_t>(length), static_cast<char>('a' + random.below(26)));
      blocks.push_back(block(part * task + at, texts.back()));
      at += length;
    }
    const auto each = [&](auto&& visit) {
      for (size_t i = 0; i < blocks.size(); ++i) visit(blocks[i].offset, std::as_bytes(std::span(texts[i])));
    };
    each([&](int64_t at, auto bytes) { regions.attempt(at, bytes); });
    if (attempt([&] { file.write(blocks); })) continue;
    each([&](int64_t at, auto bytes) { regions.accept(at, bytes); });
    if (random.chance(4)) attempt([&] { file.sync(); });
  }
}

// Returns the logical bytes of the file, read from the subfiles on the disks.
std::vector<std::byte> logical_bytes(const StripedCluster& cluster, int64_t unit) {
  std::vector<std::string> parts;
  for (int l = 0; l < cluster.listeners; ++l) {
    const auto paths = cluster.disks[static_cast<size_t>(l)]->paths();
    parts.push_back(std::ranges::find(paths, "/f.dat") == paths.end() ? "" : cluster.contents(l));
  }
  std::vector<std::byte> bytes(striped_size);
  const int64_t n = cluster.listeners;
  for (int64_t at = 0; at < striped_size; ++at) {
    const std::string& part = parts[static_cast<size_t>(at / unit % n)];
    const auto inside = static_cast<size_t>(at / unit / n * unit + at % unit);
    if (inside < part.size()) bytes[static_cast<size_t>(at)] = static_cast<std::byte>(part[inside]);
  }
  return bytes;
}

int64_t run_striped(const StripedProgram& p, const FaultPlan& plan, int victim, Regions& regions,
                    bool without_failures) {
  StripedCluster cluster(p.tasks, p.listeners);
  cluster.seed = p.seed;
  cluster.stores[static_cast<size_t>(victim)]->set_plan(plan);
  bool closed = false;
  cluster.run([&](StripedCluster::ComputeTask& task) {
    std::unique_ptr<StripedFile> file;
    std::vector<StripedFile::SubfileToken> token(1);
    if (task.comm.rank() == 0) {
      attempt([&] { file = open_named(task, name_on(p.listeners, p.listeners), p.unit); });
      if (file) token = file->token();
    }
    int64_t length = file ? std::ssize(token) : 0;
    task.comm.broadcast(std::as_writable_bytes(std::span(&length, 1)), 0);
    if (length == 0) return;
    token.resize(static_cast<size_t>(length));
    task.comm.broadcast(std::as_writable_bytes(std::span(token)), 0);
    if (!file) file = StripedFile::adopt(task.link, name_on(p.listeners, p.listeners), token);
    write_blocks(p, *file, task.comm.rank(), regions);
    task.comm.barrier();
    if (task.comm.rank() == 0) closed = !attempt([&] { file->close(); });
    task.comm.barrier();
  });
  if (without_failures && !closed) throw std::runtime_error("a program without failures did not close");
  regions.check(logical_bytes(cluster, p.unit), without_failures);
  return cluster.stores[static_cast<size_t>(victim)]->operations();
}

TEST(StripedCampaign, KeepsAcceptedBytes) {
  const uint64_t one = variable("SHEAF_CAMPAIGN_SEED", 0);
  const uint64_t last = one ? one : variable("SHEAF_CAMPAIGN_CASES", 150);
  for (uint64_t seed = one ? one : variable("SHEAF_CAMPAIGN_FIRST", 1); seed <= last; ++seed) {
    const StripedProgram p = draw_striped(seed);
    const int victim = static_cast<int>(seed) % p.listeners;
    Injection injection;
    try {
      Regions sound(striped_size, {});
      const int64_t operations = run_striped(p, {}, victim, sound, true);
      injection =
          draw_injection(seed, {Failure::once, Failure::several, Failure::from_then_on}, operations, 1);
      Regions regions(striped_size, {});
      run_striped(p, injection.plan, victim, regions, false);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "SHEAF_CAMPAIGN_SEED=" << seed << ": " << e.what() << "\n"
                    << p.tasks << " tasks, " << p.listeners << " listeners, unit " << p.unit << "; "
                    << injection.describe();
      if (variable("SHEAF_CAMPAIGN_STOP", 1)) return;
    }
  }
}

}  // namespace
}  // namespace sheaf::test::campaign
