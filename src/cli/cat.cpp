// cli/cat: writes the concatenated streams of tasks to stdout or to a file.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/named/named.hpp"
#include "cli/terminal.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/reader/reader.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::cli {

using multifile::Multifile;
using multifile::OutputSet;
using multifile::ReadStream;
using multifile::TaskRow;

namespace {

// The destination of the bytes.
class CatOutput {
 public:
  explicit CatOutput(const CatOptions& options)
      : outputs_(posix_store(),
                 options.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused),
        name_(options.output) {
    if (!name_.empty()) outputs_.check(name_);
  }

  void append(File& source, int64_t offset, int64_t bytes) {
    if (!name_.empty()) {
      open();
      copier_->add(source, offset, written_, bytes);
      copier_->finish();
      written_ += bytes;
      return;
    }
    buffer_.resize(
        static_cast<size_t>(std::max(static_cast<int64_t>(buffer_.size()), std::min(bytes, buffer_bytes))));
    while (bytes > 0) {
      const auto piece = std::span(buffer_).first(static_cast<size_t>(std::min(bytes, buffer_bytes)));
      if (source.read_at(piece, offset) < piece.size())
        throw file_error(Code::damaged, source.path(),
                         "ends inside the data at offset " + std::to_string(offset));
      if (std::fwrite(piece.data(), 1, piece.size(), stdout) < piece.size())
        throw os_error("cannot write to", "standard output", errno);
      offset += static_cast<int64_t>(piece.size());
      bytes -= static_cast<int64_t>(piece.size());
    }
  }

  void finish() {
    if (name_.empty()) return;
    open();
    multifile::close_output(*file_, written_);
    outputs_.commit();
  }

 private:
  static constexpr int64_t buffer_bytes = 1 << 20;

  // Creates the output file. Called when the input has been found to be readable, so that an unreadable input
  // creates no output.
  void open() {
    if (file_) return;
    catch_signals();
    file_ = outputs_.add(name_);
    copier_.emplace(*file_, progress_);
  }

  OutputSet outputs_;
  const std::string& name_;
  std::shared_ptr<File> file_;
  int64_t written_ = 0;
  LineBytes buffer_;
  TerminalProgress progress_{"cat"};
  std::optional<multifile::RangeCopier> copier_;
};

void check_block(const std::string& path, int64_t block, int64_t count) {
  if (block < 0 || block >= count)
    throw Error(Code::out_of_range, "'" + path + "': there is no block " + std::to_string(block) +
                                        "; blocks are numbered 0 to " + std::to_string(count - 1));
}

// Returns the largest number of uncompressed blocks of any task.
int64_t max_blocks(const Multifile& m) {
  if (!m.compressed()) return m.maxblocks();
  int64_t most = 0;
  multifile::for_each_row(m, [&](int64_t t, const TaskRow& row) {
    ReadStream stream;
    multifile::load_stream(stream, m, t, row);
    most = std::max<int64_t>(most, stream.sizes().count);
  });
  return most;
}

// Verifies the checksums of all bytes to be written before the first one is written.
void check(ReadStream& stream, const CatOptions& options) {
  if (stream.blocks().piece() == 0) return;
  LineBytes buffer(static_cast<size_t>(std::clamp<int64_t>(stream.sizes().total(), 1, 1 << 20)));
  const int64_t first = options.block.value_or(0);
  const int64_t last =
      options.block ? std::min<int64_t>(first + 1, stream.sizes().count) : stream.sizes().count;
  for (int64_t b = first; b < last; ++b) {
    stream.seek_block(b, 0);
    for (int64_t left = stream.sizes()[b]; left > 0; check_signals())
      left -= static_cast<int64_t>(
          stream.read(std::span(buffer).first(static_cast<size_t>(std::min(left, std::ssize(buffer))))));
  }
}

void append_task(CatOutput& sink, ReadStream& stream, const CatOptions& options, int64_t task) {
  File& source = stream.blocks().file();
  const layout::ChunkGeometry geometry = stream.geometry();
  const multifile::BlockSizes sizes = stream.sizes();
  check(stream, options);
  if (options.verbose)
    std::fprintf(stderr, "task %lld: %lld bytes in %lld blocks of '%s'\n", static_cast<long long>(task),
                 static_cast<long long>(sizes.total()), static_cast<long long>(sizes.count),
                 printable(source.path()).c_str());
  if (!options.block) {
    multifile::for_each_extent(geometry, sizes,
                               [&](int64_t offset, int64_t bytes) { sink.append(source, offset, bytes); });
  } else if (*options.block < sizes.count) {
    sink.append(source, geometry.offset(*options.block), sizes[*options.block]);
  }
}

}  // namespace

int cat(const CatOptions& options) {
  if (!options.name.empty()) return cat_named(options);
  CatOutput sink(options);
  if (options.task) {
    multifile::OpenMode mode;
    mode.checksums = !options.ignore_checksums;
    multifile::Reader reader(sfio::any_store(), options.path, *options.task, mode);
    tell_what_is_unsure(options.path, reader.facts().unclosed, reader.facts().guessed);
    ReadStream& stream = reader.stream();
    if (options.block) check_block(options.path, *options.block, stream.sizes().count);
    append_task(sink, stream, options, *options.task);
  } else {
    const Multifile m = load(options.path, options.ignore_checksums);
    if (options.block) check_block(options.path, *options.block, max_blocks(m));
    multifile::for_each_row(m, [&](int64_t t, const TaskRow& row) {
      ReadStream stream;
      multifile::load_stream(stream, m, t, row);
      append_task(sink, stream, options, t);
    });
  }
  sink.finish();
  return 0;
}

}  // namespace sheaf::cli
