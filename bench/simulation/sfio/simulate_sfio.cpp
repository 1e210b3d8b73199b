// sheaf_simulate_sfio WHAT --network ethernet|tnet [OPTION VALUE]...: the measurements of the SFIO paper on a
// modelled Swiss-T1, in virtual time: the real client and listener code over a modelled network
// (support/fibers/fiber_messages.hpp). Prints one JSON object.
//
// - network: half of the nodes send to the other half, all to all
// - write, read: every node computes and serves; each compute task transfers its own range over all listeners
// - --nodes N: [8]
// - --bytes B: per sending or computing task [1 MiB]
// - --unit U: stripe unit [200]
// - --runs R: random placements of the tasks on the nodes; 1: in order [1]
// - --schedule turns|none|flow: every task starts with a different listener, as in local calls, or all with
//   the first one; flow: collective calls
// - --disk B: bytes per second of a disk [13 MB/s: 400 MB/s, the end of the axis of figure 11, over 31 disks]
// - --contention C: a message takes C times its time at the receiver once more for each other one waiting [0]
// - --calls optimised|single: mwritec and mreadc, or a message for every piece (mwrite, mread)
//
// TNET has eight crossbars with four nodes each. The paper's figure does not show which crossbars are
// connected. The model connects each crossbar with the adjacent ones and with those three further. Messages
// to other crossbars pass through an intermediate one. Routes are static, as in the paper; the pairs of nodes
// are distributed evenly over the four possible routes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
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

constexpr int switches = 8;
constexpr int nodes_of_switch = 4;
constexpr double disk_request = 1e-4;        // seconds
constexpr int64_t control_bytes = 16 << 10;  // of a message; data follow

struct SfioSimulationSetting {
  std::string what;
  std::string network;
  int nodes = 8;
  int64_t bytes = 1 << 20;
  int64_t unit = 200;
  double disk = 0;  // bytes per second
  double contention = 0;
  int runs = 1;
  std::string schedule = "turns";
  bool optimised = true;
};

// Returns the link of a switch to the next switch, to the one three further, to the preceding one, or to the
// one three before.
int link_between(int from, int to) {
  constexpr int steps[] = {1, 3, switches - 1, switches - 3};
  const int distance = (to - from + switches) % switches;
  for (int i = 0; i < 4; ++i)
    if (steps[i] == distance) return from * 4 + i;
  return -1;
}

// `node_of`: the node of every task.
NetworkModel model_of(const SfioSimulationSetting& setting, std::vector<int> node_of) {
  NetworkModel model;
  model.contention = setting.contention;
  model.copied = control_bytes;
  if (setting.network == "ethernet") {
    model.latency = 1e-4;
    model.bandwidth = 12.5e6;
    return model;
  }
  model.latency = 20e-6;
  model.bandwidth = 50e6;
  model.links = switches * 4;
  model.route = [node_of = std::move(node_of)](int from, int to) {
    const int sender = node_of[static_cast<size_t>(from)];
    const int receiver = node_of[static_cast<size_t>(to)];
    const int a = sender / nodes_of_switch;
    const int b = receiver / nodes_of_switch;
    if (a == b) return std::vector<int>{};
    if (const int direct = link_between(a, b); direct >= 0) return std::vector<int>{direct};
    std::vector<std::vector<int>> ways;
    for (int middle = 0; middle < switches; ++middle)
      if (link_between(a, middle) >= 0 && link_between(middle, b) >= 0)
        ways.push_back({link_between(a, middle), link_between(middle, b)});
    return ways[static_cast<size_t>(sender + receiver) % ways.size()];
  };
  return model;
}

// A disk that takes time and stores only sizes.
class TimedDiskFile final : public ForwardingFile {
 public:
  TimedDiskFile(std::shared_ptr<File> file, FiberNetwork& network, double disk, bool keeps)
      : ForwardingFile(std::move(file)), network_(network), disk_(disk), keeps_(keeps) {}
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    if (keeps_) return inner().write_at(data, offset);
    network_.spend(disk_request + static_cast<double>(data.size()) / disk_);
    if (const int64_t end = offset + std::ssize(data); inner().status().size < end) inner().resize(end);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    if (keeps_) return inner().read_at(data, offset);
    network_.spend(disk_request + static_cast<double>(data.size()) / disk_);
    return static_cast<size_t>(std::clamp<int64_t>(inner().status().size - offset, 0, std::ssize(data)));
  }
  void sync() override {}

 private:
  FiberNetwork& network_;
  const double disk_;
  const bool keeps_;
};

