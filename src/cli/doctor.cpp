// cli/doctor: implements `sheaf doctor`, which reports what Sheaf knows about the file system of a directory,
// and how the file system behaves in tests.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/setting.hpp"
#include "base/warnings.hpp"
#include "cli/commands.hpp"
#include "cli/json/json.hpp"
#include "cli/rows.hpp"
#include "cli/terminal.hpp"
#include "storage/filesystem/traits.hpp"
#include "storage/probes.hpp"
#include "storage/store.hpp"

namespace sheaf::cli {

namespace {

constexpr double dear_sharing = 2;  // ratio of shared to unshared write times from which sharing is reported

struct Diagnosis {
  std::string directory;
  std::string other;
  FileSystemTraits traits{};
  std::optional<Mount> mount{};
  DirectoryFindings tried{};
  std::optional<PairFindings> pair{};
  bool is_one_mount = false;  // `directory` and `other` are in one mount
  int64_t free_bytes = 0;
  int64_t all_bytes = 0;

  std::vector<std::string> behaviour{};  // behavior of Sheaf in this directory
  std::vector<std::string> advice{};     // recommended settings
  std::vector<std::string> problems{};   // properties that Sheaf relies on and the file system lacks
};

std::string size_text(int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return bytes % 1024 != 0 || unit > 2 ? fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit])
                                       : fmt::format("{:.4g} {}", value, units[unit]);
}

const char* yes_or_no(bool truth) { return truth ? "yes" : "no"; }

struct Remark {
  bool applies;
  std::string text;
};

void tell(std::vector<std::string>& lines, std::initializer_list<Remark> remarks) {
  for (const Remark& remark : remarks)
    if (remark.applies) lines.push_back(remark.text);
}

// Adds to `d.behaviour` how Sheaf applies the traits of the file system (storage/filesystem/traits).
void tell_behaviour(Diagnosis& d) {
  const FileSystemTraits& t = d.traits;
  const bool local = t.is_local();
  const bool global_locks = t.locks == LockScope::global;
  tell(d.behaviour,
       {{local, "all tasks that use a file run on this host and share its page cache"},
        {!local,
         "hosts may share a physical file, but no two of them write to one unit of " + size_text(t.unit)},
        {t.coherence == Coherence::close_to_open,
         "what a task wrote is read by other tasks only after it was closed or synced, and opened again"},
        {global_locks, "ranges are locked where a transfer reads, changes and writes bytes of others"},
        {!global_locks && !local,
         "no lock is trusted between hosts: bytes of several tasks in one unit are written by one of them"},
        {!t.mmap, "files are not mapped into memory"}});
}

void tell_advice(Diagnosis& d) {
  const FileSystemTraits& t = d.traits;
  const bool local_locks = t.locks != LockScope::global;
  tell(d.advice,
       {{t.kind == FileSystem::lustre && local_locks,
         "mount with the option flock, for programs that lock ranges between hosts"},
        {t.kind == FileSystem::lustre && t.stripes == 1,
         "lfs setstripe -c -1 " + d.directory +
             ", for files that many hosts write to: new ones have one stripe"},
        {t.kind == FileSystem::nfs && local_locks,
         "mount without nolock and local_lock, for programs that lock ranges between hosts"},
        {t.kind == FileSystem::beegfs && local_locks,
         "tuneUseGlobalFileLocks = true in beegfs-client.conf, for programs that lock ranges between hosts"},
        {t.kind == FileSystem::unknown || t.kind == FileSystem::fuse,
         "SHEAF_FS, if more is known of this file system: " + std::string(known_traits_words())}});
}

std::string of_tried(const Tried& tried) { return fmt::format("{} of {}", tried.well, tried.times); }

