#include "sharedfile/opening.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "comm/shared_meeting.hpp"

namespace sheaf {

namespace {

static_assert(sizeof(Opening) <= SharedMeeting::most_bytes);

// use(number), use(choice), use(flag) for all members but the list.
template <class H, class Use>
void for_each_member(H& hints, Use use) {
  int i = 0;
  const std::array numbers{&hints.aggregators,     &hints.buffer_size,   &hints.sieve_write_size,
                           &hints.sieve_read_size, &hints.striping_unit, &hints.striping_factor,
                           &hints.block_size,      &hints.io_tasks};
  static_assert(numbers.size() == std::extent_v<decltype(Opening::numbers)>);
  for (auto* number : numbers) use.number(i++, *number);
  i = 0;
  const std::array choices{&hints.collective_write, &hints.collective_read, &hints.sieve_write,
                           &hints.sieve_read};
  static_assert(choices.size() == std::extent_v<decltype(Opening::choices)>);
  for (auto* choice : choices) use.choice(i++, *choice);
  i = 0;
  const std::array flags{&hints.no_independent, &hints.shared, &hints.overlap, &hints.reuse};
  static_assert(flags.size() == std::extent_v<decltype(Opening::flags)>);
  for (auto* flag : flags) use.flag(i++, *flag);
}

struct Pack {
  Opening& to;
  void number(int i, int64_t value) { to.numbers[i] = value; }
  void choice(int i, Choice value) { to.choices[i] = static_cast<uint8_t>(value); }
  void flag(int i, bool value) { to.flags[i] = value; }
};
struct Unpack {
  const Opening& from;
  void number(int i, int64_t& value) { value = from.numbers[i]; }
  void choice(int i, Choice& value) { value = static_cast<Choice>(from.choices[i]); }
  void flag(int i, bool& value) { value = from.flags[i]; }
};

}  // namespace

void keep(const std::string& from, std::span<char> to) {
  const size_t length = std::min(from.size(), to.size() - 1);
  std::memcpy(to.data(), from.data(), length);
  to[length] = 0;
}

void keep(const Hints& hints, Opening& to) {
  keep(hints.config_list, to.config_list);
  for_each_member(hints, Pack{to});
}

Hints hints_in(const Opening& opening) {
  Hints hints;
  hints.config_list = opening.config_list;
  for_each_member(hints, Unpack{opening});
  return hints;
}

}  // namespace sheaf
