// Striped files on more hosts than are available. The real client and listener code runs over a modelled
// network and modelled disks, in virtual time (support/fibers/fiber_messages.hpp). Every host computes and
// serves, as in the measurements of the SFIO paper; each compute task writes its range over all listeners.
// Reports the bandwidth per listener relative to that of one host. As the number of hosts grows, the ratio
// must stay within 10 %. Processor time is not modelled.
//
// Then counts messages and disk requests per call and listener, for calls that fit one message. Both counts
// must be 1.
//
// Finally compares collective calls with independent calls of every task: time, and the average and maximum
// bandwidth of a listener, from the start of the calls to its last request. In rows "even", each task writes
// its range over all listeners; in rows "uneven", on three of them.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bench_common.hpp"
#include "sfio/session/collective.hpp"
#include "sfio/session/listener.hpp"
#include "sfio/session/message_link.hpp"
#include "sfio/session/session.hpp"
#include "sfio/striped_file.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/fibers/fiber_messages.hpp"
#include "support/stores/memory_store.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::sfio;

struct HardwareModel {
  NetworkModel network{5e-6, 1e9};  // seconds; bytes per second of every port in each direction
  double disk = 500e6;              // bytes per second
  double request = 50e-6;           // seconds per disk request
};

// A disk that takes time and stores only sizes.
class ModelledDiskFile final : public ForwardingFile {
 public:
  ModelledDiskFile(std::shared_ptr<File> file, FiberNetwork& network, const HardwareModel& model, bool keeps)
      : ForwardingFile(std::move(file)), network_(network), model_(model), keeps_(keeps) {}
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    if (keeps_) return inner().write_at(data, offset);
    network_.spend(model_.request + static_cast<double>(data.size()) / model_.disk);
    last_ = network_.now();
    bytes_ += std::ssize(data);
  }
  double last() const { return last_; }  // end of the last request
  int64_t bytes() const { return bytes_; }
  void sync() override {}

 private:
  FiberNetwork& network_;
  const HardwareModel& model_;
  bool keeps_;
  double last_ = 0;
  int64_t bytes_ = 0;
};

class ModelledDiskStore final : public Store {
 public:
  ModelledDiskStore(FiberNetwork& network, const HardwareModel& model) : network_(network), model_(model) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    const bool keeps = path.ends_with(".sfio");
    auto file = std::make_shared<ModelledDiskFile>(memory_.open(path, access), network_, model_, keeps);
    if (!keeps) data_ = file;
    return file;
  }
  const ModelledDiskFile* data() const { return data_.get(); }  // of the subfile
  FileStatus status(const std::string& path) override { return memory_.status(path); }
  void remove(const std::string& path) override { memory_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { memory_.rename(from, to); }

 private:
  MemoryStore memory_;
  std::shared_ptr<ModelledDiskFile> data_;
  FiberNetwork& network_;
  const HardwareModel& model_;
};

struct SfioWriteOutcome {
  double seconds = 0;         // virtual
  int64_t messages = 0;       // in the write of all compute tasks
  int64_t disk_requests = 0;  // on all listeners
  std::vector<double> rates;  // bytes per second of each listener that received data
};

enum class Calls : uint8_t { own, collective };

// Returns the blocks of a task: one contiguous range.
std::vector<Block> range_of(int task, int /*nodes*/, std::span<std::byte> data, int64_t /*unit*/) {
  return {{std::ssize(data) * task, data.data(), std::ssize(data)}};
}

// Returns complete units on three listeners.
std::vector<Block> units_of(int task, int nodes, std::span<std::byte> data, int64_t unit) {
  std::vector<Block> blocks;
  const int64_t rows = std::ssize(data) / unit / 3;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < 3; ++i)
      blocks.push_back({((task * rows + row) * nodes + (3 * task + i) % nodes) * unit,
                        data.data() + (3 * row + i) * unit, unit});
  return blocks;
}

using Pattern = std::vector<Block> (*)(int task, int nodes, std::span<std::byte> data, int64_t unit);

