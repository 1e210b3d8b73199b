#include "streams/container/gather.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "base/os/deadline.hpp"
#include "comm/agree.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/create/packed_file.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/options/open_mode.hpp"
#include "streams/container/constants.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/host_container.hpp"
#include "streams/container/replay.hpp"

namespace sheaf::streams {

using multifile::Checking;
using multifile::OutputSet;
using multifile::PackedFile;
using multifile::WorkProgress;
using namespace container_constants;

namespace {

constexpr const char* left_as_they_are =
    ". All containers are left as they are; `sheaf defrag` makes a multifile of another name of what can be "
    "read";

// Locks containers, so that no other process can use them during the lifetime of this object.
class HeldContainers {
 public:
  // Throws `wrong_mode` if a container is in use.
  HeldContainers(Store& store, const std::vector<std::string>& paths, bool force) {
    for (const std::string& path : paths) hold(store, path, force);
  }

  // Returns whether every container still existed when it was locked. If not, another job has gathered at
  // least one of them.
  bool all_there() const { return all_there_; }

 private:
  void hold(Store& store, const std::string& path, bool force) {
    std::shared_ptr<File> file;
    try {
      file = store.open(path, Access::write);
    } catch (const Error& e) {
      if (e.code() != Code::not_found && e.errno_value() != ESTALE) throw;
      all_there_ = false;
      return;
    }
    RangeLock lock = lock_of(store, path, *file);
    const FileStatus mine = file->status(), now = store.status(path);
    if (!now.exists || mine.links == 0 || now.number != mine.number || now.device != mine.device) {
      all_there_ = false;
    } else if (!lock && !force) {
      throw Error(Code::wrong_mode, "processes have the set open to which '" + path +
                                        "' belongs: wait for them to end, or force it");
    }
    held_.push_back({file, std::move(lock)});
  }

  // Returns whether another job is gathering the container. Such a job holds an exclusive lock; processes
  // that use the container hold shared ones.
  static bool is_taken_in(File& file) { return !file.lock(0, 1, false, OnConflict::refusal); }

  // Acquires an exclusive lock of the container. Returns an empty lock if the container is in use. Retries
  // for some time, because a file server may still report locks of ended processes.
  static RangeLock lock_of(Store& store, const std::string& path, File& file) {
    const bool served = !store.traits(path).is_local();
    const Deadline of_server(served ? container_lock_timeout : std::chrono::seconds(0)),
        of_job(gathering_timeout);
    try {
      for (;;) {
        RangeLock lock = file.lock(0, 1, true, OnConflict::refusal);
        if (lock || (of_server.expired() && (of_job.expired() || !is_taken_in(file)))) return lock;
        std::this_thread::sleep_for(rest_between_tries);
      }
    } catch (const Error&) {  // without locks in the file system, all containers count as unused
      return held_until([] {});
    }
  }
  struct HeldContainer {
    std::shared_ptr<File> file;
    RangeLock lock;  // declared after `file`, so that it is released before the file is closed
  };
  std::vector<HeldContainer> held_;
  bool all_there_ = true;
};

// Returns the containers of a set, locked until `held` is destroyed; may be empty.
std::vector<std::string> hold_containers(Store& store, const GatherRequest& request,
                                         std::optional<HeldContainers>& held) {
  const Deadline deadline(gathering_timeout);
  do {
    std::vector<std::string> containers = containers_of(store, request.set);
    held.emplace(store, containers, request.force);
    if (held->all_there()) return containers;
    held.reset();
    std::this_thread::sleep_for(rest_between_tries);  // a directory may list removed names for some time
  } while (!deadline.expired());
  throw file_error(Code::wrong_mode, request.set, "its containers come and go: make the multifile later");
}

// Returns the checksum that a container has for exactly these bytes of a stream, or nullopt.
std::optional<uint32_t> kept_sum(const NamedStreams& set, const NamedStream& stream, int64_t offset,
                                 int64_t bytes) {
  const layout::PieceMap::PieceOrGap at = stream.pieces.at(offset);
  if (!at.found || at.piece.length < bytes) return std::nullopt;
  const SetSource& source = set.sources[at.piece.source];
  if (!source.sums || !source.checked) return std::nullopt;
  const BlockSums sums = source.sums->find(at.piece.place).sums;
  if (sums.room == 0 || (at.piece.place - sums.room) % summed_at_once != 0) return std::nullopt;
  const format::BlockSum found = read_sum(*source.file, sums, sums.block_at(at.piece.place));
  return found.bytes == bytes ? std::optional(found.sum) : std::nullopt;
}

// Writes the bytes of streams contiguously, with many bytes per request. Long extents of zeros become holes.
// If bytes do not match the checksum in their container, they do not match their checksum in the multifile
// either. A gather in place fails for such bytes; any other gather reports them as damage.
class Packer {
 public:
  Packer(File& file, int64_t at, const GatherRequest& request, WorkProgress& progress)
      : file_(file), at_(at), progress_(progress), checking_(request.checking) {
    buffer_.reserve(copied_at_once);
  }