// Compares the traits with the tests. Reports a trait that the file system does not have as a problem. If the
// file system has a property that the traits lack, advises the user to set it.
void compare(Diagnosis& d) {
  const FileSystemTraits& t = d.traits;
  const bool is_tried = d.tried.obstacle.empty();
  const bool no_mmap = is_tried && t.mmap && !d.tried.mmap;
  tell(d.problems, {{no_mmap, "files cannot be mapped for writing"}});
  std::vector<std::string> words;
  tell(words, {{no_mmap, "mmap=no"}, {is_tried && t.fallocate && !d.tried.fallocate, "fallocate=no"}});
  if (d.pair) {
    const PairFindings& p = *d.pair;
    const bool delayed = p.is_close_to_open() && t.coherence != Coherence::close_to_open && !p.is_coherent();
    const bool fewer_locks = p.locks < t.locks;
    tell(d.problems,
         {{!p.is_close_to_open(),
           "what was closed or synced on one side is not always found on the other: files cannot be shared "
           "between hosts"},
          {delayed, "the two sides do not see at once what the other one has written"},
          {!p.create.always(), "two sides that make one name at the same time do not always get one file"},
          {!p.exclusive.always(), "two sides can both be the one that makes a name"},
          {fewer_locks && p.locks == LockScope::none, "ranges cannot be locked"},
          {fewer_locks && p.locks != LockScope::none, "locks do not reach the other side"}});
    tell(words, {{delayed, "close-to-open"},
                 {fewer_locks || (p.locks > t.locks && !d.is_one_mount),
                  fmt::format("locks={}", name_of(p.locks))}});
    tell(d.advice, {{p.sharing_cost > dear_sharing,
                     fmt::format("keep hosts apart: writing in turn into one unit takes {:.1f} times as long",
                                 p.sharing_cost)}});
  }
  if (words.empty()) return;
  const std::string line = fmt::format("SHEAF_FS={}", fmt::join(words, ","));
  d.advice.push_back(line);
  if (!d.problems.empty())
    d.problems.push_back(fmt::format(
        "what is known of '{}' is not so here, and what was tried decides: set {}", name_of(t.kind), line));
}

Diagnosis examine(const DoctorOptions& options) {
  Diagnosis d{.directory = options.directory, .other = options.other};
  for (const std::string& directory : {options.directory, options.other})
    if (!directory.empty() && !posix_store().status(directory).is_directory)
      throw Error(posix_store().status(directory).exists ? Code::invalid_argument : Code::not_found,
                  "'" + directory + "' is no directory");
  d.traits = posix_store().traits(d.directory);
  d.mount = mount_of(d.directory);
  const auto space = std::filesystem::space(d.directory);
  d.free_bytes = static_cast<int64_t>(space.available);
  d.all_bytes = static_cast<int64_t>(space.capacity);
  catch_signals();
  d.tried = probe_directory(d.directory);
  if (!d.other.empty()) {
    d.is_one_mount = std::filesystem::equivalent(d.directory, d.other);
    d.pair = probe_pair(d.directory, d.other, d.traits.unit, check_signals);
  }
  tell_behaviour(d);
  tell_advice(d);
  compare(d);
  return d;
}

Json json_of(const Tried& tried) { return {{"times", tried.times}, {"well", tried.well}}; }

Json json_of(const PairFindings& p, const Diagnosis& d) {
  return {{"directory", d.other},
          {"one_mount", d.is_one_mount},
          {"coherence", p.is_coherent()        ? "coherent"
                        : p.is_close_to_open() ? "close-to-open"
                                               : "none"},
          {"locks", name_of(p.locks)},
          {"seen_after_close", json_of(p.after_close)},
          {"seen_after_sync", json_of(p.after_sync)},
          {"seen_at_once", json_of(p.at_once)},
          {"seen_in_open_file", json_of(p.kept_open)},
          {"seen_in_open_file_after_close", json_of(p.kept_open_after)},
          {"page_of_two_kept", json_of(p.page)},
          {"attribute_delay", p.attribute_delay ? Json(*p.attribute_delay) : Json()},
          {"create_race", json_of(p.create)},
          {"exclusive_race", json_of(p.exclusive)},
          {"sharing_cost", p.sharing_cost}};
}

