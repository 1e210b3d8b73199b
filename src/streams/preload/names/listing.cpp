#include "streams/preload/names/listing.hpp"

#include <dirent.h>
#include <string.h>

#include <algorithm>
#include <set>
#include <string>

#include "storage/store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/inside.hpp"
#include "streams/preload/names/places.hpp"
#include "streams/preload/names/sets.hpp"

namespace sheaf::preload {

using streams::ContainerSet;
using streams::Groups;
using streams::matches;
using streams::StreamStatus;

namespace {

// Returns a pattern that matches the paths of all sets that the rule may use for files in `directory`. The
// text of groups in the directory part of the rule's pattern is known; a star replaces every other group.
std::string set_pattern(const Rule& rule, std::string_view directory) {
  const std::string_view above = rule.pattern.substr(0, rule.pattern.rfind('/'));
  const auto known = size_t(std::count(above.begin(), above.end(), '('));
  Groups groups;
  const bool there = matches(above, directory, groups);
  std::string pattern;
  for (size_t at = 0; at < rule.set.size(); ++at) {
    const char next = at + 1 < rule.set.size() ? rule.set[at + 1] : '\0';
    if (rule.set[at] != '\\' || next < '1' || next > '9') {
      pattern += rule.set[at];
      continue;
    }
    const auto group = size_t(next - '1');
    pattern += there && group < known ? std::string(groups[group]) : std::string("*");
    ++at;
  }
  return pattern;
}

// Calls `visit` for the sets that a rule may use for files in `directory`. If the set's name contains groups,
// these are all existing sets with a matching name.
void each_set(const Rule& rule, std::string_view directory, const std::function<void(ContainerSet&)>& visit) {
  if (rule.view || rule.set.find('\\') == rule.set.npos) {
    if (const auto set = set_at(rule.view ? rule.pattern : rule.set, rule.view)) visit(*set);
    return;
  }
  const std::string pattern = set_pattern(rule, directory);
  const std::string where = pattern.substr(0, pattern.rfind('/') + 1);
  DIR* const files = opendir(where.c_str());
  if (!files) return;
  std::set<std::string> found;
  while (const dirent* const entry = readdir(files)) {
    const std::string path = where + entry->d_name;
    const std::string set = streams::set_of_container(path).value_or(path);
    Groups groups;
    if (matches(pattern, set, groups)) found.insert(set);
  }
  closedir(files);
  for (const std::string& path : found)
    if (const auto set = set_at(path, false)) visit(*set);
}

// Returns the absolute path of a stream.
std::string path_of(const Rule& rule, const ContainerSet& set, std::string_view name) {
  if (rule.view) return std::string(rule.pattern) + "/" + std::string(name);
  if (name.starts_with('/')) return std::string(name);
  return set.path().substr(0, set.path().rfind('/') + 1) + std::string(name);
}

// Returns the common prefix of the names of streams below `directory`; nullopt if the set has none there.
std::optional<std::string> prefix_of(const Rule& rule, const ContainerSet& set, std::string_view directory) {
  std::string below(directory == "/" ? "" : directory);
  below += '/';
  const std::string base =
      rule.view ? std::string(rule.pattern) + "/" : set.path().substr(0, set.path().rfind('/') + 1);
  if (below.starts_with(base)) return below.substr(base.size());
  if (base.starts_with(below)) return std::string();
  if (rule.view) return std::nullopt;
  return below;
}

// Calls visit with the canonical path of each captured file of this rule below `directory`, at any depth.
void each_below(
    const Rule& rule, std::string_view directory,
    const std::function<void(const ContainerSet&, std::string_view path, const StreamStatus&)>& visit) {
  const size_t n = directory == "/" ? 0 : directory.size();
  each_set(rule, directory, [&](ContainerSet& set) {
    const auto prefix = prefix_of(rule, set, directory);
    if (!prefix) return;
    set.list(*prefix, [&](std::string_view name, const StreamStatus& status) {
      const std::string path = path_of(rule, set, name);
      Groups groups;
      if (!rule.view && !matches(rule.pattern, path, groups))
        return;  // the file belongs to another rule with the same set
      if (path.size() > n && path[n] == '/' && path.starts_with(directory)) visit(set, path, status);
    });
  });
}

bool names_part(const Rule& rule, std::string_view last) {
  std::string_view rest = rule.pattern;
  if (rest.find("**") != rest.npos) return true;
  if (!rule.view) rest = rest.substr(0, rest.rfind('/'));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    Groups groups;
    if (!part.empty() && ((part[0] == last[0]) || strchr("*?[(\\", part[0])) && matches(part, last, groups))
      return true;
  }
  return rule.view;
}

}  // namespace

bool holds_captured(int at, const char* path) noexcept {
  if (is_inside() || rules().empty() || !path || !*path) return false;
  std::string_view whole(path);
  while (whole.size() > 1 && whole.ends_with('/')) whole.remove_suffix(1);
  const std::string_view last = whole.substr(whole.rfind('/') + 1);
  if (last.empty()) return false;
  bool found = false;
  for (const Rule& rule : rules()) {
    if (found || (last != "." && last != ".." && !names_part(rule, last))) continue;
    const KeptErrno kept;
    char canonical[PATH_MAX];
    const size_t n = canonical_directory(at, path, canonical, sizeof canonical);
    const Inside inside;
    if (n > 0) errno_of([&] { each_below(rule, {canonical, n}, [&](const auto&...) { found = true; }); });
  }
  return found;
}

bool holds_set(int at, const char* path) noexcept {
  if (is_inside() || rules().empty() || !path || !*path) return false;
  const std::string_view last = last_component(path);
  const auto has = [](const Rule& rule, std::string_view text) {
    return rule.set.find(text) != rule.set.npos;
  };
  bool found = false;
  const KeptErrno kept;
  errno_of([&] {
    const std::string part = "/" + std::string(last.substr(0, last.find('/'))) + "/";
    if (part[1] != '.' && std::ranges::none_of(rules(), [&](const Rule& rule) { return has(rule, part); }))
      return;
    char canonical[PATH_MAX];
    const size_t n = canonical_directory(at, path, canonical, sizeof canonical);
    const Inside inside;
    const std::string directory = std::string(canonical, n) + "/";
    for (const Rule& rule : rules())
      if (n > 0 && !rule.view && rule.set.starts_with(directory))
        found = found || !streams::containers_of(posix_store(), std::string(rule.set)).empty();
  });
  return found;
}

void each_captured_below(std::string_view directory, const Below& visit) {
  for (const Rule& rule : rules())
    each_below(rule, directory, [&](const ContainerSet& set, std::string_view path, const StreamStatus&) {
      visit(rule, set, path);
    });
}

void list_directory(std::string_view directory, const EntryVisitor& visit) noexcept {
  errno_of([&] {
    std::set<std::string> seen;
    for (const Rule& rule : rules()) {
      if (rule.view ? !directory.starts_with(rule.pattern) : !streams::may_hold(rule.pattern, directory))
        continue;
      each_below(rule, directory, [&](const auto&, std::string_view path, const StreamStatus& status) {
        const std::string_view last = path.substr(directory == "/" ? 1 : directory.size() + 1);
        if (path[path.size() - last.size() - 1] != '/' || last.find('/') != last.npos) return;
        if (rules().size() == 1 || seen.emplace(last).second) visit(last, status.number);
      });
    }
  });
}

}  // namespace sheaf::preload