  std::vector<uint32_t> add(const NamedStreams& set, const NamedStream& stream,
                            std::vector<std::string>* damage) {
    std::vector<uint32_t> sums;
    for (int64_t done = 0; done < stream.size; done += summed_at_once) {
      const int64_t bytes = std::min(summed_at_once, stream.size - done);
      const layout::PieceMap::PieceOrGap at = stream.pieces.at(done);
      if (!at.found && at.piece.length >= bytes && bytes == summed_at_once) {
        skip();
        sums.push_back(sum_of_zeros());
        continue;
      }
      if (std::ssize(buffer_) + bytes > copied_at_once) write();
      const size_t before = buffer_.size();
      buffer_.resize(before + static_cast<size_t>(bytes));
      sums.push_back(read(set, stream, std::span(buffer_).subspan(before), done, damage));
    }
    return sums;
  }

  void write() {
    if (buffer_.empty()) return;
    file_.write_at(buffer_, at_);
    at_ += std::ssize(buffer_);
    progress_.advance(std::ssize(buffer_));
    buffer_.clear();
  }

 private:
  // Fills `part` with the bytes of a stream at `offset`, and returns their checksum for the multifile. Adds a
  // mismatch to `damage`, or throws it if `damage` is null.
  uint32_t read(const NamedStreams& set, const NamedStream& stream, std::span<std::byte> part, int64_t offset,
                std::vector<std::string>* damage) {
    if (const auto kept = kept_sum(set, stream, offset, std::ssize(part))) {
      set.read_pieces(stream, part, offset, Checking::off);
      if (crc32c(0, part) == *kept) return *kept;
    }
    const auto problem = attempt([&] { set.read_pieces(stream, part, offset, checking_); });
    if (!problem) return crc32c(0, part);
    if (problem->code() != Code::damaged) throw *problem;
    if (damage == nullptr) throw Error(Code::damaged, problem->what() + std::string(left_as_they_are));
    damage->push_back(problem->what());
    set.read_pieces(stream, part, offset, Checking::off);
    return ~crc32c(0, part);
  }

  void skip() {
    write();
    at_ += summed_at_once;
    progress_.advance(summed_at_once);
  }
  static uint32_t sum_of_zeros() {
    static const uint32_t sum = crc32c(0, std::vector<std::byte>(summed_at_once));
    return sum;
  }