// Each of `nodes` compute tasks writes data.size() bytes or fewer.
SfioWriteOutcome write_all(int nodes, std::span<std::byte> data, int64_t unit, const HardwareModel& model,
                           Calls calls = Calls::own, Pattern pattern = range_of) {
  SfioWriteOutcome outcome;
  double began = 0;
  FiberNetwork network(2 * nodes, model.network);
  FiberOptions options;
  options.ranks = 2 * nodes;
  options.stack_bytes = 256 << 10;
  run_fibers(options, [&](Comm& all) {
    const bool serves = all.rank() >= nodes;
    SessionOptions own;
    own.name = "n" + std::to_string(all.rank() % nodes);
    const Roster roster = make_roster(all, serves ? Role::listener : Role::compute, own, "");
    const auto mine = all.split(serves, all.rank());
    if (serves) {
      ModelledDiskStore disk(network, model);
      const auto service = make_service(disk, roster, all.rank(), own);
      serve(*network.endpoint(all.rank()), *service, own.room, *own_place());
      outcome.disk_requests += service->counts().disk_requests;
      if (const ModelledDiskFile* const file = disk.data(); file && file->bytes() > 0)
        outcome.rates.push_back(static_cast<double>(file->bytes()) / (file->last() - began));
      return;
    }
    std::shared_ptr<Link> link = message_link(network.endpoint(all.rank()), roster.listeners, 1e9);
    sfio::StripeName name;
    for (int i = 0; i < nodes; ++i) name.subfiles.push_back({"n" + std::to_string(i), "/f"});
    name.unit = unit;
    std::unique_ptr<StripedFile> file;
    std::vector<StripedFile::SubfileToken> token(static_cast<size_t>(nodes));
    if (mine->rank() == 0) {
      file = StripedFile::open(link, name, SubfileOpenMode::create);
      token = file->token();
    }
    mine->broadcast(std::as_writable_bytes(std::span(token)), 0);
    if (!file) file = StripedFile::adopt(link, "f", token);
    mine->barrier();
    const double begin = began = network.now();
    const int64_t messages = link->counts().messages;
    const std::vector<Block> blocks = pattern(mine->rank(), nodes, data, unit);
    if (calls == Calls::own)
      file->write(blocks);
    else
      transfer_together(*mine, Direction::write, {file.get(), blocks, {}});
    outcome.messages += link->counts().messages - messages;
    mine->barrier();
    outcome.seconds = network.now() - begin;
    if (mine->rank() == 0) say_goodbye(*link);
  });
  return outcome;
}

void say_rates(const char* name, const std::vector<double>& rates) {
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::printf("    %-14s a listener: average %6.1f, least %6.1f, maximum %6.1f MB/s\n", name,
              1e-6 * sum / static_cast<double>(rates.size()), 1e-6 * std::ranges::min(rates),
              1e-6 * std::ranges::max(rates));
}

// Compares a collective call with independent calls of every task. On a full crossbar, nothing obstructs
// independent calls. A part of the collective call's disadvantage is an artefact of the model, which advances
// its clock by a hundred latencies for each of two agreements.
void compare_collective(int nodes, std::span<std::byte> data, const HardwareModel& model) {
  constexpr int64_t unit = 64 << 10;
  for (const auto& [name, pattern] :
       {std::pair<const char*, Pattern>{"even", range_of}, {"uneven", units_of}}) {
    const SfioWriteOutcome own = write_all(nodes, data, unit, model, Calls::own, pattern);
    const SfioWriteOutcome together = write_all(nodes, data, unit, model, Calls::collective, pattern);
    std::printf("  %3d nodes, %s:\n", nodes, name);
    say_rates("collective", together.rates);
    say_rates("each its own", own.rates);
    const std::string row =
        std::string("sfio-collective-") + name + "-" + std::to_string(nodes) + "-nodes/own";
    bench::print_result({row, false, 1.1, 0}, "model", {together.seconds}, {own.seconds});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const int most = static_cast<int>(options.number("--nodes", 32));
  const int64_t bytes = options.number("--bytes", 16 << 20);
  const int64_t unit = options.number("--unit", 200);
  options.text("--dir", "");
  options.number("--pairs", 1);
  options.check();
  const HardwareModel model;
  std::vector<std::byte> data(static_cast<size_t>(bytes));  // of all tasks
  double one = 0;
  for (int nodes = 1; nodes <= most; nodes *= 2) {
    const double seconds = write_all(nodes, data, unit, model).seconds;
    if (nodes == 1) one = seconds;
    std::printf("  %3d nodes: %8.1f MB/s per listener, %9.1f MB/s in all (simulated)\n", nodes,
                1e-6 * static_cast<double>(bytes) / seconds,
                1e-6 * static_cast<double>(bytes) * nodes / seconds);
    bench::print_result({"sfio-scaling-" + std::to_string(nodes) + "-nodes-simulated", true, 0.9, 0}, "model",
                        {seconds}, {one});
  }
  for (int nodes = 1; nodes <= most; nodes *= 2) {
    const auto small =
        std::span(data).first(std::min(data.size(), static_cast<size_t>(nodes * default_room / 2)));
    const SfioWriteOutcome outcome = write_all(nodes, small, unit, model);
    const double calls = static_cast<double>(nodes) * nodes;  // every task's call uses every listener
    const std::string name = "sfio-" + std::to_string(nodes) + "-nodes/call-and-listener";
    bench::print_result({"messages-" + name, false, 1, 0}, "model", {static_cast<double>(outcome.messages)},
                        {calls});
    bench::print_result({"disk-requests-" + name, false, 1, 0}, "model",
                        {static_cast<double>(outcome.disk_requests)}, {calls});
  }
  for (int nodes = 4; nodes <= most; nodes *= 2) compare_collective(nodes, data, model);
  return 0;
}
