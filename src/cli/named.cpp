// cli/named: `sheaf ls`, and what other commands do with streams that have names.
#include "cli/named.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>

#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "base/printable.hpp"
#include "cli/json.hpp"
#include "cli/rows.hpp"
#include "cli/terminal.hpp"
#include "container/container_names.hpp"
#include "container/gather.hpp"
#include "container/named_streams.hpp"
#include "creation/copy_stream.hpp"
#include "creation/output_set.hpp"
#include "metadata/task_names.hpp"
#include "metadata/task_rows.hpp"

namespace sheaf::cli {

namespace {

constexpr int64_t read_at_once = 1 << 20;  // bytes

std::string time_text(int64_t nanoseconds) {
  if (nanoseconds == 0) return "-";
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

// Of a multifile whose tasks have no names: their numbers, as a mount calls them.
std::vector<NamedStream> numbered(const std::string& path) {
  const Multifile multifile = load(path);
  const size_t digits =
      std::max<size_t>(6, std::to_string(std::max<int64_t>(0, multifile.ntasks() - 1)).size());
  std::vector<NamedStream> streams;
  for_each_row(multifile, [&](int64_t task, const TaskRow& row) {
    streams.push_back({fmt::format("task.{:0{}}", task, digits), row.sizes.total()});
  });
  return streams;
}

bool has_names(const std::string& path) {
  return is_container_set(posix_store(), path) ||
         !read_task_names(load_multifile(posix_store(), path)).names.empty();
}

enum class Holes { read, leave_out };

// Calls take(bytes, offset) for all of a stream, or for all but holes that are larger than what is read at
// once.
template <class Take>
void read_stream(const NamedStreams& streams, size_t number, Holes holes, Take take) {
  const auto from = [&](int64_t offset) {
    return holes == Holes::read ? std::optional(offset) : streams.next_data(number, offset);
  };
  LineBytes buffer(static_cast<size_t>(std::min(read_at_once, streams.streams()[number].size)));
  for (auto at = from(0); at;) {
    check_signals();
    const size_t got = streams.read(number, buffer, *at);
    if (got == 0) return;
    take(std::span<const std::byte>(buffer).first(got), *at);
    at = from(*at + static_cast<int64_t>(got));
  }
}

void copy_stream_to(const NamedStreams& streams, size_t number, File& file) {
  read_stream(streams, number, Holes::leave_out,
              [&](std::span<const std::byte> bytes, int64_t at) { write_data(file, bytes, at); });
  close_output(file, streams.streams()[number].size);
}

// The file for a stream; throws for a name that leads out of the place where files are to be.
std::string output_name(const std::string& prefix, const std::string& name) {
  for (const auto& part : std::filesystem::path(name))
    if (part == ".." || part == "/")
      throw Error(Code::permission, "the stream '" + name +
                                        "' would lie elsewhere than its name is put behind: " +
                                        "use `sheaf cat --name` for it");
  return prefix + name;
}

// Another user may have planted a link in the place of a directory that names of streams lead through.
void refuse_linked_directories(const std::string& prefix, const std::string& name) {
  for (size_t end = name.find('/', prefix.size()); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string directory = name.substr(0, end);
    std::error_code none;
    if (std::filesystem::is_symlink(directory, none))
      throw file_error(Code::foreign, directory,
                       "is a symbolic link, which is not followed to write '" + name + "': remove it");
  }
}

void make_alike(const std::string& path, const NamedStream& stream) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::permissions(path, static_cast<fs::perms>(stream.mode & 0777), ignored);
  if (stream.modified == 0) return;
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(stream.modified)};
  fs::last_write_time(path, std::chrono::file_clock::from_sys(time), ignored);
}

}  // namespace

void refuse_containers(const std::string& path) {
  if (is_containers_alone(posix_store(), path))
    throw file_error(Code::unsupported, path,
                     "is a set of containers, which are read as they are: `sheaf ls` shows its streams, "
                     "`sheaf defrag` makes a multifile of them");
}

int ls(const LsOptions& options) {
  const std::vector<NamedStream> streams = has_names(options.path)
                                               ? NamedStreams::open(posix_store(), options.path)->streams()
                                               : numbered(options.path);
  Json all = Json::array();
  for (const NamedStream& stream : streams) {
    if (!stream.name.starts_with(options.prefix)) continue;
    if (options.json) {
      all.push_back({{"name", stream.name},
                     {"bytes", stream.size},
                     {"modified", stream.modified},
                     {"mode", fmt::format("{:04o}", stream.mode)}});
    } else if (options.details) {
      fmt::print("{:04o} {:>15} {:<19} {}\n", stream.mode, stream.size, time_text(stream.modified),
                 printable(stream.name));
    } else {
      fmt::print("{}\n", printable(stream.name));
    }
  }
  if (options.json) fmt::print("{}\n", text_of(all, 1));
  return 0;
}

int cat_named(const CatOptions& options) {
  const auto streams = NamedStreams::open(posix_store(), options.path);
  const auto number = streams->find(options.name);
  if (!number)
    throw file_error(Code::not_found, options.path,
                     "has no stream of the name '" + options.name + "' (`sheaf ls` shows those there are)");
  if (options.output.empty()) {
    read_stream(*streams, *number, Holes::read, [](std::span<const std::byte> bytes, int64_t) {
      if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) < bytes.size())
        throw os_error("cannot write to", "standard output", errno);
    });
    return 0;
  }
  OutputSet outputs(posix_store(),
                    options.replace ? OutputSet::Existing::replace : OutputSet::Existing::refuse);
  catch_signals();
  const auto file = outputs.add(options.output);
  copy_stream_to(*streams, *number, *file);
  outputs.commit();
  return 0;
}

