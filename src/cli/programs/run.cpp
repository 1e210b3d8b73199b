#include "cli/programs/run.hpp"
#include "base/os/static_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "base/printable.hpp"
#include "cli/programs/launch.hpp"
#include "storage/store.hpp"
#include "streams/capture/capture_rule.hpp"
#include "streams/capture/pattern.hpp"
#include "streams/capture/shared_names.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/mount/sources.hpp"

namespace sheaf::cli {

using streams::CaptureRule;

namespace {

namespace fs = std::filesystem;

constexpr size_t files_told = 10;  // maximum number of plain files listed per pattern

// Appends an entry to the value of SHEAF_CAPTURE or SHEAF_VIEW.
void add_entry(std::string& all, const std::string& entry) { all += (all.empty() ? "" : ";") + entry; }

// The directories of the views. Creates missing directories; the destructor removes them.
class ViewDirectories : private NonCopyable {
 public:
  ViewDirectories() = default;
  ~ViewDirectories() {
    std::error_code ignored;
    for (auto at = made_.rbegin(); at != made_.rend(); ++at) fs::remove(*at, ignored);  // keeps nonempty ones
  }

  // Adds a view and returns its text FILE:DIR with absolute paths. The caller must call fill() after the last
  // add().
  std::string add(const std::string& text) {
    const size_t colon = text.rfind(':');
    if (colon == text.npos || colon == 0 || colon + 1 == text.size())
      throw Error(Code::invalid_argument,
                  "'" + text + "' is not FILE:DIR, for example 'data.sion:/tmp/data'");
    const std::string file = fs::weakly_canonical(fs::absolute(text.substr(0, colon))).string();
    const fs::path directory = fs::absolute(text.substr(colon + 1));
    make(directory);
    const std::string shown = fs::canonical(directory).string();
    files_[shown].push_back(file);
    return streams::entry_of(file, shown);
  }

  // Creates the folders below each DIR that the names of the streams require.
  void fill() {
    const auto tell = [](const std::string& path, const std::string& what) {
      fmt::print(stderr, "sheaf run: '{}': {}\n", printable(path), printable(what));
    };
    for (const auto& [directory, files] : files_) {
      std::vector<mount::StreamSource> all;
      for (const std::string& file : files) {
        const auto sources = mount::sources_of(posix_store(), file, multifile::Checking::on, true, tell);
        all.insert(all.end(), sources.begin(), sources.end());
      }
      for (const std::string& folder : mount::tree_of(all).folder_paths()) make(fs::path(directory) / folder);
    }
  }

 private:
  void make(const fs::path& directory) {
    fs::path whole;
    for (const fs::path& part : directory.lexically_normal()) {
      if (part.empty() || part == "..") continue;
      whole /= part;
      if (fs::exists(whole)) continue;
      fs::create_directory(whole);
      made_.push_back(whole);
    }
  }

  std::vector<fs::path> made_;
  std::map<std::string, std::vector<std::string>> files_;  // by directory
};

void tell_plain_files(const CaptureRule& rule) {
  const std::vector<std::string> files = streams::plain_files_of(rule);
  if (files.empty()) return;
  fmt::print(stderr,
             "sheaf run: {} plain file{} match{} '{}', by programs that no preload meets, with links or "
             "mappings, or from before:\n",
             files.size(), files.size() == 1 ? "" : "s", files.size() == 1 ? "es" : "",
             printable(rule.pattern));
  for (size_t i = 0; i < std::min(files.size(), files_told); ++i)
    fmt::print(stderr, "  {}\n", printable(files[i]));
  if (files.size() > files_told) fmt::print(stderr, "  and {} more\n", files.size() - files_told);
}

// Warns that no program has used a name that matches the pattern of `rule`, because the pattern may be wrong.
// Does not warn if plain files or sets of the rule exist, because programs on other hosts may have written
// them.
void tell_unused(const CaptureRule& rule) {
  if (!streams::plain_files_of(rule).empty() || !streams::sets_with_containers(rule).empty()) return;
  fmt::print(stderr,
             "sheaf run: nothing was captured by '{}': no program has named a file that matches it{}\n",
             printable(rule.pattern),
             rule.pattern.find('{') != std::string::npos ? " (braces stand for themselves)" : "");
}

// Gathers the containers of a set into a multifile. Returns false on failure; the containers keep all data in
// this case.
bool gather_set(const std::string& set) {
  try {
    multifile::WorkProgress progress;
    for (const std::string& kept : streams::gather(posix_store(), {.set = set}, progress).kept)
      fmt::print(stderr, "sheaf run: {}\n", printable(kept));
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::not_found && streams::containers_of(posix_store(), set).empty())
      return true;  // another job that ended at the same time has gathered all containers
    fmt::print(stderr, "sheaf run: the containers of '{}' stay as they are: {}\n", printable(set),
               printable(error.what()));
    return error.code() == Code::wrong_mode;  // another job has the containers open and will gather them
  }
}

// Returns for each rule whether its pattern was used. Patterns of captures are numbered after those of the
// views.
std::vector<bool> patterns_noted(uint64_t hash, const std::vector<CaptureRule>& rules, size_t views) {
  std::vector<bool> noted;
  for (size_t k = 0; k < rules.size(); ++k)
    noted.push_back(streams::is_pattern_noted(hash, static_cast<int>(views + k)));
  return noted;
}

bool finish(const std::vector<CaptureRule>& rules, bool keep_containers) {
  bool good = true;
  std::set<std::string> done;
  for (const CaptureRule& rule : rules) {
    tell_plain_files(rule);
    if (keep_containers) continue;
    for (const std::string& set : streams::sets_with_containers(rule))
      if (done.insert(set).second) good = gather_set(set) && good;
  }
  return good;
}

}  // namespace

int run(const RunOptions& options) {
  if (options.captures.empty() && options.views.empty())
    throw Error(Code::invalid_argument,
                "there is nothing to capture: --capture PATTERN:SET or --view FILE:DIR is needed");
  std::vector<CaptureRule> rules;
  for (const std::string& text : options.captures) rules.push_back(streams::capture_rule(text));
  streams::check_rules(rules);
  std::string capture, view;
  for (const CaptureRule& rule : rules) add_entry(capture, streams::entry_of(rule.pattern, rule.set));
  ViewDirectories directories;
  for (const std::string& text : options.views) add_entry(view, directories.add(text));
  directories.fill();
  const auto command = with_variables(options.command, {"LD_PRELOAD", "SHEAF_CAPTURE", "SHEAF_VIEW"});
  preload(own_library("libsheaf_posix.so", "the installation is not complete"));
  setenv("SHEAF_CAPTURE", capture.c_str(), 1);
  setenv("SHEAF_VIEW", view.c_str(), 1);
  if (is_static_program(options.command.front().c_str()))
    fmt::print(stderr,
               "sheaf run: '{}' is linked statically or has rights of its own: its files are not captured\n",
               printable(options.command.front()));
  const uint64_t hash = streams::rules_hash(capture, view);
  int status = 0;
  std::vector<bool> noted;
  {
    const streams::RunOfCapture this_run(hash);
    status = run_command(command);
    noted = patterns_noted(hash, rules, options.views.size());
  }
  for (size_t k = 0; k < rules.size(); ++k)
    if (!noted[k]) tell_unused(rules[k]);
  const bool good = finish(rules, options.keep_containers);
  return status == 0 && !good ? 1 : status;
}

}  // namespace sheaf::cli
