// exchange/host_map: determines the hosts of a group of tasks, their aggregators, and the tasks of this host.
//
// The first tasks of a host, up to four, communicate with other hosts: the k-th of all hosts form aggregator
// channel k. Aggregators are those that own windows of files. They are numbered channel by channel, and
// within a channel in the order of the hosts. Every task knows the number of aggregators; only the tasks of
// channels know the hosts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.hpp"
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
    bool psets = true;        // aggregators are spread over I/O nodes and hosts; false: on the first hosts
    bool operator==(const Rules&) const = default;
  };

  // Determines the hosts and aggregators of the tasks of `all`, which must outlive the result. Used if the
  // tasks are on several hosts or share no memory. Collective over `all`.
  static std::unique_ptr<HostMap> find(Comm& all, const Rules& rules);

  const Rules& rules() const { return rules_; }
  Comm& host() { return host_ ? *host_ : all_; }
  Comm& channel() {  // requires channel_number() >= 0
    SHEAF_ASSERT(channel_number_ >= 0 && channel_);
    return *channel_;
  }
  int64_t channels() const { return channels_; }
  int channel_number() const { return channel_number_; }  // -1: this task is in no channel
  int64_t aggregators() const { return ends_[max_channels - 1]; }
  // Returns the ranks in `all`, by number of the aggregator.
  const std::vector<int64_t>& aggregator_tasks() const { return aggregator_tasks_; }

  // me() returns the rank of this host in the channel, and first_aggregator() the number of the first
  // aggregator of the channel. Only tasks of a channel may call them.
  int me() const {
    SHEAF_ASSERT(channel_number_ >= 0 && channel_);
    return channel_->rank();
  }
  int64_t first_aggregator() const {
    SHEAF_ASSERT(channel_number_ >= 0);
    return channel_number_ == 0 ? 0 : ends_[static_cast<size_t>(channel_number_) - 1];
  }
  // Returns the hosts of the aggregators of this channel, from first_aggregator() on.
  const std::vector<int>& aggregator_hosts() const { return aggregator_hosts_; }
  // Returns true if this host has an aggregator of this channel.
  bool owns_windows() const { return std::ranges::find(aggregator_hosts_, me()) != aggregator_hosts_.end(); }

 private:
  HostMap(Comm& all, const Rules& rules) : all_(all), rules_(rules) {}
  void find_hosts();
  void find_aggregators();
  void share_aggregator_tasks();

  Comm& all_;
  const Rules rules_;
  std::unique_ptr<Comm> host_;
  std::unique_ptr<Comm> channel_;
  int channel_number_ = -1;
  int64_t channels_ = 1;
  int64_t io_node_ = -1;                      // I/O node of this host; -1: none
  std::array<int64_t, max_channels> ends_{};  // end of the aggregators of each channel
  std::vector<int> aggregator_hosts_;
  std::vector<int64_t> aggregator_tasks_;
};

}  // namespace sheaf::exchange
