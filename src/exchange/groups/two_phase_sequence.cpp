// How the tasks of a group learn where their pieces lie one behind the other.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_order.hpp"
#include "exchange/groups/two_phase.hpp"

namespace sheaf::exchange {

// A number of every member, at the aggregator.
std::vector<int64_t> TwoPhase::gather(const Group& group, int64_t mine) {
  const uint64_t phase = mail_.begin_phases(1);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (!leads() && !is_near(group.aggregator))
    outgoing.push_back({group.aggregator, std::as_bytes(std::span(&mine, 1))});
  mail_.put(phase, [&] { store(mail_.code(comm_.rank()).data(), mine, native_order); });
  std::vector<int64_t> all(leads() ? static_cast<size_t>(group.size()) : 0, mine);
  const auto task_of = [&](size_t i) { return group.first + static_cast<int>(i); };
  for (size_t i = 0; i < all.size(); ++i)
    if (!is_near(task_of(i)) && task_of(i) != comm_.rank())
      incoming.push_back({task_of(i), std::as_writable_bytes(std::span(&all[i], 1))});
  if (!mail_.reaches_all()) comm_.exchange(std::move(outgoing), std::move(incoming))->finish();
  if (leads())
    mail_.collect(phase, [&] {
      for (size_t i = 0; i < all.size(); ++i)
        if (is_near(task_of(i))) all[i] = load<int64_t>(mail_.code(task_of(i)).data(), native_order);
    });
  return all;
}

// places[i] of the aggregator to member i.
TwoPhase::Place TwoPhase::deal(const Group& group, std::span<const Place> places) {
  const uint64_t phase = mail_.begin_phases(1);
  Place mine{};
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (leads())
    mail_.offer(phase, [&] {
      for (size_t i = 0; i < places.size(); ++i) {
        const int task = group.first + static_cast<int>(i);
        const auto bytes = std::as_bytes(places.subspan(i, 1));
        if (task == comm_.rank()) {
          mine = places[i];
        } else if (is_near(task)) {
          std::ranges::copy(bytes, mail_.code(task).begin());
        } else {
          outgoing.push_back({task, bytes});
        }
      }
    });
  if (!leads() && !is_near(group.aggregator))
    incoming.push_back({group.aggregator, std::as_writable_bytes(std::span(&mine, 1))});
  mail_.take(phase, [&] { std::memcpy(&mine, mail_.code(comm_.rank()).data(), sizeof mine); });
  if (!mail_.reaches_all()) comm_.exchange(std::move(outgoing), std::move(incoming))->finish();
  return mine;
}

TwoPhase::Sequence TwoPhase::line_up(const Group& group, int64_t mine, int64_t largest, int64_t window) {
  begin_groups(group);
  mail_.provide({sizeof(Place), std::min(largest, window), 2});
  Sequence sequence;
  sequence.sizes = gather(group, mine);
  std::vector<Place> places;
  for (const int64_t size : sequence.sizes) {
    places.push_back({sequence.total, 0});
    sequence.total += size;
  }
  for (Place& place : places) place.total = sequence.total;
  const Place place = deal(group, places);
  sequence.begin = place.begin;
  sequence.total = place.total;
  return sequence;
}

void TwoPhase::plan_sequence(const Group& group, const Sequence& sequence, int64_t window, int64_t rounds) {
  begin_groups(group);
  first_phase_ = mail_.begin_phases(rounds);
  step_ = window;
  steps_ = rounds;
  in_sequence_ = true;
  int64_t offset = 0;
  for (int task = group.first; const int64_t size : sequence.sizes) {
    if (size > 0)
      senders_.push_back(
          {task, size, layout::TypeMap::indexed({&size, 1}, {&offset, 1}, layout::TypeMap::bytes(1))});
    offset += size;
    ++task;
  }
}

}  // namespace sheaf::exchange
