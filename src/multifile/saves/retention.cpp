#include "multifile/saves/retention.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/agree.hpp"
#include "format/commit_record.hpp"
#include "multifile/generation/generation.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

namespace {

struct DurableSave {
  std::string path;
  int64_t committed = 0;  // time of the last change of file 0: its pointer is written before the commit
  int32_t nfiles = 1;
};

// Returns the directory of a path, with the final slash, or "".
std::string front_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Returns the multifile `path` if all its files are complete.
std::optional<DurableSave> durable_at(Store& store, const std::string& path) {
  DurableSave save{path};
  const auto problem = attempt([&] {
    multifile::GenerationStore files(store, path);
    files.open_multifile([&] {
      save.nfiles = 1;
      for (int32_t k = 0; k < save.nfiles; ++k) {
        const auto file = files.open(format::physical_name(path, k), Access::read);
        multifile::MetadataReader reader(*file);
        const auto pointer = reader.read_stored_pointer();
        if (!pointer || !pointer->complete()) throw file_error(Code::unclosed, path, "was never closed");
        if (k > 0) continue;
        if (reader.header().leads_set()) save.nfiles = reader.header().nfiles;
        if (const auto& extension = reader.extension()) files.expect(extension->identity);
        save.committed = file->status().modified;
      }
    });
  });
  return problem ? std::nullopt : std::optional(save);
}

// Returns true if `name` can be a multifile: not one of the files beside another one.
bool is_main_name(const std::string& name) {
  if (name.find(".sheaf-tmp.") != std::string::npos || name.ends_with(".lease")) return false;
  const size_t dot = name.rfind('.');
  const bool is_numbered = dot != std::string::npos && name.size() == dot + 7 &&
                           name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return !is_numbered || name == format::physical_name(name.substr(0, dot), 0);
}

// Returns the durable multifiles that match the pattern, the newest one first.
std::vector<DurableSave> durable_saves(Store& store, const std::string& pattern) {
  const std::string front = front_of(pattern);
  const std::string last = pattern.substr(front.size());
  const std::string directory = front.size() > 1 ? front.substr(0, front.size() - 1) : front;
  std::vector<DurableSave> found;
  for (const std::string& name : store.names_in(directory)) {
    if (::fnmatch(last.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    if (!is_main_name(name) && name != last) continue;
    if (auto save = durable_at(store, front + name)) found.push_back(std::move(*save));
  }
  // Equal times: longer numbers are larger ones.
  const auto age = [](const DurableSave& save) {
    return std::tuple(save.committed, save.path.size(), save.path);
  };
  std::ranges::sort(found, std::ranges::greater{}, age);
  return found;
}

// Returns the path with `wildcard` in the place of its last digits, whose text goes to `digits`.
std::string without_digits(const std::string& path, std::string& digits) {
  const size_t front = front_of(path).size();
  size_t end = path.size();
  while (end > front && !std::isdigit(static_cast<unsigned char>(path[end - 1]))) --end;
  size_t begin = end;
  while (begin > front && std::isdigit(static_cast<unsigned char>(path[begin - 1]))) --begin;
  digits = path.substr(begin, end - begin);
  return digits.empty() ? "" : path.substr(0, begin) + "*" + path.substr(end);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string latest_save(Store& store, const std::string& pattern) {
  const std::vector<DurableSave> found = durable_saves(store, pattern);
  return found.empty() ? "" : found.front().path;
}

std::string series_of(const std::string& path) {
  std::string digits;
  const std::string front = front_of(path);
  const std::string last = without_digits(escaped(path.substr(front.size())), digits);
  return digits.empty() ? "" : front + last;
}

void remove_older(Store& store, const std::string& path, int32_t keep) {
  const std::string series = series_of(path);
  if (series.empty()) return;
  int32_t kept = 1;  // `path`
  for (const DurableSave& save : durable_saves(store, series)) {
    // The wildcard also matches other text than digits.
    if (save.path == path || series_of(save.path) != series) continue;
    if (kept < keep) {
      ++kept;
      continue;
    }
    attempt([&] {
      // Waiting for the owner of a lease would hold up the thread that writes.
      if (multifile::look_at_lease(store, save.path).exists) return;
      const auto ownership = multifile::Ownership::take(store, save.path, {.reopens = false});
      for (int32_t k = 0; k < save.nfiles; ++k) store.remove(format::physical_name(save.path, k));
    });
  }
}

}  // namespace sheaf::saves
