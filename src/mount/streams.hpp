// mount/streams: what a multifile looks like to who mounts it: streams that have names and sizes and are read
// at any place.
//
// The room `mount` owns the way from names to streams: names and numbers of files and folders (mount/tree),
// the streams behind them (mount/task_streams), what extended attributes say of them. It calls multifile/ and
// what is below, and knows nothing of FUSE; cli/mount/ is what makes a file system of it. Sizes and offsets
// in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sheaf::mount {

// One stream, while somebody has it open. From any thread.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual int64_t size() const = 0;
  // Fills `out` from `offset`; returns the bytes read, fewer only at the end. Throws what reading throws:
  // damaged where bytes are not those that their checksum is of.
  virtual size_t read_at(std::span<std::byte> out, int64_t offset) = 0;
};

struct Facts {
  int64_t size = 0;      // bytes
  int64_t modified = 0;  // nanoseconds since 1970; 0: when the multifile was
  uint32_t mode = 0;     // permissions; 0: those of the multifile
};

// Names without "user.sheaf.", and values, as text.
using Attributes = std::vector<std::pair<std::string, std::string>>;

// The streams of one multifile, numbered from 0. From any thread. Everything throws what reading the metadata
// throws.
class Streams {
 public:
  virtual ~Streams() = default;

  virtual int64_t count() const = 0;
  virtual int64_t bytes() const = 0;  // of all, as they are stored
  // Of the file; with slashes: of folders and the file.
  virtual std::string name(int64_t stream) const = 0;
  // Whether names follow from numbers and have no slash: then find() has the stream of a name, or nothing if
  // there is none.
  virtual bool computes_names() const { return false; }
  virtual std::optional<int64_t> find(std::string_view /*name*/) const { return {}; }

  virtual Facts facts(int64_t stream) = 0;
  // Whether sizes are there without reading: else lists of many streams do without them.
  virtual bool knows_sizes() const = 0;
  virtual std::unique_ptr<Reader> open(int64_t stream) = 0;

  virtual Attributes attributes(int64_t stream) = 0;
  virtual Attributes attributes() = 0;  // of all together
};

}  // namespace sheaf::mount