class TimedDiskStore final : public Store {
 public:
  TimedDiskStore(FiberNetwork& network, double disk) : network_(network), disk_(disk) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<TimedDiskFile>(memory_.open(path, access), network_, disk_,
                                           path.ends_with(".sfio"));
  }
  FileStatus status(const std::string& path) override { return memory_.status(path); }
  void remove(const std::string& path) override { memory_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { memory_.rename(from, to); }

 private:
  MemoryStore memory_;
  FiberNetwork& network_;
  const double disk_;
};

// A link without a schedule: every task starts with the first listener.
class Unscheduled final : public Link {
 public:
  explicit Unscheduled(std::unique_ptr<Link> link) : link_(std::move(link)) {}
  const std::vector<ListenerFacts>& listeners() const override { return link_->listeners(); }
  int find(const std::string& host, int occurrence) override { return link_->find(host, occurrence); }
  std::unique_ptr<ListenerCall> start(int listener, Request request, std::vector<MemoryRun> memory) override {
    return link_->start(listener, std::move(request), std::move(memory));
  }
  void back_off(double idle) override { link_->back_off(idle); }
  double now() override { return link_->now(); }
  LinkCounts counts() const override { return link_->counts(); }

 private:
  std::unique_ptr<Link> link_;
};

// Returns the node of each task; a compute task and a listener share a node.
std::vector<int> placement(const SfioSimulationSetting& setting, int run) {
  std::vector<int> nodes(switches * nodes_of_switch);
  std::iota(nodes.begin(), nodes.end(), 0);
  if (setting.runs > 1)
    std::shuffle(nodes.begin(), nodes.end(), std::mt19937(static_cast<unsigned>(run) + 1));
  std::vector<int> of_tasks(nodes.begin(), nodes.begin() + setting.nodes);
  of_tasks.insert(of_tasks.end(), nodes.begin(), nodes.begin() + setting.nodes);
  return of_tasks;
}

void wait(Messages& messages, Transfer& transfer) {
  while (!transfer.done()) messages.back_off(0);
}

// Returns the seconds of an all-to-all transfer from half of the nodes to the other half, in messages of 64
// KiB.
double network_alone(const SfioSimulationSetting& setting, int run) {
  constexpr int64_t message = 64 << 10;
  const int half = setting.nodes / 2;
  FiberNetwork network(2 * setting.nodes, model_of(setting, placement(setting, run)));
  FiberOptions options;
  options.ranks = 2 * half;
  options.stack_bytes = 128 << 10;
  double end = 0;
  run_fibers(options, [&](Comm& all) {
    const auto endpoint = network.endpoint(all.rank());
    const int64_t share = setting.bytes / half;
    const int64_t rounds = (share + message - 1) / message;
    std::vector<std::byte> memory(static_cast<size_t>(std::min(message, share)));
    for (int64_t round = 0; round < rounds; ++round) {
      const MemoryRun run_of_bytes{memory.data(), std::min(message, share - round * message), 0, 1};
      for (int step = 0; step < half; ++step) {
        const bool sends = all.rank() < half;
        const int peer = sends ? half + (all.rank() + step) % half : (all.rank() - half - step + half) % half;
        const auto transfer = sends ? endpoint->send(peer, 1, {&run_of_bytes, 1})
                                    : endpoint->receive(peer, 1, {&run_of_bytes, 1});
        wait(*endpoint, *transfer);
      }
    }
    end = std::max(end, network.now());
  });
  return end;
}

