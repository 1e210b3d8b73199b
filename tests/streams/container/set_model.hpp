// set_model: a model of a set of streams in memory, and random programs that make the same changes to the set
// and to the model.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/named_streams.hpp"

namespace sheaf::test {

using Bytes = std::vector<std::byte>;

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

// Returns random bytes that identify their seed.
inline Bytes content(uint64_t seed, size_t bytes) {
  std::mt19937_64 random(seed);
  Bytes made(bytes);
  for (std::byte& b : made) b = static_cast<std::byte>(random());
  return made;
}

struct ModelStream {
  Bytes bytes = {};
  uint32_t mode = 0644;
  std::optional<int64_t> modified = {};  // time set by a program since the last write
  bool linked = true;
};

using Model = std::map<std::string, std::shared_ptr<ModelStream>>;

inline Bytes read_all(streams::ContainerStream& stream) {
  Bytes bytes(static_cast<size_t>(stream.status().size) + 10);
  bytes.resize(stream.read(bytes, 0));
  return bytes;
}

inline Bytes get(streams::ContainerSet& set, const std::string& name) {
  const auto stream = set.open_stream(name, {});
  require(stream != nullptr, name + " is not there");
  return read_all(*stream);
}

// Appends to a stream and flushes it, so that other hosts see the bytes. Creates the stream if it is missing.
inline void append(streams::ContainerSet& set, const std::string& name, const Bytes& bytes) {
  const auto stream = set.open_stream(name, {.create = true});
  stream->append(bytes);
  stream->flush();
}

inline Bytes read_all(const streams::NamedStreams& streams, const streams::NamedStream& stream) {
  Bytes bytes(static_cast<size_t>(stream.size) + 10);
  bytes.resize(streams.read(stream, bytes, 0));
  return bytes;
}

inline Bytes read_all(const streams::NamedStreams& streams, size_t number) {
  return read_all(streams, *streams.sorted.at(number));
}

// Requires that a reader finds the state of `model` in the containers alone.
inline void require_seen(Store& store, const std::string& path, const Model& model) {
  if (model.empty() && !store.status(path).exists) return;
  const auto seen = streams::NamedStreams::open(store, path);
  require(seen->streams().size() == model.size(), "a reader sees " + std::to_string(seen->streams().size()) +
                                                      " streams, not " + std::to_string(model.size()));
  for (const auto& [name, stream] : model) {
    const streams::NamedStream* const found = seen->find(name);
    require(found != nullptr, "a reader does not see " + name);
    require(found->mode == stream->mode, "a reader sees another mode of " + name);
    require(!stream->modified || found->modified() == *stream->modified,
            "a reader sees another time of " + name);
    require(read_all(*seen, *found) == stream->bytes, "a reader sees other bytes of " + name);
  }
}

// One of several programs that share a set. Here all run in one process.
class SetProgram {
 public:
  SetProgram(std::shared_ptr<streams::ContainerSet> set, Model& model, uint64_t seed)
      : set_(std::move(set)), model_(model), random_(seed) {}

  void step() {
    switch (below(13)) {
      case 0:
      case 1:
        return open();
      case 2:
        return close();
      case 3:
        return remove();
      case 4:
        return rename();
      case 5:
        return truncate();
      case 6:
        return list();
      case 7:
        return attributes();
      case 8:
        return allocate();
      default:
        return write();
    }
  }

  void close_all() { open_.clear(); }

  void compare_open() {
    for (auto& [stream, model] : open_) {
      require(read_all(*stream) == model->bytes, "an open stream has other bytes");
      require(stream->status().linked == model->linked, "an open stream has a name or not, unlike it should");
    }
  }

 private:
  struct OpenStream {
    std::shared_ptr<streams::ContainerStream> stream;
    std::shared_ptr<ModelStream> model;
  };

  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::string some_name() { return "out/" + std::string(1 + below(3), 'a') + std::to_string(below(5)); }
  OpenStream* some_open() { return open_.empty() ? nullptr : &open_[below(open_.size())]; }
  Bytes some_bytes() {
    const uint64_t most = below(10) == 0 ? 200000 : below(2) == 0 ? 5000 : 40;
    Bytes bytes(below(most));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_());
    return bytes;
  }

  void open() {
    const std::string name = some_name();
    streams::StreamOpening how;
    how.create = below(3) != 0;
    how.exclusive = how.create && below(4) == 0;
    how.truncate = below(4) == 0;
    how.write = true;
    how.mode = below(2) == 0 ? 0600 : 0644;
    const bool there = model_.contains(name);
    OpenStream opened;
    try {
      opened.stream = set_->open_stream(name, how);
    } catch (const Error& e) {
      require(e.errno_value() == EEXIST && there && how.exclusive, std::string("cannot open: ") + e.what());
      return;
    }
    require(!(there && how.exclusive), "a stream was made that was there");
    require((opened.stream != nullptr) == (there || how.create),
            "a stream is there or not, unlike it should");
    if (!opened.stream) return;
    if (!there) model_[name] = std::make_shared<ModelStream>(ModelStream{.mode = how.mode});
    opened.model = model_[name];
    if (how.truncate) {
      opened.model->bytes.clear();
      opened.model->modified.reset();
    }
    open_.push_back(opened);
  }

