#include "streams/preload/names/rules.hpp"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "streams/capture/shared_names.hpp"
#include "streams/preload/inside.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

constexpr size_t max_rules = 64;
constexpr size_t max_text = 64 << 10;  // bytes of all rules together

struct RuleTable {
  std::array<Rule, max_rules> rules;
  size_t n = 0;
  std::array<char, max_text> text;
  size_t used = 0;
};
constinit RuleTable table{};
constinit std::atomic<int> ready{0};  // 0: not read, 1: being read, 2: read

void complain(std::string_view entry, const char* why) {
  const std::string_view parts[] = {"sheaf: '", entry, "' of SHEAF_CAPTURE or SHEAF_VIEW is ignored: ", why,
                                    "\n"};
  for (const std::string_view part : parts)
    if (real::write(STDERR_FILENO, part.data(), part.size()) < 0) return;
}

// Allocates `size` bytes of static memory for the text of a rule. Returns null if the memory is exhausted.
char* take(size_t size) {
  if (table.used + size > max_text) return nullptr;
  char* const room = table.text.data() + table.used;
  table.used += size;
  return room;
}

// Returns the canonical path of a directory; returns the given path if the directory does not exist.
std::string_view without_links(const char* directory, char (&room)[PATH_MAX]) {
  const int fd = real::open(*directory ? directory : "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return directory;
  const ssize_t n = real::readlink(DescriptorPath(fd).text, room, sizeof room - 1);
  real::close(fd);
  if (n <= 0) return directory;
  return {room, size_t(n)};
}

// Returns `name` as an absolute path that lives in the table. Resolves symbolic links in the directories of
// the first `fixed` bytes of `name`. Returns an empty string if the path is too long or the table is full.
std::string_view absolute(std::string_view name, size_t fixed) {
  char start[PATH_MAX] = "";
  char full[2 * PATH_MAX];
  if (!name.starts_with('/')) {
    if (!getcwd(start, sizeof start)) return {};
    while (name.starts_with("./")) name.remove_prefix(2), fixed = fixed > 2 ? fixed - 2 : 0;
    strcat(start, "/");
  }
  if (strlen(start) + name.size() >= PATH_MAX) return {};
  const size_t size = size_t(snprintf(full, sizeof full, "%s%.*s", start, int(name.size()), name.data()));
  size_t directory = strlen(start) + fixed;
  while (directory > 0 && full[directory - 1] != '/') --directory;  // length including the last `/`
  if (directory == 0) return {};
  full[directory - 1] = '\0';
  char real_name[PATH_MAX];
  std::string_view resolved = without_links(full, real_name);
  if (resolved == "/") resolved = {};
  const std::string_view rest(full + directory, size - directory);
  char* const room = take(resolved.size() + 1 + rest.size() + 1);
  if (!room) return {};
  memcpy(room, resolved.data(), resolved.size());
  room[resolved.size()] = '/';
  memcpy(room + resolved.size() + 1, rest.data(), rest.size());
  room[resolved.size() + 1 + rest.size()] = '\0';
  return {room, resolved.size() + 1 + rest.size()};
}

std::string_view without_slashes(std::string_view directory) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.remove_suffix(1);
  return directory;
}

void add(std::string_view entry, bool view) {
  const size_t colon = entry.rfind(':');
  if (colon == entry.npos || colon == 0 || colon + 1 == entry.size())
    return complain(entry, view ? "it is not FILE:DIR" : "it is not PATTERN:SET");
  if (table.n == max_rules) return complain(entry, "there are too many");
  std::string_view pattern = entry.substr(0, colon), set = entry.substr(colon + 1);
  if (view) {
    std::swap(pattern, set);
    pattern = without_slashes(pattern);
  }
  Rule rule;
  rule.view = view;
  rule.pattern = absolute(pattern, view ? pattern.size() : streams::literal_begin(pattern).size());
  const size_t group = set.find('\\');
  rule.set = absolute(set, group == set.npos ? set.size() : group);
  if (rule.pattern.empty() || rule.set.empty()) return complain(entry, "its names are too long");
  rule.begin = view ? rule.pattern : streams::literal_begin(rule.pattern);
  rule.last = view ? std::string_view() : streams::last_literal_begin(rule.pattern);
  rule.number = int(table.n);
  table.rules[table.n++] = rule;
}

const char* const variables[] = {"SHEAF_CAPTURE=", "SHEAF_VIEW="};
const char* settings[2] = {nullptr, nullptr};  // copied, because a program may overwrite its environment

