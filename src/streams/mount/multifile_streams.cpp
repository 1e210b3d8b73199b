#include "streams/mount/multifile_streams.hpp"

#include <algorithm>
#include <charconv>

#include "storage/decorators/nearby_reads.hpp"
#include "streams/mount/stream_checksum.hpp"

namespace sheaf::mount {

using multifile::Multifile;
using multifile::PhysicalFile;
using multifile::StreamPlaces;
using multifile::TaskRow;

namespace {

constexpr std::string_view prefix = "task.";
constexpr int min_digits = 6;  // as in the names of physical files

class TaskStreamReader final : public ReadableStream {
 public:
  TaskStreamReader(const Multifile& multifile, int64_t task, TaskRow row) : row_(std::move(row)) {
    multifile::load_stream(stream_, multifile, task, row_);
    places_ = StreamPlaces(stream_.sizes());
  }

  int64_t size() const override { return places_.total(); }

  size_t read_at(std::span<std::byte> out, int64_t offset) override {
    if (offset >= size()) return 0;
    out = out.first(static_cast<size_t>(std::min(size() - offset, std::ssize(out))));
    // If the stream reads its table of sizes on demand, only one thread may use it.
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!stream_.sizes().in_memory()) lock.lock();
    stream_.blocks().read(places_.find(stream_.sizes(), offset), out);
    return out.size();
  }

 private:
  TaskRow row_;
  multifile::ReadStream stream_;
  StreamPlaces places_;
  std::mutex mutex_;
};

}  // namespace

MultifileStreams::MultifileStreams(Multifile multifile, std::vector<format::TaskName> names)
    : multifile_(std::move(multifile)),
      names_(std::move(names)),
      compressed_(multifile_.compressed()),
      digits_(std::max(min_digits, static_cast<int>(std::to_string(multifile_.ntasks() - 1).size()))),
      rows_(multifile_) {}

int64_t MultifileStreams::bytes() const {
  int64_t sum = 0;
  for (const PhysicalFile& file : multifile_.files) sum += file.table->data_bytes();
  return sum;
}

std::string MultifileStreams::name(int64_t task) const {
  if (!names_.empty()) return names_[static_cast<size_t>(task)].name;
  std::string digits = std::to_string(task);
  digits.insert(0, static_cast<size_t>(digits_) - digits.size(), '0');
  return std::string(prefix) + digits;
}

std::optional<int64_t> MultifileStreams::find(std::string_view name) const {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + static_cast<size_t>(digits_)) return {};
  int64_t task = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, task);
  if (error != std::errc() || at != end || task < 0 || task >= count()) return {};
  return task;
}

TaskRow MultifileStreams::row(int64_t task) {
  const std::lock_guard lock(mutex_);
  return rows_.at(task);
}

StreamFacts MultifileStreams::facts(int64_t task) {
  StreamFacts facts;
  if (!names_.empty()) {
    const format::TaskName& named = names_[static_cast<size_t>(task)];
    facts = {0, named.modified, named.mode};
  }
  if (compressed_) {
    facts.size = open(task)->size();
  } else {
    const std::lock_guard lock(mutex_);
    facts.size = rows_.at(task).sizes.total();
  }
  return facts;
}

std::unique_ptr<ReadableStream> MultifileStreams::open(int64_t task) {
  return std::make_unique<TaskStreamReader>(multifile_, task, row(task));
}

void MultifileStreams::read_ahead(NearbyReads& reads) {
  for (PhysicalFile& file : multifile_.files) file.file = reads.over(file.file);
}

Attributes MultifileStreams::attributes(int64_t task) {
  const TaskRow row = this->row(task);
  const PhysicalFile& file = multifile_.file_of(row);
  Attributes all{{"task", std::to_string(task)},
                 {"global_rank", std::to_string(row.globalrank)},
                 {"file", file.path()},
                 {"chunks", std::to_string(row.sizes.count)},
                 {"chunk_size", std::to_string(row.geometry.size)}};
  if (file.header.compressed) all.emplace_back("stored_size", std::to_string(row.sizes.total()));
  if (const auto sum = stream_checksum(file, row)) all.emplace_back("checksum", *sum);
  return all;
}

Attributes MultifileStreams::attributes() {
  const PhysicalFile& first = multifile_.files.front();
  return {{"multifile", multifile_.path},
          {"tasks", std::to_string(count())},
          {"files", std::to_string(multifile_.files.size())},
          {"closed", multifile_.closed() ? "yes" : "no"},
          {"compressed", compressed_ ? "yes" : "no"},
          {"key_value", first.header.keyval() == format::KeyvalMode::inline_ ? "yes" : "no"},
          {"checksums", first.table->has_sums() ? "yes" : "no"}};
}

}  // namespace sheaf::mount
