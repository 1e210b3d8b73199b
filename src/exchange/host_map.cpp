#include "exchange/host_map.hpp"

#include <algorithm>
#include <limits>

#include "comm/agree.hpp"
#include "comm/topology.hpp"
#include "exchange/pieces/constants.hpp"
#include "layout/aggregators.hpp"

namespace sheaf::exchange {

namespace {

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
  int64_t fewest = -std::min<int64_t>(host_->size(), max_channels);
  all_.all_max(std::span(&fewest, 1));
  channels_ = -fewest;
  const int64_t number = host_->rank();
  // The members of a channel are ordered by the first tasks of their hosts. A host gets the I/O node of its
  // first task.
  std::array<int64_t, 2> first{all_.rank(), io_node};
  host_->broadcast(bytes_of(first), 0);
  io_node_ = first[1];
  auto channel = all_.split(static_cast<int>(std::min(number, channels_)), static_cast<int>(first[0]));
  if (number >= channels_) return;
  channel_number_ = static_cast<int>(number);
  channel_ = std::move(channel);
}

void HostMap::find_aggregators() {
  if (channel_number_ >= 0) {
    const auto count = static_cast<size_t>(channel_->size());
    const int64_t allowed = rules_.max_here < 0 ? channels_ : std::min(rules_.max_here, channels_);
    std::array<int64_t, 4> mine{io_node_ < 0 ? channel_->rank() : io_node_, host_->size(), allowed,
                                all_.rank()};
    const Gathered gathered = channel_->gather(std::as_bytes(std::span(mine)), 0);
    std::vector<int64_t> all(count * mine.size());
    if (channel_->rank() == 0)
      std::ranges::copy(gathered.bytes, std::as_writable_bytes(std::span(all)).begin());
    channel_->broadcast(bytes_of(all), 0);
    std::vector<layout::AggregatorHost> hosts;
    for (size_t i = 0; i < all.size(); i += mine.size()) hosts.push_back({all[i], all[i + 1], all[i + 2]});
    const auto counts = layout::spread_aggregators(hosts, std::min(rules_.aggregators, max_aggregators));
    int64_t next = 0;
    for (int64_t channel = 0; channel < max_channels; ++channel) {
      for (size_t host = 0; host < count && next < max_aggregators; ++host) {
        if (counts[host] <= channel) continue;
        if (channel == channel_number_) {
          aggregator_hosts_.push_back(static_cast<int>(host));
          aggregator_tasks_.push_back(all[host * mine.size() + 3]);
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
