#include "mpiio/file/hints.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/parse.hpp"
#include "base/setting.hpp"

namespace sheaf::mpiio {

namespace {

// The words accepted for a choice. The first word of each value is the one displayed.
using ChoiceWord = std::pair<std::string_view, Choice>;
constexpr ChoiceWord choices[] = {{"enable", Choice::enabled},     {"true", Choice::enabled},
                                  {"1", Choice::enabled},          {"disable", Choice::disabled},
                                  {"false", Choice::disabled},     {"0", Choice::disabled},
                                  {"automatic", Choice::automatic}};

// The words of sheaf_exchange. One of each kind may be given; "auto" selects both automatically.
using DataWord = std::pair<std::string_view, ExchangeMethod>;
constexpr DataWord data_words[] = {{"messages", ExchangeMethod::messages},
                                   {"alltoallv", ExchangeMethod::alltoallv},
                                   {"neighbours", ExchangeMethod::neighbours}};
using RangesWord = std::pair<std::string_view, ReductionMethod>;
constexpr RangesWord ranges_words[] = {{"hosts", ReductionMethod::hosts},
                                       {"allreduce", ReductionMethod::allreduce}};
constexpr std::string_view automatic_exchange = "auto";

// Returns the methods that the words select; nullopt if a word is unknown.
std::optional<exchange::ExchangeMethods> exchange_methods(std::string_view words) {
  exchange::ExchangeMethods methods;
  while (!words.empty()) {
    const std::string_view word = trimmed(take_word(words));
    const auto* const data = std::ranges::find(data_words, word, &DataWord::first);
    const auto* const ranges = std::ranges::find(ranges_words, word, &RangesWord::first);
    if (data != std::end(data_words)) {
      methods.data = data->second;
    } else if (ranges != std::end(ranges_words)) {
      methods.ranges = ranges->second;
    } else if (word == automatic_exchange) {
      methods = {};
    } else {
      return std::nullopt;
    }
  }
  return methods;
}

std::string exchange_words(const exchange::ExchangeMethods& methods) {
  const std::string_view data = methods.data
                                    ? std::ranges::find(data_words, *methods.data, &DataWord::second)->first
                                    : automatic_exchange;
  const std::string_view ranges = std::ranges::find(ranges_words, methods.ranges, &RangesWord::second)->first;
  return std::string(data).append(",").append(ranges);
}

enum class HintKind : uint8_t { count, bytes, choice, flag, text, methods };

struct KnownHint {
  std::string_view key;
  const char* variable;  // equivalent environment variable; null: none
  HintKind kind;
  int64_t HintValues::*number = nullptr;  // for counts and bytes
  Choice HintValues::*choice = nullptr;
};
// In display order.
constexpr KnownHint known[] = {
    {"cb_nodes", "SHEAF_CB_NODES", HintKind::count, &Hints::aggregators},
    {"cb_buffer_size", "SHEAF_CB_BUFFER_SIZE", HintKind::bytes, &Hints::buffer_size},
    {"romio_cb_write", "SHEAF_CB_WRITE", HintKind::choice, nullptr, &Hints::collective_write},
    {"romio_cb_read", "SHEAF_CB_READ", HintKind::choice, nullptr, &Hints::collective_read},
    {"romio_ds_write", "SHEAF_DS_WRITE", HintKind::choice, nullptr, &Hints::sieve_write},
    {"romio_ds_read", "SHEAF_DS_READ", HintKind::choice, nullptr, &Hints::sieve_read},
    {"ind_wr_buffer_size", nullptr, HintKind::bytes, &Hints::sieve_write_size},
    {"ind_rd_buffer_size", nullptr, HintKind::bytes, &Hints::sieve_read_size},
    {"striping_unit", nullptr, HintKind::bytes, &Hints::striping_unit},
    {"striping_factor", nullptr, HintKind::count, &Hints::striping_factor},
    {"cb_config_list", nullptr, HintKind::text},
    {"romio_no_indep_rw", nullptr, HintKind::flag},
    {"sheaf_block_size", "SHEAF_BLOCK_SIZE", HintKind::bytes, &Hints::block_size},
    {"sheaf_iotasks", "SHEAF_IOTASKS", HintKind::count, &Hints::io_tasks},
    {"sheaf_exchange", "SHEAF_EXCHANGE", HintKind::methods},
    {"sheaf_hold_writes", "SHEAF_HOLD_WRITES", HintKind::choice, nullptr, &Hints::hold_writes}};

const KnownHint* find_known(std::string_view key) {
  const KnownHint* const found = std::ranges::find(known, key, &KnownHint::key);
  return found == std::end(known) ? nullptr : found;
}

// Returns true if the hint selects whether collective transfers exchange.
bool is_exchange(const KnownHint& hint) {
  return hint.choice == &Hints::collective_write || hint.choice == &Hints::collective_read;
}

std::string_view first_component(std::string_view host) { return host.substr(0, host.find('.')); }

struct Optimisation {
  std::string_view word;
  bool HintValues::*used;
};
constexpr Optimisation optimisations[] = {{"shared", &Hints::shared},      {"overlap", &Hints::overlap},
                                          {"reuse", &Hints::reuse},        {"psets", &Hints::psets},
                                          {"aligned", &Hints::aligned},    {"alltoall", &Hints::alltoall},
                                          {"allreduce", &Hints::allreduce}};

}  // namespace

bool Hints::set(std::string_view key, std::string_view value) {
  value = trimmed(value);
  const KnownHint* const hint = find_known(key);
  if (!hint) return false;
  switch (hint->kind) {
    case HintKind::count:
    case HintKind::bytes: {
      const auto number = hint->kind == HintKind::count ? parse_number(value) : parse_bytes(value);
      if (!number || *number < 1) return false;
      this->*hint->number = *number;
      return true;
    }
    case HintKind::choice: {
      const auto* const found = std::ranges::find(choices, value, &ChoiceWord::first);
      if (found == std::end(choices)) return false;
      if (!no_independent || !is_exchange(*hint)) this->*hint->choice = found->second;
      return true;
    }
    case HintKind::flag:
      no_independent = value == "true";
      if (no_independent) collective_write = collective_read = Choice::enabled;
      return no_independent || value == "false";
    case HintKind::text:
      config_list = value;
      return true;
    case HintKind::methods: {
      const auto methods = exchange_methods(value);
      if (methods) static_cast<exchange::ExchangeMethods&>(*this) = *methods;
      return methods.has_value();
    }
  }
  return true;
}

const char* Hints::expected(std::string_view key) {
  static constexpr const char* by_kind[] = {"a number from 1 on",
                                            "bytes from 1 on, as 65536, 64k or 1M",
                                            "enable, disable or automatic",
                                            "true or false",
                                            nullptr,
                                            "auto, or words of messages, alltoallv, neighbours, hosts, "
                                            "allreduce"};
  const KnownHint* const hint = find_known(key);
  return hint ? by_kind[static_cast<size_t>(hint->kind)] : nullptr;
}

int64_t Hints::allowed_on(std::string_view host) const {
  if (config_list.empty()) return -1;
  int64_t others = 0;
  for (std::string_view list = config_list; !list.empty();) {
    const std::string_view word = take_word(list);
    const size_t colon = word.rfind(':');
    const std::string_view name = trimmed(word.substr(0, colon));
    const std::string_view number = colon == std::string_view::npos ? "1" : trimmed(word.substr(colon + 1));
    const int64_t most = number == "*" ? -1 : std::max<int64_t>(parse_number(number).value_or(1), 0);
    if (name == host || (name != "*" && first_component(name) == first_component(host))) return most;
    if (name == "*") others = most;
  }
  return others;
}

void Hints::apply_environment() {
  for (const KnownHint& hint : known) {
    const char* const value = hint.variable ? setting(hint.variable) : nullptr;
    if (value && !set(hint.key, value)) tell_not_understood(hint.variable, value, expected(hint.key));
  }
  const char* const off = setting("SHEAF_MPIIO_OFF");
  std::string_view words = off ? off : "";
  while (!words.empty()) {
    const std::string_view word = take_word(words);
    if (!word.empty() && !switch_off(word)) {
      std::string words_known;
      for (const Optimisation& other : optimisations)
        words_known.append(words_known.empty() ? "" : ", ").append(other.word);
      tell_not_understood("SHEAF_MPIIO_OFF", word, "words of " + words_known);
    }
  }
}

bool Hints::switch_off(std::string_view word) {
  const auto* const one = std::ranges::find(optimisations, word, &Optimisation::word);
  if (one == std::end(optimisations)) return false;
  this->*one->used = false;
  return true;
}

std::vector<std::pair<std::string, std::string>> Hints::words() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const KnownHint& hint : known) {
    std::string value;
    if (hint.kind == HintKind::choice) {
      value = std::ranges::find(choices, this->*hint.choice, &ChoiceWord::second)->first;
    } else if (hint.kind == HintKind::flag) {
      value = no_independent ? "true" : "false";
    } else if (hint.kind == HintKind::text) {
      value = config_list.empty() ? "*:*" : config_list;
    } else if (hint.kind == HintKind::methods) {
      value = exchange_words(*this);
    } else if (this->*hint.number > 0) {
      value = std::to_string(this->*hint.number);
    }
    if (!value.empty()) all.emplace_back(hint.key, value);
  }
  if (!file_system.empty()) all.emplace_back("sheaf_file_system", file_system);
  if (!aggregator_list.empty()) all.emplace_back("romio_aggregator_list", aggregator_list);
  return all;
}

}  // namespace sheaf::mpiio
