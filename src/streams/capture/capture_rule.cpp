#include "streams/capture/capture_rule.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "streams/capture/pattern.hpp"
#include "streams/container/container_names.hpp"

namespace sheaf::streams {

namespace {

namespace fs = std::filesystem;

// Returns `name` as an absolute path. Resolves symbolic links in the directories within the first `fixed`
// bytes of `name`.
std::string absolute(const std::string& name, size_t fixed) {
  const size_t slash = name.rfind('/', fixed == 0 ? 0 : fixed - 1);
  const bool none = slash == name.npos || (fixed == 0 && name[0] != '/');
  const std::string directory = none ? "." : name.substr(0, slash + 1);
  const std::string rest = none ? name : name.substr(slash + 1);
  std::string whole = fs::weakly_canonical(fs::absolute(directory)).string();
  if (!whole.ends_with('/')) whole += '/';
  return whole + rest;
}

// Calls visit(entry) for all entries below `directory` that can match `pattern`, and for some that do not.
// `at` is the offset of the first component of `pattern` after `directory`.
template <class Visit>
void walk(const std::string& directory, std::string_view pattern, size_t at, const Visit& visit) {
  std::error_code error;
  const size_t end = pattern.find('/', at);
  const bool last = end == pattern.npos;
  const bool deep = pattern.substr(at, last ? pattern.npos : end - at).find("**") != pattern.npos;
  if (deep) {
    for (fs::recursive_directory_iterator all(directory.empty() ? "/" : directory, error), none;
         !error && all != none; all.increment(error))
      visit(*all);
    return;
  }
  for (fs::directory_iterator all(directory.empty() ? "/" : directory, error), none; !error && all != none;
       all.increment(error)) {
    Groups groups;
    const std::string path = all->path().string();
    if (last) {
      visit(*all);
    } else if (matches(pattern.substr(0, end), path, groups) && all->is_directory(error)) {
      walk(path, pattern, end + 1, visit);
    }
  }
}

// Calls walk() with the directory that precedes the first special byte of `pattern`.
template <class Visit>
void walk_pattern(std::string_view pattern, const Visit& visit) {
  const std::string_view begin = literal_begin(pattern);
  const size_t slash = begin.rfind('/');
  walk(std::string(begin.substr(0, slash)), pattern, slash + 1, visit);
}

// Returns the set's name with each group replaced by a star.
std::string any_set(const std::string& set) {
  std::string pattern;
  for (size_t at = 0; at < set.size(); ++at) {
    const bool group = set[at] == '\\' && at + 1 < set.size() && set[at + 1] >= '1' && set[at + 1] <= '9';
    pattern += group ? std::string("*") : set.substr(at, 1);
    at += group;
  }
  return pattern;
}

size_t groups_of(const std::string& pattern) {
  return size_t(std::count(pattern.begin(), pattern.end(), '('));
}

}  // namespace

CaptureRule capture_rule(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size())
    throw Error(Code::invalid_argument,
                "'" + text + "' is not PATTERN:SET, for example 'out/dump.*:dump.sion'");
  const std::string pattern = text.substr(0, colon), set = text.substr(colon + 1);
  if (pattern.ends_with('/') || set.ends_with('/'))
    throw Error(Code::invalid_argument, "'" + text + "': pattern and set name files, not directories");
  return {absolute(pattern, literal_begin(pattern).size()),
          absolute(set, std::min(set.find('\\'), set.size()))};
}

void check_rules(const std::vector<CaptureRule>& rules) {
  std::map<std::string, std::string> known;
  for (const CaptureRule& rule : rules) {
    const auto [at, fresh] = known.emplace(rule.pattern, rule.set);
    if (!fresh && at->second != rule.set)
      throw Error(Code::invalid_argument, "the pattern '" + rule.pattern + "' is given two sets, '" +
                                              at->second + "' and '" + rule.set + "'");
    for (size_t i = 0; i + 1 < rule.set.size(); ++i) {
      if (rule.set[i] != '\\' || rule.set[i + 1] < '1' || rule.set[i + 1] > '9') continue;
      if (size_t(rule.set[i + 1] - '0') > groups_of(rule.pattern))
        throw Error(Code::invalid_argument,
                    "'" + rule.set + "' names a group that the pattern '" + rule.pattern + "' does not have");
    }
  }
}

std::string entry_of(const std::string& first, const std::string& second) {
  std::string entry;
  for (const char c : first + ":" + second) {
    if (c == ';') entry += '\\';
    entry += c;
  }
  return entry;
}

std::vector<std::string> plain_files_of(const CaptureRule& rule) {
  std::vector<std::string> found;
  walk_pattern(rule.pattern, [&](const fs::directory_entry& entry) {
    std::error_code error;
    Groups groups;
    char set[4096];
    const std::string path = entry.path().string();
    if (!entry.is_regular_file(error) || !matches(rule.pattern, path, groups)) return;
    if (const size_t n = expand(rule.set, groups, set, sizeof set); n > 0 && !belongs_to_set({set, n}, path))
      found.push_back(path);
  });
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> sets_with_containers(const CaptureRule& rule) {
  std::set<std::string> found;
  const std::string sets = any_set(rule.set);
  walk_pattern(sets + ".container.*", [&](const fs::directory_entry& entry) {
    Groups groups;
    const auto set = set_of_container(entry.path().string());
    if (set && matches(sets, *set, groups)) found.insert(*set);
  });
  return {found.begin(), found.end()};
}

}  // namespace sheaf::streams
