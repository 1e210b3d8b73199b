// cli/named/shown: prints information on named streams for `sheaf ls`, and on sets of containers for other
// commands.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "cli/json/json.hpp"
#include "cli/named/named.hpp"
#include "cli/rows.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/named_streams.hpp"

namespace sheaf::cli {

using streams::NamedStream;
using streams::NamedStreams;
using streams::SetSource;

namespace {

std::string time_text(int64_t nanoseconds) {
  if (nanoseconds == 0) return "-";
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

// Calls show(name, bytes, modified, mode) for the streams of a multifile without task names, with the names
// that a mount uses.
template <class Show>
void show_numbered(const std::string& path, Show show) {
  const multifile::Multifile opened = load(path);
  const size_t digits = std::max<size_t>(6, std::to_string(std::max<int64_t>(0, opened.ntasks() - 1)).size());
  multifile::for_each_row(opened, [&](int64_t task, const multifile::TaskRow& row) {
    show(fmt::format("task.{:0{}}", task, digits), row.sizes.total(), 0, 0644);
  });
}

const char* kind_of(const SetSource& source) { return source.base ? "multifile" : "container"; }

bool has_names(const std::string& path) {
  return streams::is_container_set(posix_store(), path) ||
         !multifile::read_task_names(multifile::load_multifile(posix_store(), path)).names.empty();
}

}  // namespace

void refuse_containers(const std::string& path) {
  if (streams::is_containers_alone(posix_store(), path))
    throw file_error(Code::unsupported, path,
                     "is a set of containers, which are read as they are: `sheaf ls` shows its streams, "
                     "`sheaf defrag` makes a multifile of them");
}

int ls(const LsOptions& options) {
  Json all = Json::array();
  const auto show = [&](const std::string& name, int64_t bytes, int64_t modified, uint32_t mode) {
    if (!name.starts_with(options.prefix)) return;
    if (options.json) {
      all.push_back(
          {{"name", name}, {"bytes", bytes}, {"modified", modified}, {"mode", fmt::format("{:04o}", mode)}});
    } else if (options.details) {
      fmt::print("{:04o} {:>15} {:<19} {}\n", mode, bytes, time_text(modified), printable(name));
    } else {
      fmt::print("{}\n", printable(name));
    }
  };
  if (has_names(options.path)) {
    const auto streams = NamedStreams::open(posix_store(), options.path);
    for (const NamedStream& stream : streams->streams())
      show(stream.name, stream.size, stream.modified(), stream.mode);
  } else {
    show_numbered(options.path, show);
  }
  if (options.json) fmt::print("{}\n", text_of(all, 1));
  return 0;
}

int info_of_containers(const InfoOptions& options) {
  const auto streams = NamedStreams::open(posix_store(), options.path, true);
  int64_t bytes = 0;
  for (const NamedStream& stream : streams->streams()) bytes = saturated_add(bytes, stream.size);
  Json origins = Json::array();
  for (const SetSource& origin : streams->sources)
    origins.push_back({{"file", origin.path},
                       {"kind", kind_of(origin)},
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
  for (const SetSource& origin : streams->sources)
    rows.push_back({kind_of(origin), fmt::format("{}: {} streams{}{}", origin.path, origin.streams,
                                                 origin.damage.empty() ? "" : ", " + origin.damage,
                                                 origin.torn.empty() ? "" : ", " + origin.torn)});
  print_rows(summary_width, rows);
  return 0;
}

// Reports unreadable content. Changes nothing, because containers are complete at any time.
int repair_containers(const RepairOptions& options) {
  if (!options.request.copy_to.empty())
    throw file_error(Code::unsupported, options.path,
                     "is a set of containers: `sheaf defrag` makes a multifile of them elsewhere");
  const auto streams = NamedStreams::open(posix_store(), options.path, true);
  Json files = Json::array();
  bool whole = true;
  for (const SetSource& origin : streams->sources) {
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
  for (const SetSource& origin : streams->sources)
    fmt::print("{}: {}; {} streams\n", printable(origin.path),
               origin.damage.empty() ? "complete, nothing to do" : printable(origin.damage), origin.streams);
  fmt::print(
      "nothing was changed: containers need no repair; `sheaf defrag` makes a multifile of what can be "
      "read\n");
  return whole ? 0 : 1;
}

}  // namespace sheaf::cli
