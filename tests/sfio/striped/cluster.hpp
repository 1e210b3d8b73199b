// cluster: compute tasks and I/O listeners as fibers over a modelled network. Every listener has a store of
// its own, like the disk of a host.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sfio/session/listener.hpp"
#include "sfio/session/message_link.hpp"
#include "sfio/session/session.hpp"
#include "sfio/striped_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/fibers/fiber_messages.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {

using sfio::Block;
using sfio::Link;
using sfio::Role;
using sfio::Roster;
using sfio::ServiceCounts;
using sfio::SessionOptions;
using sfio::StripedFile;

inline std::string host(int number) { return "host" + std::to_string(number); }

// Returns "host0,/f.dat;host1,/f.dat;...". Several subfiles of a host get different paths.
inline std::string name_on(int listeners, int subfiles, const std::string& path = "/f.dat") {
  std::string name;
  for (int i = 0; i < subfiles; ++i)
    name += host(i % listeners) + "," + path + (i < listeners ? "" : std::to_string(i / listeners)) + ";";
  return name;
}

inline Code code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code();
  }
  return Code::ok;
}

struct StripedCluster {
  int compute = 1;
  int listeners = 2;
  int64_t room = 1 << 16;  // bytes of a message
  double timeout = 10;
  uint64_t seed = 0;
  NetworkModel model;
  std::vector<std::unique_ptr<MemoryStore>> disks;
  std::vector<std::unique_ptr<FaultyStore>> stores;
  std::vector<ServiceCounts> served;
  std::unique_ptr<FiberNetwork> network;

  // The parts of the cluster that a compute task uses.
  struct ComputeTask {
    Comm& comm;  // communicator of the compute tasks
    std::shared_ptr<Link> link;
    FiberNetwork& network;
  };

  StripedCluster(int compute_tasks, int listener_tasks) : compute(compute_tasks), listeners(listener_tasks) {
    for (int i = 0; i < listeners; ++i) {
      disks.push_back(std::make_unique<MemoryStore>());
      stores.push_back(std::make_unique<FaultyStore>(*disks.back()));
    }
    served.resize(static_cast<size_t>(listeners));
  }

  // Returns the task number of a listener. Compute tasks have the lower numbers.
  int task_of_listener(int number) const { return compute + number; }

  void run(const std::function<void(ComputeTask&)>& body,
           const std::function<Store*(FiberNetwork&, int)>& disk_of = {}) {
    network = std::make_unique<FiberNetwork>(compute + listeners, model);
    FiberOptions options;
    options.ranks = compute + listeners;
    options.stack_bytes = 256 << 10;
    options.seed = seed;
    const auto outcomes = run_fibers_collect(options, [&](Comm& all) {
      const bool serves = all.rank() >= compute;
      SessionOptions own;
      own.room = room;
      own.timeout = timeout;
      if (serves) own.name = host(all.rank() - compute);
      const Roster roster = make_roster(all, serves ? Role::listener : Role::compute, own, "");
      const auto mine = all.split(serves ? 1 : 0, all.rank());
      if (serves) {
        const auto number = static_cast<size_t>(all.rank() - compute);
        Store* const disk = disk_of ? disk_of(*network, static_cast<int>(number)) : stores[number].get();
        const auto service = make_service(*disk, roster, all.rank(), own);
        const auto messages = network->endpoint(all.rank());
        double last = network->now();
        // The fiber of a dead listener must end, too.
        const auto stopped = [&] { return is_over && (last = network->now()) >= 0; };
        const auto place = place_of ? place_of(*network, static_cast<int>(number)) : sfio::own_place();
        serve(*messages, *service, room, *place, stopped);
        served[number] = service->counts();
        return;
      }
      ComputeTask task{*mine, message_link(network->endpoint(all.rank()), roster.listeners, timeout),
                       *network};
      std::exception_ptr failed;
      try {
        body(task);
      } catch (...) {
        failed = std::current_exception();
      }
      mine->barrier();
      if (mine->rank() == 0) say_goodbye(*task.link);
      mine->barrier();
      is_over = true;
      if (failed) std::rethrow_exception(failed);
    });
    for (const auto& outcome : outcomes)
      if (outcome) std::rethrow_exception(outcome);
  }

  std::string contents(int listener, const std::string& path = "/f.dat") const {
    const auto bytes = disks[static_cast<size_t>(listener)]->contents(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  bool is_over = false;
  std::function<std::unique_ptr<sfio::Workplace>(FiberNetwork&, int)>
      place_of;  // workplace of a listener; empty: its own
};

inline std::unique_ptr<StripedFile> open_named(StripedCluster::ComputeTask& task, const std::string& name,
                                               int64_t unit,
                                               sfio::SubfileOpenMode mode = sfio::SubfileOpenMode::create) {
  sfio::StripeName parsed = sfio::parse_stripe_name(name);
  parsed.unit = unit;
  return StripedFile::open(task.link, parsed, mode);
}

inline Block block(int64_t offset, std::string& text) {
  return {offset, reinterpret_cast<std::byte*>(text.data()), std::ssize(text)};
}

inline void write_text(StripedFile& file, int64_t offset, std::string text) {
  const Block one = block(offset, text);
  file.write({&one, 1});
}

inline std::string read_text(StripedFile& file, int64_t offset, int64_t length) {
  std::string text(static_cast<size_t>(length), '?');
  const int64_t got = file.read_block(block(offset, text));
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace sheaf::test
