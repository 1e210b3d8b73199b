#include "streams/capture/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace sheaf::streams {

namespace {

enum class MatchOutcome {
  mismatch,
  match,
  dead_end,  // no match, even if earlier stars match more bytes, because the name is too short
};

bool special(char c) { return std::strchr("*?[()\\", c) != nullptr; }

// Matches a pattern against a name. Records the text of a group when the match passes the closing
// parenthesis. If the match backtracks and passes it again, the new text replaces the old one.
struct PatternMatcher {
  std::string_view pattern, name;
  Groups& groups;
  std::array<size_t, 9> begins{};

  // Matches `c` against the class that starts at `p` and moves `p` after its closing bracket. An unclosed
  // bracket is a literal.
  bool in_class(size_t& p, char c) const {
    size_t at = p + 1;
    const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
    if (negated) ++at;
    bool found = false;
    for (const size_t first = at; at < pattern.size(); ++at) {
      if (pattern[at] == ']' && at > first) {
        p = at + 1;
        return found != negated && c != '/';
      }
      if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
        const auto byte = static_cast<unsigned char>(c);
        found |= byte >= static_cast<unsigned char>(pattern[at]) &&
                 byte <= static_cast<unsigned char>(pattern[at + 2]);
        at += 2;
      } else {
        found |= pattern[at] == c;
      }
    }
    ++p;
    return c == '[';
  }

  // Matches `c` against the class, question mark or character at `p` and moves `p` after it.
  bool takes(size_t& p, char c) const {
    if (pattern[p] == '[') return in_class(p, c);
    if (pattern[p] == '?') return ++p, c != '/';
    if (pattern[p] == '\\' && p + 1 < pattern.size()) ++p;
    return pattern[p++] == c;
  }

  MatchOutcome star(size_t p, size_t n, size_t group) {
    bool all = false;
    for (; p < pattern.size() && pattern[p] == '*'; ++p)
      all |= p + 1 < pattern.size() && pattern[p + 1] == '*';
    for (;; ++n) {
      const MatchOutcome rest = along(p, n, group);
      if (rest != MatchOutcome::mismatch) return rest;
      if (n >= name.size()) return MatchOutcome::dead_end;
      if (name[n] == '/' && !all) return MatchOutcome::mismatch;
    }
  }

  MatchOutcome along(size_t p, size_t n, size_t group) {
    while (p < pattern.size()) {
      const char c = pattern[p];
      if (c == '*') return star(p, n, group);
      if (c == '(') {
        if (group < begins.size()) begins[group] = n;
        ++p;
        continue;
      }
      if (c == ')') {
        if (group < begins.size()) groups[group] = name.substr(begins[group], n - begins[group]);
        ++group;
        ++p;
        continue;
      }
      if (n >= name.size()) return MatchOutcome::dead_end;
      if (!takes(p, name[n])) return MatchOutcome::mismatch;
      ++n;
    }
    return n == name.size() ? MatchOutcome::match : MatchOutcome::mismatch;
  }
};

}  // namespace

bool matches(std::string_view pattern, std::string_view name, Groups& groups) noexcept {
  PatternMatcher walk{pattern, name, groups};
  return walk.along(0, 0, 0) == MatchOutcome::match;
}

std::string_view literal_begin(std::string_view pattern) noexcept {
  size_t n = 0;
  while (n < pattern.size() && !special(pattern[n])) ++n;
  return pattern.substr(0, n);
}

std::string_view last_literal_begin(std::string_view pattern) noexcept {
  if (pattern.find("**") != pattern.npos) return {};
  return literal_begin(pattern.substr(pattern.rfind('/') + 1));
}

size_t expand(std::string_view set, const Groups& groups, char* room, size_t size) noexcept {
  size_t n = 0;
  for (size_t at = 0; at < set.size(); ++at) {
    std::string_view part = set.substr(at, 1);
    if (set[at] == '\\' && at + 1 < set.size()) {
      const char c = set[++at];
      part = c >= '1' && c <= '9' ? groups[size_t(c - '1')] : set.substr(at, 1);
    }
    if (n + part.size() >= size) return 0;
    std::memcpy(room + n, part.data(), part.size());
    n += part.size();
  }
  room[n] = '\0';
  return n;
}

bool may_hold(std::string_view pattern, std::string_view directory) noexcept {
  const std::string_view begin = literal_begin(pattern);
  const size_t shared = std::min(begin.size(), directory.size());
  if (begin.substr(0, shared) != directory.substr(0, shared)) return false;
  if (pattern.find("**") != pattern.npos) return true;
  Groups groups;
  return matches(pattern.substr(0, pattern.rfind('/')), directory, groups);
}

bool belongs_to_set(std::string_view set, std::string_view file) noexcept {
  if (!file.starts_with(set)) return false;
  return file.size() == set.size() || file[set.size()] == '.' || file[set.size()] == '/';
}

uint64_t rules_hash(std::string_view capture, std::string_view view) noexcept {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::string_view text : {capture, std::string_view("\n"), view})
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace sheaf::streams
