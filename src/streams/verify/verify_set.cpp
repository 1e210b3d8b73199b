#include "streams/verify/verify_set.hpp"

#include <algorithm>
#include <vector>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/named_streams.hpp"

namespace sheaf::streams {

using multifile::FileReport;
using multifile::FileState;
using multifile::WorkProgress;

namespace {

constexpr int64_t read_at_once = 1 << 20;  // bytes

// Reads all data of a stream. Returns the error of the first read that fails, if any.
std::optional<Error> read_all(const NamedStreams& streams, const NamedStream& stream,
                              WorkProgress& progress) {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(read_at_once, stream.size)));
  std::optional<Error> problem;
  for (std::optional<int64_t> at = 0; at && !problem;) {
    size_t got = 0;
    problem = attempt([&] {
      at = next_in(stream.pieces, stream.size, Space::data, *at);
      if (at) got = streams.read(stream, buffer, *at);
    });
    if (got == 0) return problem;
    progress.advance(static_cast<int64_t>(got));
    *at += static_cast<int64_t>(got);
  }
  return problem;
}

int64_t bytes_of_all(const NamedStreams& streams) {
  int64_t bytes = 0;
  for (const NamedStream& stream : streams.streams()) bytes = saturated_add(bytes, stream.size);
  return bytes;
}

FileReport verify_containers(Store& store, const std::string& path, bool read_data, WorkProgress& progress) {
  FileReport report;
  report.path = path;
  const auto add = [&](const std::string& finding) {
    report.state = FileState::damaged;
    report.findings.push_back({FileState::damaged, finding});
  };
  std::shared_ptr<const NamedStreams> streams;
  if (const auto problem = attempt([&] { streams = NamedStreams::open(store, path, true); })) {
    add(std::string("its streams cannot be read: ") + problem->what());
    return report;
  }
  report.ntasks = std::ssize(streams->sorted);
  for (const SetSource& origin : streams->sources) {
    if (!origin.damage.empty()) add(origin.path + ": " + origin.damage);
    if (!origin.torn.empty()) report.notes.push_back(origin.path + ": " + origin.torn);
  }
  if (!read_data) return report;
  progress.begin(bytes_of_all(*streams));
  for (const NamedStream& stream : streams->streams())
    if (const auto problem = read_all(*streams, stream, progress)) add(stream.name + ": " + problem->what());
  return report;
}

}  // namespace

bool SetReport::ok() const {
  return (!multifile || multifile->ok()) && (!containers || containers->findings.empty());
}

SetReport verify_set(Store& store, const std::string& path, bool read_data, WorkProgress& progress) {
  SetReport report;
  const bool has_containers = is_container_set(store, path);
  if (!has_containers || !is_containers_alone(store, path))
    report.multifile = multifile::verify(store, path, read_data, progress);
  if (has_containers) report.containers = verify_containers(store, path, read_data, progress);
  return report;
}

}  // namespace sheaf::streams
