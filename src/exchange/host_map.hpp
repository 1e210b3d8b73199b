// exchange/host_map: determines the hosts of a group of tasks, their aggregators, and the tasks of this host.
//
// The first tasks of a host, up to four, are its aggregators. The k-th aggregators of all hosts form
// aggregator channel (lane) k and communicate with each other. Some aggregators own windows of files. Owners
// are numbered channel by channel, and within a channel in the order of the hosts. Every task knows the
// number of owners; only aggregators know the hosts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

class HostMap {
 public:
  // All tasks pass the same rules, except for `max_here`.
  struct Rules {
    int64_t aggregators = 0;  // total; 0: chosen to suit the hosts
    int64_t max_here = -1;    // maximum on the host of this task; negative: unlimited
    bool shared = true;       // tasks of a host share memory; false: each task counts as a host
    bool operator==(const Rules&) const = default;
  };

  // Determines the hosts and owners of the tasks of `all`, which must outlive the result. Used if the tasks
  // are on several hosts or share no memory. Collective over `all`.
  static std::unique_ptr<HostMap> find(Comm& all, const Rules& rules);

  const Rules& rules() const { return rules_; }
  Comm& host() { return host_ ? *host_ : all_; }
  Comm& lane() { return *lane_; }  // requires an aggregator
  int64_t lanes() const { return lanes_; }
  int my_lane() const { return my_lane_; }  // -1: this task is not an aggregator
  int64_t owners() const { return ends_[max_lanes - 1]; }
  const std::vector<int64_t>& owner_tasks() const { return owner_tasks_; }  // ranks in `all`, by owner

  // me() returns the rank of this host in the channel, and first_owner() the number of the first owner in the
  // channel. Only aggregators may call them.
  int me() const { return lane_->rank(); }
  int64_t first_owner() const { return my_lane_ == 0 ? 0 : ends_[static_cast<size_t>(my_lane_) - 1]; }
  const std::vector<int>& owner_hosts() const { return owner_hosts_; }  // by owner, from first_owner()

 private:
  HostMap(Comm& all, const Rules& rules) : all_(all), rules_(rules) {}
  void find_hosts();
  void find_owners();
  void share_owner_tasks();

  Comm& all_;
  const Rules rules_;
  std::unique_ptr<Comm> host_;
  std::unique_ptr<Comm> lane_;
  int my_lane_ = -1;
  int64_t lanes_ = 1;
  int64_t io_node_ = -1;                   // I/O node of this host; -1: none
  std::array<int64_t, max_lanes> ends_{};  // end of the owner numbers of each channel
  std::vector<int> owner_hosts_;
  std::vector<int64_t> owner_tasks_;
};

}  // namespace sheaf::exchange
