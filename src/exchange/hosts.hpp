// exchange/hosts: the hosts of a group of tasks, their aggregators, and the stage of this host.
//
// A host has up to four aggregators, its first tasks. Aggregator l of every host is in lane l, whose members
// talk to each other. Only some of them may own windows of files: owners are numbered lane by lane, in a lane
// in the order of the hosts. Every task knows how many there are, and only aggregators know the hosts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

class Hosts {
 public:
  struct Rules {              // the same on all tasks but for `most_here`
    int64_t aggregators = 0;  // in all; 0: as many as suit the hosts
    int64_t most_here = -1;   // on the host of this task; negative: any number
    bool shared = true;       // tasks of a host share memory; else each counts as a host
    bool operator==(const Rules&) const = default;
  };

  // Collective over `all`, which outlives it. Several hosts, and tasks that share no memory.
  static std::unique_ptr<Hosts> find(Comm& all, const Rules& rules);

  const Rules& rules() const { return rules_; }
  Comm& host() { return host_ ? *host_ : all_; }
  Comm& lane() { return *lane_; }  // an aggregator's
  int64_t lanes() const { return lanes_; }
  int my_lane() const { return my_lane_; }  // -1: no aggregator
  int64_t owners() const { return ends_[most_lanes - 1]; }
  const std::vector<int64_t>& owner_tasks() const { return owner_tasks_; }  // ranks in `all`, by owner

  // An aggregator's: the number of this host in its lane, and of those that own windows.
  int me() const { return lane_->rank(); }
  int64_t first_owner() const { return my_lane_ == 0 ? 0 : ends_[static_cast<size_t>(my_lane_) - 1]; }
  const std::vector<int>& owner_hosts() const { return owner_hosts_; }  // by owner, from first_owner() on

 private:
  Hosts(Comm& all, const Rules& rules) : all_(all), rules_(rules) {}
  void find_hosts();
  void find_owners();
  void share_owner_tasks();

  Comm& all_;
  const Rules rules_;
  std::unique_ptr<Comm> host_;
  std::unique_ptr<Comm> lane_;
  int my_lane_ = -1;
  int64_t lanes_ = 1;
  int64_t io_node_ = -1;                    // of this host; -1: there are none
  std::array<int64_t, most_lanes> ends_{};  // of the owners of each lane
  std::vector<int> owner_hosts_;
  std::vector<int64_t> owner_tasks_;
};

}  // namespace sheaf::exchange
