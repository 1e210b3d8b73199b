#include "streams/mount/named_files.hpp"

#include "base/checked.hpp"
#include "storage/decorators/nearby_reads.hpp"

namespace sheaf::mount {

using streams::NamedStreams;

namespace {

class NamedReader final : public ReadableStream {
 public:
  NamedReader(std::shared_ptr<const NamedStreams> streams, const streams::NamedStream& stream)
      : streams_(std::move(streams)), stream_(stream) {}
  int64_t size() const override { return stream_.size; }
  size_t read_at(std::span<std::byte> out, int64_t offset) override {
    return streams_->read(stream_, out, offset);
  }

 private:
  std::shared_ptr<const NamedStreams> streams_;
  const streams::NamedStream& stream_;
};

}  // namespace

NamedFiles::NamedFiles(std::string path, std::shared_ptr<NamedStreams> streams)
    : path_(std::move(path)), streams_(std::move(streams)) {}

int64_t NamedFiles::bytes() const {
  int64_t sum = 0;
  for (const streams::NamedStream& stream : streams_->streams()) sum = saturated_add(sum, stream.size);
  return sum;
}

StreamFacts NamedFiles::facts(int64_t stream) {
  return {of(stream).size, of(stream).modified(), of(stream).mode};
}

std::unique_ptr<ReadableStream> NamedFiles::open(int64_t stream) {
  return std::make_unique<NamedReader>(streams_, of(stream));
}

void NamedFiles::read_ahead(NearbyReads& reads) {
  for (streams::SetSource& source : streams_->sources)
    if (source.file) source.file = reads.over(source.file);
}

Attributes NamedFiles::attributes() {
  int64_t containers = 0;
  for (const streams::SetSource& source : streams_->sources) containers += source.base == nullptr;
  return {{"multifile", path_},
          {"streams", std::to_string(count())},
          {"files", std::to_string(streams_->sources.size())},
          {"containers", std::to_string(containers)}};
}

}  // namespace sheaf::mount
