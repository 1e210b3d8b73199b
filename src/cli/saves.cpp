// cli/saves: implements `sheaf saves`, which lists the saves in the background of a directory, and `sheaf
// latest`, which prints the newest durable multifile of a pattern.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/json/json.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/saves/listing.hpp"
#include "multifile/saves/retention.hpp"
#include "multifile/saves/save_files.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::cli {

using saves::SaveEntry;

namespace {

Json json_of(const SaveEntry& save) {
  return {{"name", save.name},       {"state", saves::name_of(save.state)},
          {"age", save.age},         {"bytes", save.bytes},
          {"written", save.written}, {"rate", save.rate()},
          {"error", save.error},     {"temporary", save.temporary},
          {"hosts", save.hosts},     {"tasks", save.tasks}};
}

void print(const SaveEntry& save) {
  fmt::print("{}: {}", printable(save.name), saves::name_of(save.state));
  if (save.state != saves::ListedState::writing)
    fmt::print(", {:.0f} s, {} of {}", save.age, in_units(save.written), in_units(save.bytes));
  if (save.rate() > 0) fmt::print(", {}/s", in_units(static_cast<int64_t>(save.rate())));
  fmt::print("{}{}\n", save.error.empty() ? "" : ": ", printable(save.error));
}

bool has_lost_data(const SaveEntry& save) {
  return save.state == saves::ListedState::failed || save.state == saves::ListedState::lost;
}

// Commits or removes what ended jobs have left of saves. Throws `foreign` if a living program has the name.
void finish(Store& store, const std::vector<SaveEntry>& found) {
  for (const SaveEntry& save : found) {
    if (save.state != saves::ListedState::complete && save.state != saves::ListedState::lost) continue;
    const auto ownership = multifile::Ownership::take(store, save.name, {.reopens = false});
    saves::resume_saves(store, save.name);
  }
}

}  // namespace

int show_saves(const SavesOptions& options) {
  const auto store = sfio::any_store_for(options.directory);
  std::vector<SaveEntry> found = saves::list_saves(*store, options.directory);
  if (options.finish) {
    finish(*store, found);
    found = saves::list_saves(*store, options.directory);
  }
  Json all = Json::array();
  for (const SaveEntry& save : found) {
    if (options.json)
      all.push_back(json_of(save));
    else
      print(save);
  }
  if (options.json)
    fmt::print("{}\n", text_of(all, 1));
  else
    fmt::print("{} save{} in {}\n", found.size(), found.size() == 1 ? "" : "s", printable(options.directory));
  return std::ranges::any_of(found, has_lost_data) ? 1 : 0;
}

int latest(const LatestOptions& options) {
  const std::string found = saves::latest_save(*sfio::any_store_for(options.pattern), options.pattern);
  if (options.json)
    fmt::print("{}\n", text_of(Json{{"path", found.empty() ? Json() : Json(found)}}, 1));
  else if (!found.empty())
    fmt::print("{}\n", found);
  if (found.empty())
    throw Error(Code::not_found, "no durable multifile matches '" + printable(options.pattern) + "'");
  return 0;
}

}  // namespace sheaf::cli
