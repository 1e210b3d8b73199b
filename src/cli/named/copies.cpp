// cli/named/copies: copies named streams to files or stdout, or from containers to a multifile.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "cli/named/named.hpp"
#include "cli/terminal.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/create/output_set.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/named_streams.hpp"

namespace sheaf::cli {

using multifile::Checking;
using multifile::OutputSet;
using streams::NamedStream;
using streams::NamedStreams;

namespace {

constexpr int64_t read_at_once = 1 << 20;  // bytes

Checking checking_of(bool ignore_checksums) { return ignore_checksums ? Checking::off : Checking::on; }

enum class Holes { read, skipped };

// Calls take(bytes, offset) for all bytes of a stream. With Holes::skipped, skips holes larger than a read
// request.
template <class Take>
void read_stream(const NamedStreams& streams, const NamedStream& stream, Holes holes, Take take) {
  const auto from = [&](int64_t offset) {
    return holes == Holes::read ? std::optional(offset)
                                : streams::next_in(stream.pieces, stream.size, Space::data, offset);
  };
  LineBytes buffer(static_cast<size_t>(std::min(read_at_once, stream.size)));
  for (auto at = from(0); at;) {
    check_signals();
    const size_t got = streams.read(stream, buffer, *at);
    if (got == 0) return;
    take(std::span<const std::byte>(buffer).first(got), *at);
    at = from(*at + static_cast<int64_t>(got));
  }
}

void copy_stream_to(const NamedStreams& streams, const NamedStream& stream, File& file) {
  read_stream(streams, stream, Holes::skipped,
              [&](std::span<const std::byte> bytes, int64_t at) { multifile::write_data(file, bytes, at); });
  multifile::close_output(file, stream.size);
}

// Returns the path of the output file of a stream. Throws if the name would place the file outside of the
// output directory.
std::string output_name(const std::string& prefix, const std::string& name) {
  for (const auto& part : std::filesystem::path(name))
    if (part == ".." || part == "/")
      throw Error(Code::permission, "the stream '" + name +
                                        "' would lie elsewhere than its name is put behind: " +
                                        "use `sheaf cat --name` for it");
  return prefix + name;
}

// Throws if a directory of the output path is a symbolic link, which another user may have planted.
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
  if (stream.modified() == 0) return;
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(stream.modified())};
  fs::last_write_time(path, std::chrono::file_clock::from_sys(time), ignored);
}

// Throws if two streams would have the same output file.
void refuse_same_files(const NamedStreams& streams, const std::vector<std::string>& names) {
  std::map<std::string, size_t> files;
  for (size_t number = 0; number < names.size(); ++number) {
    const auto [at, is_new] =
        files.emplace(std::filesystem::path(names[number]).lexically_normal().string(), number);
    if (!is_new)
      throw Error(Code::invalid_argument, "the streams '" + streams.sorted[at->second]->name + "' and '" +
                                              streams.sorted[number]->name +
                                              "' would be one file: use `sheaf cat --name` for them");
  }
}

}  // namespace

int cat_named(const CatOptions& options) {
  const auto streams =
      NamedStreams::open(posix_store(), options.path, false, checking_of(options.ignore_checksums));
  const NamedStream* const stream = streams->find(options.name);
  if (stream == nullptr)
    throw file_error(Code::not_found, options.path,
                     "has no stream of the name '" + options.name + "' (`sheaf ls` shows those there are)");
  if (options.output.empty()) {
    read_stream(*streams, *stream, Holes::read, [](std::span<const std::byte> bytes, int64_t) {
      if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) < bytes.size())
        throw os_error("cannot write to", "standard output", errno);
    });
    return 0;
  }
  OutputSet outputs(posix_store(),
                    options.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused);
  catch_signals();
  const auto file = outputs.add(options.output);
  copy_stream_to(*streams, *stream, *file);
  outputs.commit();
  return 0;
}

int split_by_names(const SplitOptions& options) {
  const auto streams =
      NamedStreams::open(posix_store(), options.path, false, checking_of(options.ignore_checksums));
  std::vector<std::string> names;
  for (const NamedStream& stream : streams->streams())
    names.push_back(output_name(options.request.prefix, stream.name));
  refuse_same_files(*streams, names);
  OutputSet outputs(posix_store(),
                    options.request.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused,
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
    copy_stream_to(*streams, *streams->sorted[number], *file);
  }
  outputs.commit();
  for (size_t number = 0; number < names.size(); ++number)
    make_alike(names[number], *streams->sorted[number]);
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
  streams::GatherRequest request{.set = streams::set_of_container(options.path).value_or(options.path),
                                 .output = options.request.output,
                                 .replace = options.request.replace,
                                 .checking = checking_of(options.ignore_checksums)};
  if (options.request.fsblksize > 0) request.fsblksize = options.request.fsblksize;
  catch_signals();
  TerminalProgress progress("defrag");
  const streams::GatherReport done = streams::gather(posix_store(), request, progress);
  for (const auto* const all : {&done.damage, &done.kept})
    for (const std::string& one : *all) fmt::print(stderr, "sheaf: {}\n", printable(one));
  return done.damage.empty() ? 0 : 1;
}

}  // namespace sheaf::cli