Json json_of(const Diagnosis& d) {
  const FileSystemTraits& t = d.traits;
  const char* const words = setting("SHEAF_FS");
  const bool is_tried = d.tried.obstacle.empty();
  Json mount;
  if (d.mount)
    mount = {{"type", d.mount->type},
             {"source", d.mount->source},
             {"point", d.mount->point},
             {"options", d.mount->options}};
  return {{"directory", d.directory},
          {"file_system", name_of(t.kind)},
          {"mount", mount},
          {"coherence", name_of(t.coherence)},
          {"locks", name_of(t.locks)},
          {"unit", t.unit},
          {"stripes", t.stripes},
          {"stripe_size", t.stripe_size},
          {"fallocate", t.fallocate},
          {"mmap", t.mmap},
          {"tried",
           {{"fallocate", is_tried ? Json(d.tried.fallocate) : Json()},
            {"mmap", is_tried ? Json(d.tried.mmap) : Json()}}},
          {"free_bytes", d.free_bytes},
          {"all_bytes", d.all_bytes},
          {"environment", {{"SHEAF_FS", words ? Json(words) : Json()}}},
          {"behaviour", d.behaviour},
          {"advice", d.advice},
          {"problems", d.problems},
          {"pair", d.pair ? json_of(*d.pair, d) : Json()}};
}

constexpr size_t diagnosis_width = 46;

void print_list(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", title);
  for (const std::string& line : lines) fmt::print("  {}\n", printable(line));
}

void print_pair(const PairFindings& p, const Diagnosis& d) {
  fmt::print("\nbetween it and {}{}\n", printable(d.other),
             d.is_one_mount ? " (one mount: nothing between hosts is tried)" : "");
  print_rows(diagnosis_width, {{"  seen after close and open", of_tried(p.after_close)},
                               {"  seen after sync and open", of_tried(p.after_sync)},
                               {"  seen after write and open", of_tried(p.at_once)},
                               {"  seen in an open file after write", of_tried(p.kept_open)},
                               {"  seen in an open file after close", of_tried(p.kept_open_after)},
                               {"  one page written by both is whole", of_tried(p.page)},
                               {"  a new size is told after",
                                p.attribute_delay ? fmt::format("{:.2f} s", *p.attribute_delay)
                                                  : fmt::format("more than {:.0f} s", max_attribute_delay)},
                               {"  locks", name_of(p.locks)},
                               {"  both make a name: one file", of_tried(p.create)},
                               {"  both make a name first: one succeeds", of_tried(p.exclusive)},
                               {"  writing into one unit, over one unit each",
                                fmt::format("{:.1f} times as long", p.sharing_cost)}});
}

void print_diagnosis(const Diagnosis& d) {
  const FileSystemTraits& t = d.traits;
  const char* const words = setting("SHEAF_FS");
  const auto tried = [&](bool works) {
    return d.tried.obstacle.empty() ? fmt::format(", tried: {}", yes_or_no(works)) : ", not tried";
  };
  print_rows(
      diagnosis_width,
      {{"directory", d.directory},
       {"file system", name_of(t.kind)},
       {"mount", d.mount ? fmt::format("{} of {} on {}", d.mount->type, d.mount->source, d.mount->point)
                         : "not known"},
       {"coherence", name_of(t.coherence)},
       {"locks", name_of(t.locks)},
       {"unit", size_text(t.unit)},
       {"stripes",
        t.stripe_size == 0
            ? "none"
            : fmt::format("{} of {}", t.stripes > 0 ? std::to_string(t.stripes) : "an unknown number",
                          size_text(t.stripe_size))},
       {"fallocate", yes_or_no(t.fallocate) + tried(d.tried.fallocate)},
       {"mmap", yes_or_no(t.mmap) + tried(d.tried.mmap)},
       {"free room", fmt::format("{} of {}", size_text(d.free_bytes), size_text(d.all_bytes))},
       {"SHEAF_FS", words ? words : "not set"}});
  if (!d.tried.obstacle.empty()) print_rows(diagnosis_width, {{"not tried", d.tried.obstacle}});
  if (d.pair) print_pair(*d.pair, d);
  print_list("what Sheaf does there", d.behaviour);
  print_list("what to set", d.advice);
  print_list("problems", d.problems);
}

}  // namespace

int doctor(const DoctorOptions& options) {
  const Diagnosis diagnosis = examine(options);
  for (const std::string& text : take_warnings()) fmt::print(stderr, "sheaf: {}\n", printable(text));
  if (options.json)
    fmt::print("{}\n", text_of(json_of(diagnosis), 1));
  else
    print_diagnosis(diagnosis);
  return diagnosis.problems.empty() ? 0 : 1;
}

}  // namespace sheaf::cli
