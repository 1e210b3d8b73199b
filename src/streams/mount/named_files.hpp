// streams/mount/named_files: shows the named streams of a set (streams/container/named_streams) as files. The
// state is that at the time when the set was opened.
#pragma once

#include "streams/container/named_streams.hpp"
#include "streams/mount/streams.hpp"

namespace sheaf::mount {

class NamedFiles final : public Streams {
 public:
  NamedFiles(std::string path, std::shared_ptr<streams::NamedStreams> streams);

  int64_t count() const override { return std::ssize(streams_->sorted); }
  int64_t bytes() const override;
  std::string name(int64_t stream) const override { return of(stream).name; }
  StreamFacts facts(int64_t stream) override;
  bool knows_sizes() const override { return true; }
  std::unique_ptr<ReadableStream> open(int64_t stream) override;
  void read_ahead(NearbyReads& reads) override;
  Attributes attributes(int64_t) override { return {}; }
  Attributes attributes() override;

 private:
  const streams::NamedStream& of(int64_t stream) const {
    return *streams_->sorted[static_cast<size_t>(stream)];
  }

  std::string path_;
  std::shared_ptr<streams::NamedStreams> streams_;
};

}  // namespace sheaf::mount
