// Streams with names (include/sheaf.h): arguments, modes and return values.
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/report.hpp"
#include "container/container_set.hpp"
#include "container/gather.hpp"

using namespace sheaf;
using namespace sheaf::api;

struct sheaf_set {
  std::shared_ptr<Store> store;
  std::shared_ptr<ContainerSet> set;
};

struct sheaf_stream {
  std::shared_ptr<Store> store;
  std::shared_ptr<ContainerStream> stream;
  bool reads = false;
  bool appends = false;
  bool writes = false;
};

namespace {

// errno is part of the interface, also where no system call has failed.
template <class Result, class Body>
Result with_errno(const char* function, Result failure, Body&& body) {
  int error = 0;
  Result result = failure;
  guarded(function, -1, -1, [&] {
    try {
      result = body();
    } catch (const Error& e) {
      error = e.errno_value() != 0 ? e.errno_value() : EIO;
      throw;
    }
    return 0;
  });
  if (error != 0) errno = error;
  return result;
}

// The same for a call that has nothing to say but that all went well: 0, or -1.
template <class Body>
int succeeds_with_errno(const char* function, Body&& body) {
  return with_errno(function, -1, [&] {
    body();
    return 0;
  });
}

struct Mode {
  StreamOpening opening;
  bool reads = false;
  bool appends = false;
};

Mode mode_of(std::string_view text) {
  const char first = text.empty() ? '\0' : text[0];
  const bool both = text.find('+') != std::string_view::npos;
  if ((first != 'r' && first != 'w' && first != 'a') ||
      text.find_first_not_of("+xbe", 1) != std::string_view::npos)
    throw Error(Code::invalid_argument, "there is no mode '" + std::string(text) + "' of streams", EINVAL);
  return {.opening = {.create = first != 'r',
                      .exclusive = first != 'r' && text.find('x') != std::string_view::npos,
                      .truncate = first == 'w',
                      .write = first != 'r' || both},
          .reads = first == 'r' || both,
          .appends = first == 'a'};
}

void require_bytes(const void* data, unsigned long long bytes) {
  if (bytes > 0) require(data, "data");
  if (bytes > static_cast<unsigned long long>(INT64_MAX))
    throw Error(Code::invalid_argument, "too many bytes", EINVAL);
}

void require_right(bool right, const char* to) {
  if (!right) throw Error(Code::wrong_mode, std::string("the stream was not opened for ") + to, EBADF);
}

}  // namespace

sheaf_set* sheaf_set_open(const char* path) {
  return with_errno("sheaf_set_open", static_cast<sheaf_set*>(nullptr), [&] {
    require(path, "path");
    auto made = std::make_unique<sheaf_set>();
    made->store = posix_store_here();
    made->set = ContainerSet::open(*made->store, path);
    return made.release();
  });
}

int sheaf_set_close(sheaf_set* set) {
  return succeeds_with_errno("sheaf_set_close", [&] { delete set; });
}

sheaf_stream* sheaf_stream_open(sheaf_set* set, const char* name, const char* mode) {
  return with_errno("sheaf_stream_open", static_cast<sheaf_stream*>(nullptr), [&] {
    require(set, "set");
    require(name, "name");
    require(mode, "mode");
    const Mode how = mode_of(mode);
    auto opened = set->set->open_stream(name, how.opening);
    if (!opened)
      throw Error(Code::not_found,
                  "there is no stream '" + std::string(name) + "' in '" + set->set->path() + "'", ENOENT);
    return new sheaf_stream{set->store, std::move(opened), how.reads, how.appends, how.opening.write};
  });
}

long long sheaf_stream_read(sheaf_stream* stream, void* data, unsigned long long bytes, long long offset) {
  return with_errno("sheaf_stream_read", -1LL, [&] {
    require(stream, "stream");
    require_bytes(data, bytes);
    require_right(stream->reads, "reading");
    return static_cast<long long>(
        stream->stream->read({static_cast<std::byte*>(data), static_cast<size_t>(bytes)}, offset));
  });
}

long long sheaf_stream_write(sheaf_stream* stream, const void* data, unsigned long long bytes,
                             long long offset) {
  return with_errno("sheaf_stream_write", -1LL, [&] {
    require(stream, "stream");
    require_bytes(data, bytes);
    require_right(stream->writes, "writing");
    const std::span all(static_cast<const std::byte*>(data), static_cast<size_t>(bytes));
    if (stream->appends || offset == -1) {
      stream->stream->append(all);
    } else {
      stream->stream->write(all, offset);
    }
    return static_cast<long long>(bytes);
  });
}

long long sheaf_stream_size(sheaf_stream* stream) {
  return with_errno("sheaf_stream_size", -1LL, [&] {
    require(stream, "stream");
    return static_cast<long long>(stream->stream->status().size);
  });
}

int sheaf_stream_truncate(sheaf_stream* stream, long long size) {
  return succeeds_with_errno("sheaf_stream_truncate", [&] {
    require(stream, "stream");
    require_right(stream->writes, "writing");
    stream->stream->truncate(size);
  });
}

int sheaf_stream_sync(sheaf_stream* stream) {
  return succeeds_with_errno("sheaf_stream_sync", [&] {
    require(stream, "stream");
    stream->stream->sync();
  });
}

int sheaf_stream_close(sheaf_stream* stream) {
  return succeeds_with_errno("sheaf_stream_close", [&] {
    require(stream, "stream");
    const std::unique_ptr<sheaf_stream> closed(stream);
    closed->stream->flush();
  });
}

int sheaf_stream_remove(sheaf_set* set, const char* name) {
  return succeeds_with_errno("sheaf_stream_remove", [&] {
    require(set, "set");
    require(name, "name");
    if (!set->set->remove(name))
      throw Error(Code::not_found, "there is no stream '" + std::string(name) + "'", ENOENT);
  });
}

int sheaf_stream_rename(sheaf_set* set, const char* from, const char* to) {
  return succeeds_with_errno("sheaf_stream_rename", [&] {
    require(set, "set");
    require(from, "from");
    require(to, "to");
    if (!set->set->rename(from, to))
      throw Error(Code::not_found, "there is no stream '" + std::string(from) + "'", ENOENT);
  });
}

int sheaf_set_list(sheaf_set* set, const char* prefix,
                   int visit(const char* name, long long bytes, void* data), void* data) {
  std::vector<std::pair<std::string, long long>> found;
  const int failed = succeeds_with_errno("sheaf_set_list", [&] {
    require(set, "set");
    require(reinterpret_cast<const void*>(visit), "visit");
    set->set->list(prefix == nullptr ? "" : prefix, [&](std::string_view name, const StreamStatus& status) {
      found.emplace_back(name, status.size);
    });
  });
  if (failed != 0) return failed;
  for (const auto& [name, bytes] : found)
    if (const int result = visit(name.c_str(), bytes, data); result != 0) return result;
  return 0;
}

long long sheaf_set_gather(const char* path) {
  return with_errno("sheaf_set_gather", -1LL, [&] {
    require(path, "path");
    WorkProgress quiet;
    return static_cast<long long>(gather(*posix_store_here(), {.set = path}, quiet).streams);
  });
}
