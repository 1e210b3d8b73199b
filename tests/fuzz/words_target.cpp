// Parses text that users and MPI programs write: names, open modes, hints, tables of physical files, names of
// striped files. The first byte of the input selects the kind.
#include <algorithm>
#include <string>

#include "fuzz/memory_bound.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"
#include "mpiio/file/hints.hpp"
#include "multifile/create/file_table.hpp"
#include "multifile/options/open_mode.hpp"
#include "sfio/stripe_name.hpp"

namespace sheaf::fuzz {

using namespace mpiio;
using namespace multifile;
using namespace sfio;

namespace {

// Returns the text before and after the first '|'.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  const size_t bar = std::min(text.find('|'), text.size());
  return {text.substr(0, bar), text.substr(std::min(bar + 1, text.size()))};
}

void parse_modes(std::string_view text) {
  const auto [mode, additions] = halves(text);
  const OpenMode parsed = parse_open_mode(mode, additions);
  require(parsed.read_buffer() >= 0 && parsed.io_tasks >= 0 && parsed.files >= 0, "limits of the open mode");
  require(!parsed.strict || parsed.unknown.empty(), "no unknown words with strict");
  require(parsed.compression.frame <= format::largest_frame, "size of a frame");
  require(!parsed.append || parsed.direction == OpenDirection::write, "only writers append");
}

void parse_a_table(std::string_view text, uint8_t ntasks) {
  const std::vector<int32_t> table = parse_file_table(std::string(text), "m", ntasks);
  require(std::ssize(table) == ntasks, "a file for every task");
  require(std::ranges::all_of(table, [&](int32_t f) { return f >= 0 && f < ntasks; }), "numbers of files");
}

void set_hints(std::string_view text) {
  Hints hints;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const auto [key, value] = halves(text.substr(0, end));
    text = text.substr(std::min(end + 1, text.size()));
    hints.set(key, value);
  }
  require(hints.aggregators >= 0 && hints.buffer_size >= 0 && hints.block_size >= 0 &&
              hints.sieve_write_size > 0 && hints.sieve_read_size > 0 && hints.striping_unit >= 0 &&
              hints.striping_factor >= 0,
          "limits of the hints");
  Hints again;
  for (const auto& [key, value] : hints.words()) again.set(key, value);
  require(again.words() == hints.words(), "hints that are told can be set");
}

void ask_config_list(std::string_view text) {
  const auto [list, host] = halves(text);
  Hints hints;
  require(hints.set("cb_config_list", list), "any list is taken");
  const int64_t allowed = hints.allowed_on(host);
  require(allowed >= -1, "a number of aggregators");
  if (hints.config_list.empty()) require(allowed == -1, "without a list, any number");
  if (hints.config_list.starts_with('*') && hints.config_list.find(',') == std::string::npos)
    require(allowed == hints.allowed_on("another") || host == "*", "without names, all hosts are alike");
}

void parse_stripes(std::string_view text) {
  const StripeName name = parse_stripe_name(text);
  require(!name.subfiles.empty() && name.subfiles.size() <= max_subfiles && name.unit >= 0,
          "limits of a stripe name");
  std::string plain;
  for (const SubfilePlace& p : name.subfiles) plain += p.host + ',' + p.path + ';';
  if (std::ranges::any_of(name.subfiles, [](const SubfilePlace& p) {
        return p.path.find_first_of(";\n\t ") != std::string::npos;
      }))
    return;
  if (is_stripe_path(plain)) return;  // a host name that looks like a stripe path
  require(parse_stripe_name(plain).subfiles == name.subfiles, "a stripe name is written as it was read");
}

}  // namespace

void fuzz_words(std::span<const std::byte> input) {
  Recipe recipe(input);
  const uint8_t kind = recipe.byte();
  const std::string_view text(reinterpret_cast<const char*>(recipe.rest().data()), recipe.rest().size());
  // The bound is quadratic, because the text after the last semicolon of a stripe name is appended to every
  // path.
  const MemoryBound bound(MemoryBound::for_structure(4 * std::ssize(input)) +
                          std::ssize(input) * std::ssize(input));
  try {
    switch (kind % 6) {
      case 0:
        return parse_modes(text);
      case 1:
        return parse_a_table(text, kind / 6);
      case 2:
        return set_hints(text);
      case 3:
        return ask_config_list(text);
      case 4:
        return parse_stripes(text);
      default:
        return require(format::physical_name(text, kind).size() < format::prefix_size, "length of a name");
    }
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
