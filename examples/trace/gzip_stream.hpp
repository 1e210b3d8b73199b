// A gzip stream over a FILE* that the caller has positioned. The trace tool uses it between its buffers and
// the multifile. `Room` is called with a number of bytes before they are written, because the multifile may
// have to start a new chunk. `Left` returns the number of bytes up to the end of the task's data.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <vector>

namespace trace {

class GzipWriter {
 public:
  using Room = std::function<bool(std::size_t bytes)>;
  // Writes to the file in pieces of `piece` bytes. A multiple of the file system's block size keeps the
  // pieces aligned.
  GzipWriter(std::FILE* file, Room room, std::size_t piece)
      : file_(file), room_(std::move(room)), out_(piece) {
    if (deflateInit2(&stream_, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::runtime_error("zlib cannot begin");
    begin_piece();
  }
  ~GzipWriter() { deflateEnd(&stream_); }
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(const void* data, std::size_t bytes) {
    stream_.next_in = static_cast<Bytef*>(const_cast<void*>(data));
    stream_.avail_in = static_cast<uInt>(bytes);
    while (stream_.avail_in > 0) run(Z_NO_FLUSH);
  }
  void finish() {
    while (run(Z_FINISH) != Z_STREAM_END) continue;
    put(out_.size() - stream_.avail_out);
  }
  std::size_t stored() const { return stored_; }

 private:
  int run(int flush) {
    const int code = deflate(&stream_, flush);
    if (code == Z_STREAM_ERROR) throw std::runtime_error("zlib failed");
    if (stream_.avail_out == 0) {
      put(out_.size());
      begin_piece();
    }
    return code;
  }
  void begin_piece() {
    stream_.next_out = out_.data();
    stream_.avail_out = static_cast<uInt>(out_.size());
  }
  void put(std::size_t bytes) {
    if (!room_(bytes) || std::fwrite(out_.data(), 1, bytes, file_) != bytes)
      throw std::runtime_error("the trace cannot be written");
    stored_ += bytes;
  }

  std::FILE* file_;
  Room room_;
  std::vector<Bytef> out_;
  z_stream stream_{};
  std::size_t stored_ = 0;
};

// Reads a whole gzip stream and passes its contents to take(bytes, count). `fill(memory, most)` stores the
// next input bytes and returns their number, 0 at the end.
template <class Fill, class Take>
void read_gzip(Fill fill, Take take) {
  std::vector<Bytef> in(256 << 10), out(1 << 20);
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::runtime_error("zlib cannot begin");
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.next_in = in.data();
      stream.avail_in = static_cast<uInt>(fill(in.data(), in.size()));
    }
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const bool ended = stream.avail_in == 0;
    code = inflate(&stream, Z_NO_FLUSH);
    if ((code != Z_OK && code != Z_STREAM_END) || (ended && code != Z_STREAM_END)) break;
    take(out.data(), out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::runtime_error("a trace ends early or is damaged");
}

}  // namespace trace
