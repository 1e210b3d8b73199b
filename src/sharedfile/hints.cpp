#include "sharedfile/hints.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/parse.hpp"
#include "base/setting.hpp"

namespace sheaf {

namespace {

bool set_choice(Choice& choice, std::string_view value) {
  if (value == "enable" || value == "true" || value == "1") return choice = Choice::enable, true;
  if (value == "disable" || value == "false" || value == "0") return choice = Choice::disable, true;
  if (value == "automatic") return choice = Choice::automatic, true;
  return false;
}

bool set_positive(int64_t& place, std::optional<int64_t> value) {
  if (!value || *value < 1) return false;
  place = *value;
  return true;
}
bool set_count(int64_t& place, std::string_view value) { return set_positive(place, parse_number(value)); }
bool set_bytes(int64_t& place, std::string_view value) { return set_positive(place, parse_bytes(value)); }

const char* word_of(Choice choice) {
  return choice == Choice::enable ? "enable" : choice == Choice::disable ? "disable" : "automatic";
}

struct Entry {  // of a config_list
  std::string_view host;
  int64_t most = 1;  // -1: any number
};

Entry take_entry(std::string_view& list) {
  const std::string_view word = take_word(list);
  const size_t colon = word.rfind(':');
  if (colon == std::string_view::npos) return {word};
  const std::string_view most = trimmed(word.substr(colon + 1));
  return {trimmed(word.substr(0, colon)),
          most == "*" ? -1 : std::max<int64_t>(parse_number(most).value_or(1), 0)};
}

std::string_view first_component(std::string_view host) { return host.substr(0, host.find('.')); }

struct Optimisation {
  std::string_view word;
  bool Hints::*used;
};
constexpr Optimisation optimisations[] = {
    {"shared", &Hints::shared}, {"overlap", &Hints::overlap}, {"reuse", &Hints::reuse}};

}  // namespace

bool Hints::set(std::string_view key, std::string_view value) {
  value = trimmed(value);
  if (key == "cb_nodes") return set_count(aggregators, value);
  if (key == "cb_buffer_size") return set_bytes(buffer_size, value);
  if (key == "romio_cb_write") return set_choice(collective_write, value);
  if (key == "romio_cb_read") return set_choice(collective_read, value);
  if (key == "romio_ds_write") return set_choice(sieve_write, value);
  if (key == "romio_ds_read") return set_choice(sieve_read, value);
  if (key == "ind_wr_buffer_size") return set_bytes(sieve_write_size, value);
  if (key == "ind_rd_buffer_size") return set_bytes(sieve_read_size, value);
  if (key == "striping_unit") return set_bytes(striping_unit, value);
  if (key == "striping_factor") return set_count(striping_factor, value);
  if (key == "romio_no_indep_rw")
    return no_independent = value == "true", value == "true" || value == "false";
  if (key == "cb_config_list") {
    config_list = std::string(value);
    return true;
  }
  if (key == "sheaf_iotasks") return set_count(io_tasks, value);
  if (key == "sheaf_block_size") return set_bytes(block_size, value);
  return false;
}

const char* Hints::expected(std::string_view key) {
  for (const char* const count : {"cb_nodes", "striping_factor", "sheaf_iotasks"})
    if (key == count) return "a number from 1 on";
  for (const char* const bytes :
       {"cb_buffer_size", "ind_wr_buffer_size", "ind_rd_buffer_size", "striping_unit", "sheaf_block_size"})
    if (key == bytes) return "bytes from 1 on, as 65536, 64k or 1M";
  for (const char* const choice : {"romio_cb_write", "romio_cb_read", "romio_ds_write", "romio_ds_read"})
    if (key == choice) return "enable, disable or automatic";
  if (key == "romio_no_indep_rw") return "true or false";
  return nullptr;
}

int64_t Hints::allowed_on(std::string_view host) const {
  if (config_list.empty()) return -1;
  int64_t others = 0;
  for (std::string_view list = config_list; !list.empty();) {
    const Entry entry = take_entry(list);
    if (entry.host == host || (entry.host != "*" && first_component(entry.host) == first_component(host)))
      return entry.most;
    if (entry.host == "*") others = entry.most;
  }
  return others;
}

void Hints::apply_environment() {
  const auto apply = [&](const char* variable, const char* key) {
    const char* const value = setting(variable);
    if (value && !set(key, value)) tell_not_understood(variable, value, expected(key));
  };
  apply("SHEAF_CB_NODES", "cb_nodes");
  apply("SHEAF_CB_BUFFER_SIZE", "cb_buffer_size");
  apply("SHEAF_CB_WRITE", "romio_cb_write");
  apply("SHEAF_CB_READ", "romio_cb_read");
  apply("SHEAF_DS_WRITE", "romio_ds_write");
  apply("SHEAF_DS_READ", "romio_ds_read");
  apply("SHEAF_BLOCK_SIZE", "sheaf_block_size");
  apply("SHEAF_IOTASKS", "sheaf_iotasks");
  const char* const off = setting("SHEAF_MPIIO_OFF");
  std::string_view words = off ? off : "";
  while (!words.empty()) {
    const std::string_view word = take_word(words);
    const auto one = std::ranges::find(optimisations, word, &Optimisation::word);
    if (one != std::end(optimisations)) {
      this->*one->used = false;
    } else if (!word.empty()) {
      std::string known;
      for (const Optimisation& other : optimisations)
        known.append(known.empty() ? "" : ", ").append(other.word);
      tell_not_understood("SHEAF_MPIIO_OFF", word, "words of " + known);
    }
  }
}

std::vector<std::pair<std::string, std::string>> Hints::words() const {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](const char* key, int64_t value) {
    if (value > 0) all.emplace_back(key, std::to_string(value));
  };
  add("cb_nodes", aggregators);
  add("cb_buffer_size", buffer_size);
  all.emplace_back("romio_cb_write", word_of(collective_write));
  all.emplace_back("romio_cb_read", word_of(collective_read));
  all.emplace_back("romio_ds_write", word_of(sieve_write));
  all.emplace_back("romio_ds_read", word_of(sieve_read));
  add("ind_wr_buffer_size", sieve_write_size);
  add("ind_rd_buffer_size", sieve_read_size);
  add("striping_unit", striping_unit);
  add("striping_factor", striping_factor);
  all.emplace_back("cb_config_list", config_list.empty() ? "*:*" : config_list);
  all.emplace_back("romio_no_indep_rw", no_independent ? "true" : "false");
  add("sheaf_block_size", block_size);
  add("sheaf_iotasks", io_tasks);
  return all;
}

}  // namespace sheaf