  File& file_;
  int64_t at_;
  WorkProgress& progress_;
  const Checking checking_;
  LineBytes buffer_;
};

std::string quoted(const std::string& name) { return "'" + name + "'"; }

PackedFile plan(const NamedStreams& set, const GatherRequest& request, const std::string& output,
                std::vector<format::Identity> taken) {
  const auto streams = set.streams();
  if (std::ssize(streams) > INT32_MAX)
    throw Error(Code::invalid_argument, "more than 2^31-1 streams in one multifile");
  PackedFile packed;
  packed.header.fsblksize = request.fsblksize;
  packed.header.ntasks = static_cast<int32_t>(streams.size());
  packed.header.filenumber = 1;
  packed.header.flag1 = format::Header::flag_of(format::KeyvalMode::none);
  packed.header.set_name(output);
  if (!format::extensible(packed.header.name()))
    throw file_error(Code::invalid_argument, output,
                     "the name is too long for a multifile whose tasks have names");
  multifile::OpenMode mode;
  mode.journal = false;
  packed.extension = mode.extension();
  multifile::TaskNames names{.names = {}, .taken = std::move(taken)};
  for (const NamedStream& stream : streams) {
    packed.globalranks.push_back(std::ssize(packed.globalranks));
    packed.lengths.push_back(stream.size);
    names.names.push_back({stream.name, stream.modified(), stream.mode});
  }
  packed.more = multifile::sections_of(names);
  return packed;
}

int64_t total_of(const std::vector<int64_t>& lengths) {
  int64_t total = 0;
  for (const int64_t length : lengths) total = must_fit(checked_add(total, length), "the multifile");
  return total;
}

// Throws if the holes of all streams exceed max_holes. A damaged or malicious container can claim streams of
// any length, although its data cannot exceed its file.
void refuse_holes(const NamedStreams& set) {
  int64_t holes = 0;
  for (const NamedStream& stream : set.streams()) {
    int64_t there = 0;
    for (const auto& [offset, piece] : stream.pieces.all()) {
      const SetSource& source = set.sources[piece.source];
      there +=
          source.base ? piece.length : std::clamp<int64_t>(source.file_bytes - piece.place, 0, piece.length);
    }
    if (stream.size - there > max_holes - holes)
      throw file_error(
          Code::unsupported, stream.name,
          "more than a TiB of holes is too much for a multifile: the containers are left as they are");
    holes += stream.size - there;
  }
}

// Writes all streams to `file`. Adds bytes that do not match their checksums to `damage`, or throws if
// `damage` is null.
void write(File& file, const NamedStreams& set, PackedFile& packed, const GatherRequest& request,
           WorkProgress& progress, std::vector<std::string>* damage) {
  multifile::MetadataWriter(file, packed.header).write_header(packed.extension);
  const layout::FileLayout layout = multifile::packed_layout(packed.lengths, packed.header);
  std::optional<Packer> packer;
  for (size_t k = 0; k < set.sorted.size(); ++k) {
    if (!packer || packed.header.fsblksize > 1) {
      if (packer) packer->write();
      packer.emplace(file, layout.starts[k], request, progress);
    }
    packed.sums.push_back(packer->add(set, *set.sorted[k], damage));
  }
  if (packer) packer->write();
  multifile::complete_packed_file(file, packed);
}

// Returns the identities of all containers that the new multifile replaces. This includes containers that an
// earlier multifile replaced and that still exist.
std::vector<format::Identity> identities(const NamedStreams& set, size_t containers) {
  std::vector<format::Identity> all;
  for (const SetSource& source : set.sources)
    if (!source.base) all.push_back(source.identity);
  if (all.size() < containers && !set.sources.empty() && set.sources.front().base)
    std::ranges::copy(set.sources.front().base->taken(), std::back_inserter(all));
  return all;
}

// Returns the descriptions of damage in the containers. With `in_place`, throws if there is any, because all
// content must be readable before the containers are removed.
std::vector<std::string> damage_of(const NamedStreams& set, bool in_place) {
  std::vector<std::string> all;
  for (const SetSource& source : set.sources) {
    if (source.damage.empty()) continue;
    if (in_place) throw file_error(Code::damaged, source.path, source.damage + left_as_they_are);
    all.push_back(quoted(source.path) + ": " + source.damage);
  }
  for (const NamedStream& stream : set.streams())
    if (stream.cut_off)
      all.push_back(quoted(stream.name) +
                    ": bytes of it are behind the end of their container, and zeros here");
  return all;
}

// A run of gather().
struct GatherJob {
  Store& store;
  const GatherRequest& request;
  WorkProgress& progress;
  const bool in_place;
  const std::string& output;
  std::vector<std::string> containers = {};
  NamedStreams set = {};
  GatherReport done = {};
};

// Writes the multifile. Throws `wrong_mode` if another host created a container during the call.
void write_multifile(GatherJob& job) {
  refuse_holes(job.set);
  PackedFile packed = plan(job.set, job.request, job.output, identities(job.set, job.containers.size()));
  job.done.bytes = total_of(packed.lengths);
  job.progress.begin(job.done.bytes);
  OutputSet outputs(job.store, job.in_place || job.request.replace ? OutputSet::Existing::replaced
                                                                   : OutputSet::Existing::refused);
  outputs.own(job.output);
  const auto file = outputs.add(job.output);
  job.progress.begin_output(0, job.output);
  write(*file, job.set, packed, job.request, job.progress, job.in_place ? nullptr : &job.done.damage);
  // The multifile must be durable before the containers are removed.
  if (job.in_place) file->sync();
  file->close();
  // A container that another host creates after this check is no problem: that host looks for the multifile
  // after creating it.
  if (job.in_place && containers_of(job.store, job.request.set) != job.containers)
    throw file_error(Code::wrong_mode, job.request.set,
                     "a host has begun to write to it while its containers became a multifile: all is as it "
                     "was; do it again");
  outputs.commit();
  if (job.in_place) job.store.sync_name(job.store.target_of(job.output));
}

// Removes a container that was gathered, or keeps it under another name if it is torn.
void give_up(GatherJob& job, const std::string& container) {
  const auto source = std::ranges::find(job.set.sources, container, &SetSource::path);
  if (source == job.set.sources.end() || source->torn.empty())
    return remove_container(job.store, container, job.request.memory_directory);
  const std::string aside = name_aside(job.store, job.request.set, container);
  remove_container(job.store, container, job.request.memory_directory, aside);
  job.done.kept.push_back("the container " + quoted(container) + " is kept as " + quoted(aside) + ": " +
                          source->torn);
}

}  // namespace

GatherReport gather(Store& store, const GatherRequest& request, WorkProgress& progress) {
  const bool in_place = request.output.empty() || is_same_name(store, request.set, request.output);
  GatherJob job{store, request, progress, in_place, in_place ? request.set : request.output};
  std::optional<HeldContainers> held;
  job.containers = in_place ? hold_containers(store, request, held) : containers_of(store, request.set);
  if (job.containers.empty())
    throw file_error(Code::not_found, request.set, "there are no containers of this name");
  const bool has_base = store.status(request.set).exists;
  job.set = read_set(store, job.containers, request.set, {.checked = true, .checking = request.checking});
  if (in_place && has_base && (job.set.sources.empty() || !job.set.sources.front().base))
    throw file_error(
        Code::unsupported, request.set,
        "is a multifile whose tasks have no names: give another name for that of the containers");
  job.done = {.streams = std::ssize(job.set.sorted),
              .containers = std::ssize(job.containers),
              .damage = damage_of(job.set, in_place)};
  if (!job.set.sorted.empty() || has_base || !in_place) write_multifile(job);
  if (in_place)
    for (const std::string& container : job.containers) give_up(job, container);
  return job.done;
}

}  // namespace sheaf::streams
