#include "streams/container/named_streams.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/replay.hpp"

namespace sheaf::streams {

namespace {

class SetStreams final : public NamedStreams {
 public:
  explicit SetStreams(SetContents contents) : contents_(std::move(contents)) {
    for (const SetSource& source : contents_.sources)
      origins_.push_back(
          {source.path, source.base == nullptr, 0, source.file_bytes, source.damage, source.torn});
    for (const auto& [name, stream] : contents_.names) sorted_.push_back(stream);
    std::ranges::sort(sorted_, {}, &ReplayedStream::name);
    for (const ReplayedStream* const stream : sorted_) {
      streams_.push_back({stream->name, stream->size, stream->modified(), stream->mode});
      count(*stream);
    }
  }

  const std::vector<NamedStream>& streams() const override { return streams_; }

  std::optional<size_t> find(std::string_view name) const override {
    const auto found = std::ranges::lower_bound(streams_, name, {}, &NamedStream::name);
    if (found == streams_.end() || found->name != name) return std::nullopt;
    return static_cast<size_t>(found - streams_.begin());
  }

  size_t read(size_t stream, std::span<std::byte> data, int64_t offset) const override {
    const ReplayedStream& one = *sorted_.at(stream);
    if (offset < 0) throw Error(Code::invalid_argument, "there is no offset below 0 in '" + one.name + "'");
    if (one.cut_off) require_there(one, offset, std::min(std::ssize(data), one.size - offset));
    return read_pieces(contents_.sources, one, data, offset);
  }

  std::optional<int64_t> next_data(size_t stream, int64_t offset) const override {
    const ReplayedStream& one = *sorted_.at(stream);
    if (offset < 0 || offset >= one.size) return std::nullopt;
    const layout::PieceMap::PieceOrGap at = one.pieces.at(offset);
    if (at.found) return offset;
    if (at.piece.length >= one.size - offset) return std::nullopt;
    return offset + at.piece.length;
  }

  const std::vector<Origin>& origins() const override { return origins_; }

 private:
  void require_there(const ReplayedStream& stream, int64_t offset, int64_t bytes) const {
    for (const auto& [begin, piece] : stream.pieces.all()) {
      const SetSource& source = contents_.sources[piece.source];
      const int64_t end = std::min(offset + bytes, begin + piece.length);
      if (source.base || std::max(begin, offset) >= end || piece.place + (end - begin) <= source.file_bytes)
        continue;
      throw file_error(Code::damaged, source.path, "it ends before bytes of '" + stream.name + "'");
    }
  }

  // Adds the stream to the count of the file that has its newest bytes, or, if it is empty, of the file that
  // created it.
  void count(const ReplayedStream& stream) {
    const auto by_origin = std::ranges::find(contents_.sources, stream.key.origin, &SetSource::origin);
    const bool has_bytes = !stream.pieces.all().empty();
    const size_t of = has_bytes ? stream.pieces.all().begin()->second.source
                                : static_cast<size_t>(by_origin - contents_.sources.begin());
    if (of < origins_.size()) ++origins_[of].streams;
  }

  const SetContents contents_;
  std::vector<const ReplayedStream*> sorted_;
  std::vector<NamedStream> streams_;
  std::vector<Origin> origins_;
};

}  // namespace

std::shared_ptr<const NamedStreams> NamedStreams::open(Store& store, const std::string& path, bool checked,
                                                       multifile::Checking checking) {
  const bool alone = set_of_container(path) && store.status(path).exists;
  const std::vector<std::string> containers = alone ? std::vector{path} : containers_of(store, path);
  SetContents contents = read_set(store, containers, alone ? std::string() : path,
                                  {.lenient = true, .checked = checked, .checking = checking});
  if (contents.sources.empty() && containers.empty()) {
    if (!store.status(path).exists)
      throw file_error(Code::not_found, path, "there is neither a multifile nor a container of this name");
    throw file_error(Code::unsupported, path,
                     "is a multifile whose tasks have no names, and there is no container beside it");
  }
  return std::make_shared<SetStreams>(std::move(contents));
}

}  // namespace sheaf::streams