void read_variable(char* const* environment, bool view) {
  const size_t n = strlen(variables[view]);
  while (*environment && strncmp(*environment, variables[view], n) != 0) ++environment;
  if (!*environment) return;
  const size_t size = strlen(*environment) + 1;
  char* const copy = take(size);
  if (!copy) return complain(variables[view], "it is too long");
  settings[view] = static_cast<const char*>(memcpy(copy, *environment, size));
  char entry[2 * PATH_MAX];
  size_t used = 0;
  for (const char* c = copy + n;; ++c) {
    if (*c == '\\' && c[1] == ';') {
      if (used < sizeof entry) entry[used++] = *++c;
    } else if (*c == ';' || *c == '\0') {
      if (used > 0 && used < sizeof entry) add({entry, used}, view);
      used = 0;
      if (*c == '\0') return;
    } else if (used < sizeof entry) {
      entry[used++] = *c;
    }
  }
}

}  // namespace

void read_rules(char* const* environment) noexcept {
  int expected = 0;
  if (!environment || !ready.compare_exchange_strong(expected, 1)) return;
  const Inside inside;
  read_variable(environment, true);
  read_variable(environment, false);
  ready.store(2, std::memory_order_release);
}

const char* capture_variable(bool view) noexcept { return settings[view]; }

std::span<const Rule> rules() noexcept {
  if (ready.load(std::memory_order_acquire) != 2) {
    if (is_inside() || !environ) return {};
    read_rules(environ);
    // Another thread may still be reading the rules. Spinning suffices, because that is rare: programs
    // usually make their first call with a name before they create a second thread.
    while (ready.load(std::memory_order_acquire) != 2) sched_yield();
  }
  return {table.rules.data(), table.n};
}

uint64_t rules_identity() noexcept {
  const auto value = [](bool view) {
    const char* const variable = settings[view];
    return variable ? std::string_view(variable + strlen(variables[view])) : std::string_view();
  };
  return streams::rules_hash(value(false), value(true));
}

std::string_view last_component(std::string_view path) noexcept {
  path = without_slashes(path);
  const void* const slash = memrchr(path.data(), '/', path.size());
  return slash ? path.substr(size_t(static_cast<const char*>(slash) - path.data()) + 1) : path;
}

bool may_capture(const char* path) noexcept {
  if (is_inside()) return false;
  const std::span<const Rule> all = rules();
  if (all.empty() || !path || !*path) return false;
  const char* const slash = strrchr(path, '/');
  const char* last = slash ? slash + 1 : path;
  if (!*last) last = last_component(path).data();
  return std::ranges::any_of(all, [last](const Rule& rule) {
    size_t same = 0;  // the loop stops at the NUL that ends `last`, because rule.last contains no NUL
    while (same < rule.last.size() && last[same] == rule.last[same]) ++same;
    return same == rule.last.size();
  });
}

namespace {

// Records that a name has matched the rule. `sheaf run` reports patterns without matches at its end.
void note_use(const Rule& rule) {
  static std::array<std::atomic<bool>, max_rules> noted;
  std::atomic<bool>& was_noted = noted[size_t(rule.number)];
  if (was_noted.load(std::memory_order_relaxed) || was_noted.exchange(true)) return;
  const Inside inside;
  streams::note_pattern(rules_identity(), rule.number);
}

}  // namespace

bool match(std::string_view path, Match& found) noexcept {
  for (const Rule& rule : rules()) {
    if (!path.starts_with(rule.begin)) continue;
    if (rule.view) {
      if (path.size() < rule.pattern.size() + 2 || path[rule.pattern.size()] != '/') continue;
      memcpy(found.set, rule.pattern.data(), rule.pattern.size() + 1);
      found.set_size = rule.pattern.size();
      found.rule = &rule;
      found.name = path.substr(rule.pattern.size() + 1);
      return true;
    }
    streams::Groups groups;
    if (!streams::matches(rule.pattern, path, groups)) continue;
    found.set_size = streams::expand(rule.set, groups, found.set, sizeof found.set);
    if (found.set_size == 0 || streams::belongs_to_set({found.set, found.set_size}, path)) continue;
    found.rule = &rule;
    note_use(rule);
    const std::string_view directory(found.set, std::string_view(found.set, found.set_size).rfind('/') + 1);
    found.name = path.starts_with(directory) ? path.substr(directory.size()) : path;
    return true;
  }
  return false;
}

}  // namespace sheaf::preload