  void close() {
    if (!open_.empty()) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(below(open_.size())));
  }

  void write() {
    OpenStream* const to = some_open();
    if (to == nullptr) return;
    const Bytes bytes = some_bytes();
    Bytes& all = to->model->bytes;
    size_t at = all.size();
    if (below(2) == 0) {
      require(to->stream->append(bytes).end() == static_cast<int64_t>(at + bytes.size()),
              "append ends elsewhere");
    } else {
      if (below(3) != 0) at = below(all.size() + 100 + (below(20) == 0 ? 100000 : 0));
      const size_t half = bytes.size() / 2;
      const std::span<const std::byte> parts[] = {std::span(bytes).first(half),
                                                  std::span(bytes).subspan(half)};
      to->stream->write(parts, static_cast<int64_t>(at), streams::WriteAt::position);
    }
    if (bytes.empty()) return;
    all.resize(std::max(all.size(), at + bytes.size()));
    std::ranges::copy(bytes, all.begin() + static_cast<std::ptrdiff_t>(at));
    to->model->modified.reset();
    if (below(4) == 0) compare(*to, at);
  }

  void compare(OpenStream& one, size_t at) {
    const size_t from = at > 50 ? at - 50 : 0;
    Bytes bytes(300);
    bytes.resize(one.stream->read(bytes, static_cast<int64_t>(from)));
    const Bytes& all = one.model->bytes;
    const auto right = std::span(all).subspan(from, std::min<size_t>(300, all.size() - from));
    require(std::ranges::equal(bytes, right), "other bytes are read at " + std::to_string(from));
  }

  void truncate() {
    OpenStream* const to = some_open();
    if (to == nullptr) return;
    const size_t size = below(3) == 0 ? 0 : below(to->model->bytes.size() + 1000);
    to->stream->truncate(static_cast<int64_t>(size));
    to->model->bytes.resize(size);
    to->model->modified.reset();
  }

  void allocate() {
    OpenStream* const to = some_open();
    if (to == nullptr) return;
    const size_t at = below(to->model->bytes.size() + 100), length = 1 + below(3000);
    const auto what = std::array{Allocation::reservation, Allocation::zero, Allocation::hole}[below(3)];
    const bool extend = what != Allocation::hole && below(2) == 0;
    auto& bytes = to->model->bytes;
    to->stream->allocate(static_cast<int64_t>(at), static_cast<int64_t>(length), extend, what);
    if (extend) bytes.resize(std::max(bytes.size(), at + length));
    if (what != Allocation::reservation)
      for (size_t i = at; i < std::min(at + length, bytes.size()); ++i) bytes[i] = {};
    to->model->modified.reset();
  }

  void remove() {
    const std::string name = some_name();
    require(set_->remove(name) == model_.contains(name), "remove finds a stream or not, unlike it should");
    if (const auto found = model_.find(name); found != model_.end()) {
      found->second->linked = false;
      model_.erase(found);
    }
  }

  void rename() {
    const std::string from = some_name(), to = some_name();
    const bool keep = below(4) == 0;
    const bool refused = keep && model_.contains(from) && model_.contains(to);
    try {
      require(set_->rename(from, to, keep) == model_.contains(from),
              "rename finds a stream or not, unlike it should");
    } catch (const Error& e) {
      require(e.errno_value() == EEXIST && refused, std::string("cannot rename: ") + e.what());
      return;
    }
    require(!refused, "a stream was replaced that should be kept");
    if (!model_.contains(from) || from == to) return;
    if (model_.contains(to)) model_[to]->linked = false;
    model_[to] = model_[from];
    model_.erase(from);
  }

  void attributes() {
    const std::string name = some_name();
    streams::StreamAttributes set;
    if (below(2) == 0) set.mode = static_cast<uint32_t>(below(01000));
    if (below(2) == 0) set.modified = static_cast<int64_t>(below(1'000'000'000'000'000'000));
    require(set_->set(name, set) == model_.contains(name), "set() finds a stream or not, unlike it should");
    if (!model_.contains(name)) return;
    if (set.mode) model_[name]->mode = *set.mode;
    if (set.modified) model_[name]->modified = *set.modified;
    const auto status = set_->status(name);
    require(status && status->mode == model_[name]->mode, "another mode");
    require(!model_[name]->modified || status->modified == *model_[name]->modified, "another time");
  }

  void list() {
    const std::string prefix = below(2) == 0 ? "" : "out/aa";
    std::map<std::string, int64_t> found, right;
    set_->list(prefix, [&](std::string_view name, const streams::StreamStatus& status) {
      found.emplace(name, status.size);
    });
    for (const auto& [name, stream] : model_)
      if (name.starts_with(prefix)) right.emplace(name, std::ssize(stream->bytes));
    require(found == right, "the list is another one");
  }

  const std::shared_ptr<streams::ContainerSet> set_;
  Model& model_;
  std::mt19937_64 random_;
  std::vector<OpenStream> open_;
};

}  // namespace sheaf::test