// Names that differ may be those of one file.
void refuse_same_files(const std::vector<NamedStream>& streams, const std::vector<std::string>& names) {
  std::map<std::string, size_t> files;
  for (size_t number = 0; number < names.size(); ++number) {
    const auto [at, is_new] =
        files.emplace(std::filesystem::path(names[number]).lexically_normal().string(), number);
    if (!is_new)
      throw Error(Code::invalid_argument, "the streams '" + streams[at->second].name + "' and '" +
                                              streams[number].name +
                                              "' would be one file: use `sheaf cat --name` for them");
  }
}

int split_by_names(const SplitOptions& options) {
  const auto streams = NamedStreams::open(posix_store(), options.path);
  std::vector<std::string> names;
  for (const NamedStream& stream : streams->streams())
    names.push_back(output_name(options.request.prefix, stream.name));
  refuse_same_files(streams->streams(), names);
  OutputSet outputs(posix_store(),
                    options.request.replace ? OutputSet::Existing::replace : OutputSet::Existing::refuse,
                    OutputSet::Naming::derived);
  catch_signals();
  for (const std::string& name : names) {
    refuse_linked_directories(options.request.prefix, name);
    const auto directory = std::filesystem::path(name).parent_path();
    std::error_code failed;
    if (!directory.empty()) std::filesystem::create_directories(directory, failed);
    if (failed) throw os_error("cannot create the directory", directory.string(), failed.value());
    outputs.check(name);
  }
  for (size_t number = 0; number < names.size(); ++number) {
    const auto file = outputs.add(names[number]);
    copy_stream_to(*streams, number, *file);
  }
  outputs.commit();
  for (size_t number = 0; number < names.size(); ++number)
    make_alike(names[number], streams->streams()[number]);
  return 0;
}

int gather(const DefragOptions& options) {
  if (options.request.compression.on() || options.request.plain)
    throw Error(Code::invalid_argument,
                "make a multifile of the containers first, and compress that: `sheaf defrag` twice");
  if (options.request.nfiles > 1)
    throw Error(
        Code::invalid_argument,
        "-n: the streams of containers have names, which only a multifile of one physical file keeps");
  GatherRequest request{.set = set_of_container(options.path).value_or(options.path),
                        .output = options.request.output,
                        .replace = options.request.replace};
  if (options.request.fsblksize > 0) request.fsblksize = options.request.fsblksize;
  catch_signals();
  TerminalProgress progress("defrag");
  const GatherReport done = sheaf::gather(posix_store(), request, progress);
  for (const auto* const all : {&done.damage, &done.kept})
    for (const std::string& one : *all) fmt::print(stderr, "sheaf: {}\n", printable(one));
  return done.damage.empty() ? 0 : 1;
}

int info_of_containers(const InfoOptions& options) {
  const auto streams = NamedStreams::open(posix_store(), options.path, true);
  int64_t bytes = 0;
  for (const NamedStream& stream : streams->streams()) bytes = saturated_add(bytes, stream.size);
  Json origins = Json::array();
  for (const auto& origin : streams->origins())
    origins.push_back({{"file", origin.path},
                       {"kind", origin.is_container ? "container" : "multifile"},
                       {"streams", origin.streams},
                       {"file_bytes", origin.file_bytes},
                       {"damage", origin.damage},
                       {"torn", origin.torn}});
  if (options.json) {
    fmt::print("{}\n", text_of(Json{{"file", options.path},
                                    {"state", "containers"},
                                    {"streams", streams->streams().size()},
                                    {"data_bytes", bytes},
                                    {"files", origins}},
                               1));
    return 0;
  }
  std::vector<Row> rows = {
      {"file", options.path},
      {"state", "containers, as programs have left them; `sheaf defrag` makes a multifile of them"},
      {"streams", std::to_string(streams->streams().size())},
      {"data", fmt::format("{} bytes", bytes)}};
  for (const auto& origin : streams->origins())
    rows.push_back({origin.is_container ? "container" : "multifile",
                    fmt::format("{}: {} streams{}{}", origin.path, origin.streams,
                                origin.damage.empty() ? "" : ", " + origin.damage,
                                origin.torn.empty() ? "" : ", " + origin.torn)});
  print_rows(summary_width, rows);
  return 0;
}

// They are complete at any moment, so there is nothing to do but to say what cannot be read.
int repair_containers(const RepairOptions& options) {
  if (!options.request.copy_to.empty())
    throw file_error(Code::unsupported, options.path,
                     "is a set of containers: `sheaf defrag` makes a multifile of them elsewhere");
  const auto streams = NamedStreams::open(posix_store(), options.path, true);
  Json files = Json::array();
  bool whole = true;
  for (const NamedStreams::Origin& origin : streams->origins()) {
    whole = whole && origin.damage.empty();
    files.push_back({{"path", origin.path}, {"damage", origin.damage}});
  }
  if (options.json) {
    fmt::print(
        "{}\n",
        text_of(Json{{"path", options.path}, {"was_complete", whole}, {"containers", true}, {"files", files}},
                1));
    return whole ? 0 : 1;
  }
  for (const NamedStreams::Origin& origin : streams->origins())
    fmt::print("{}: {}; {} streams\n", printable(origin.path),
               origin.damage.empty() ? "complete, nothing to do" : printable(origin.damage), origin.streams);
  fmt::print(
      "nothing was changed: containers need no repair; `sheaf defrag` makes a multifile of what can be "
      "read\n");
  return whole ? 0 : 1;
}

}  // namespace sheaf::cli
