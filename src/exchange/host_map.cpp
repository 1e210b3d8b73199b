#include "exchange/host_map.hpp"

#include <algorithm>
#include <limits>

#include "comm/packing.hpp"
#include "comm/reduce.hpp"
#include "comm/topology.hpp"
#include "exchange/pieces/constants.hpp"
#include "layout/aggregators.hpp"

namespace sheaf::exchange {

namespace {

// Description of a host, sent by its task in an aggregator channel.
struct ChannelMember : layout::AggregatorHost {
  int64_t rank = 0;  // of the task
};

std::span<std::byte> bytes_of(std::span<int64_t> numbers) { return std::as_writable_bytes(numbers); }

}  // namespace

std::unique_ptr<HostMap> HostMap::find(Comm& all, const Rules& rules) {
  std::unique_ptr<HostMap> hosts(new HostMap(all, rules));
  hosts->find_hosts();
  hosts->find_aggregators();
  return hosts;
}

void HostMap::find_hosts() {
  const int64_t io_node = find_io_node(all_).value_or(-1);
  host_ = rules_.shared ? all_.split_by_node() : self_comm();
  MinMax tasks(std::min<int64_t>(host_->size(), max_channels));
  reduce(all_, tasks);
  channels_ = tasks.min;
  const int64_t number = host_->rank();
  // The members of a channel are ordered by the first tasks of their hosts. A host gets the I/O node of its
  // first task.
  struct {
    int64_t rank, io_node;
  } first{all_.rank(), io_node};
  host_->broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
  io_node_ = first.io_node;
  auto channel = all_.split(static_cast<int>(std::min(number, channels_)), static_cast<int>(first.rank));
  if (number >= channels_) return;
  channel_number_ = static_cast<int>(number);
  channel_ = std::move(channel);
}

void HostMap::find_aggregators() {
  if (channel_number_ >= 0) {
    const auto count = static_cast<size_t>(channel_->size());
    const int64_t allowed = rules_.max_here < 0 ? channels_ : std::min(rules_.max_here, channels_);
    const ChannelMember mine{{io_node_, host_->size(), allowed}, all_.rank()};
    const Gathered gathered = channel_->gather(value_bytes(mine), 0);
    std::vector<ChannelMember> all(count);
    if (channel_->rank() == 0)
      std::ranges::copy(gathered.bytes, std::as_writable_bytes(std::span(all)).begin());
    channel_->broadcast(std::as_writable_bytes(std::span(all)), 0);
    const std::vector<layout::AggregatorHost> hosts(all.begin(), all.end());
    const auto spread = layout::spread_aggregators(hosts, std::min(rules_.aggregators, max_aggregators));
    const auto counts = rules_.psets ? spread : layout::on_first_hosts(hosts, spread);
    int64_t next = 0;
    for (int64_t channel = 0; channel < max_channels; ++channel) {
      for (size_t host = 0; host < count && next < max_aggregators; ++host) {
        if (counts[host] <= channel) continue;
        if (channel == channel_number_) {
          aggregator_hosts_.push_back(static_cast<int>(host));
          aggregator_tasks_.push_back(all[host].rank);
        }
        ++next;
      }
      ends_[static_cast<size_t>(channel)] = next;
    }
  }
  host_->broadcast(bytes_of(ends_), 0);
  share_aggregator_tasks();
}

// Sends the ranks of all aggregators to all tasks of the host. Each task of a channel knows its aggregators
// only, so it broadcasts them.
void HostMap::share_aggregator_tasks() {
  std::vector<int64_t> tasks(static_cast<size_t>(aggregators()));
  if (channel_number_ >= 0) std::ranges::copy(aggregator_tasks_, tasks.begin() + first_aggregator());
  int64_t first = 0;
  for (size_t channel = 0; channel < ends_.size(); first = ends_[channel++])
    if (ends_[channel] > first)
      host_->broadcast(bytes_of(std::span(tasks).subspan(static_cast<size_t>(first),
                                                         static_cast<size_t>(ends_[channel] - first))),
                       static_cast<int>(channel));
  aggregator_tasks_ = std::move(tasks);
}

}  // namespace sheaf::exchange
