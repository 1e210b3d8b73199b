#include "api/posix/names/view_set.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "container/named_streams.hpp"

namespace sheaf::posix {

namespace {

using Streams = std::shared_ptr<const NamedStreams>;

[[noreturn]] void refuse(const std::string& path) { throw os_error("cannot write", path, EROFS); }

StreamStatus status_of(const NamedStreams& streams, size_t stream) {
  const NamedStream& found = streams.streams()[stream];
  StreamStatus status;
  status.number = stream + 1;
  status.size = found.size;
  status.modified = status.changed = found.modified;
  status.mode = found.mode & ~uint32_t{0222};
  return status;
}

class ViewStream final : public ContainerStream {
 public:
  ViewStream(Streams streams, size_t stream) : streams_(std::move(streams)), stream_(stream) {}

  size_t read(std::span<std::byte> data, int64_t offset) override {
    return streams_->read(stream_, data, offset);
  }
  using ContainerStream::append;
  using ContainerStream::write;
  void write(std::span<const std::span<const std::byte>>, int64_t) override { refuse(name()); }
  int64_t append(std::span<const std::span<const std::byte>>) override { refuse(name()); }
  void truncate(int64_t) override { refuse(name()); }
  void allocate(int64_t, int64_t, bool) override { refuse(name()); }
  StreamStatus status() override { return status_of(*streams_, stream_); }
  void set(const StreamAttributes&) override { refuse(name()); }
  std::string name() override { return streams_->streams()[stream_].name; }
  std::optional<int64_t> next_data(int64_t offset) override { return streams_->next_data(stream_, offset); }
  // Holes are not looked for: that its end is one is enough for whoever copies.
  std::optional<int64_t> next_hole(int64_t offset) override {
    const int64_t size = streams_->streams()[stream_].size;
    if (offset >= size) return std::nullopt;
    return size;
  }
  void flush() override {}
  void sync() override {}

 private:
  const Streams streams_;
  const size_t stream_;
};

class ViewSet final : public ContainerSet {
 public:
  ViewSet(Streams streams, std::string path) : streams_(std::move(streams)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  std::shared_ptr<ContainerStream> open_stream(std::string_view name, const StreamOpening& opening) override {
    const std::optional<size_t> found = streams_->find(name);
    if (found && opening.create && opening.exclusive)
      throw os_error("cannot create", std::string(name), EEXIST);
    if ((found && (opening.write || opening.truncate)) || (!found && opening.create))
      refuse(std::string(name));
    return found ? std::make_shared<ViewStream>(streams_, *found) : nullptr;
  }
  std::shared_ptr<ContainerStream> open_number(uint64_t number) override {
    const bool there = number > 0 && number <= streams_->streams().size();
    return there ? std::make_shared<ViewStream>(streams_, number - 1) : nullptr;
  }
  std::optional<StreamStatus> status(std::string_view name) override {
    if (const std::optional<size_t> found = streams_->find(name)) return status_of(*streams_, *found);
    return std::nullopt;
  }
  bool set(std::string_view name, const StreamAttributes&) override { return refuse_if_there(name); }
  bool truncate(std::string_view name, int64_t) override { return refuse_if_there(name); }
  bool remove(std::string_view name) override { return refuse_if_there(name); }
  bool rename(std::string_view from, std::string_view, bool) override { return refuse_if_there(from); }
  bool move_out(std::string_view name, const std::string&, const CopyOut&) override {
    return refuse_if_there(name);
  }
  void list(std::string_view prefix, const Visit& visit) override {
    const auto& all = streams_->streams();
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].name.starts_with(prefix)) visit(all[i].name, status_of(*streams_, i));
  }
  void refresh() override {}
  bool shared() override { return false; }

 private:
  bool refuse_if_there(std::string_view name) const {
    if (streams_->find(name)) refuse(std::string(name));
    return false;
  }

  const Streams streams_;
  const std::string path_;
};

}  // namespace

std::shared_ptr<ContainerSet> open_view(Store& store, const std::string& path) {
  return std::make_shared<ViewSet>(NamedStreams::open(store, path), path);
}

}  // namespace sheaf::posix