double striped(const SfioSimulationSetting& setting, int run) {
  const int nodes = setting.nodes;
  const bool writes = setting.what == "write";
  double seconds = 0;
  const auto data =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(setting.bytes));  // of all tasks
  FiberNetwork network(2 * nodes, model_of(setting, placement(setting, run)));
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
      TimedDiskStore disks(network, setting.disk);
      const auto service = make_service(disks, roster, all.rank(), own);
      serve(*network.endpoint(all.rank()), *service, own.room, *own_place());
      return;
    }
    std::unique_ptr<Link> made = message_link(network.endpoint(all.rank()), roster.listeners, 1e9);
    if (setting.schedule == "none") made = std::make_unique<Unscheduled>(std::move(made));
    const std::shared_ptr<Link> link = std::move(made);
    sfio::StripeName name;
    for (int i = 0; i < nodes; ++i) name.subfiles.push_back({"n" + std::to_string(i), "/f"});
    name.unit = setting.unit;
    std::unique_ptr<StripedFile> file;
    std::vector<StripedFile::SubfileToken> token(static_cast<size_t>(nodes));
    if (mine->rank() == 0) {
      file = StripedFile::open(link, name, SubfileOpenMode::create);
      token = file->token();
    }
    mine->broadcast(std::as_writable_bytes(std::span(token)), 0);
    if (!file) file = StripedFile::adopt(link, "f", token);
    const Block block{setting.bytes * mine->rank(), data.get(), setting.bytes};
    const auto transfer = [&](Direction direction) {
      if (setting.schedule == "flow") {
        transfer_together(*mine, direction, {file.get(), {block}, {}});
        return;
      }
      if (!setting.optimised) return file->transfer_simply(direction, block);
      if (direction == Direction::write) return file->write({&block, 1});
      file->read({&block, 1});
    };
    if (!writes) file->resize(setting.bytes * nodes);
    mine->barrier();
    const double begin = network.now();
    transfer(writes ? Direction::write : Direction::read);
    mine->barrier();
    seconds = network.now() - begin;
    if (mine->rank() == 0) say_goodbye(*link);
  });
  return seconds;
}

// Returns what is wrong with a setting; empty if nothing is.
std::string problem_of(const SfioSimulationSetting& setting) {
  const bool alone = setting.what == "network";
  if (!alone && setting.what != "write" && setting.what != "read")
    return "'" + setting.what + "' is none of network, write, read";
  if (setting.network != "ethernet" && setting.network != "tnet")
    return "no network is called '" + setting.network + "'";
  if (setting.schedule != "turns" && setting.schedule != "none" && setting.schedule != "flow")
    return "no schedule is called '" + setting.schedule + "'";
  if (setting.nodes < (alone ? 2 : 1) || setting.nodes > switches * nodes_of_switch)
    return "there are 32 nodes";
  if (setting.bytes < setting.nodes ||
      std::min({static_cast<double>(setting.unit), static_cast<double>(setting.runs), setting.disk}) <= 0)
    return "--bytes, --unit, --runs and --disk are positive";
  return "";
}

int usage(const std::string& what) {
  std::fprintf(stderr,
               "sheaf_simulate_sfio: %s\nusage: sheaf_simulate_sfio network|write|read --network "
               "ethernet|tnet [--nodes 1..32] "
               "[--bytes B] [--unit U] [--runs R] [--disk B] [--contention C] [--schedule turns|none|flow] "
               "[--calls optimised|single]\n",
               what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage("what is to be simulated?");
  SfioSimulationSetting setting;
  setting.what = argv[1];
  bench::BenchOptions options(argc - 1, argv + 1);
  setting.network = options.text("--network", "tnet");
  setting.nodes = static_cast<int>(options.number("--nodes", 8));
  setting.bytes = options.number("--bytes", 1 << 20);
  setting.unit = options.number("--unit", 200);
  setting.runs = static_cast<int>(options.number("--runs", 1));
  setting.schedule = options.text("--schedule", "turns");
  setting.disk = std::strtod(options.text("--disk", "13e6").c_str(), nullptr);
  setting.contention = std::strtod(options.text("--contention", "0").c_str(), nullptr);
  const std::string calls = options.text("--calls", "optimised");
  options.check();
  setting.optimised = calls == "optimised";
  if (calls != "optimised" && calls != "single") return usage("no calls are called '" + calls + "'");
  if (const std::string problem = problem_of(setting); !problem.empty()) return usage(problem);
  const bool alone = setting.what == "network";
  std::vector<double> rates;
  for (int run = 0; run < setting.runs; ++run) {
    const int senders = alone ? setting.nodes / 2 : setting.nodes;
    const int64_t each = alone ? setting.bytes / senders * senders : setting.bytes;
    rates.push_back(1e-6 * static_cast<double>(each) * senders /
                    (alone ? network_alone(setting, run) : striped(setting, run)));
  }
  const auto [least, most] = std::ranges::minmax(rates);
  std::printf("{\"MB/s\": {\"mean\": %.6g, \"least\": %.6g, \"most\": %.6g}, \"runs\": %d}\n",
              std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size()), least,
              most, setting.runs);
  return 0;
}
