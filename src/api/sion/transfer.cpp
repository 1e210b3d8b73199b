// Calls that transfer data of the current task, and calls that query and set its position.
#include <algorithm>
#include <cstring>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

// Returns the rank in brackets, at least two characters wide: "[ 0]". The original library appends the rank
// to function names in this format.
std::string rank_in_brackets(int rank) {
  const std::string digits = std::to_string(rank);
  return "[" + std::string(digits.size() < 2 ? 1 : 0, ' ') + digits + "]";
}

[[gnu::noinline]] size_t write_slowly(const void* data, size_t size, size_t nitems, int sid) {
  return on_handle_to_write("sion_fwrite", sid, size_t{0}, [&](SionHandle& handle) -> size_t {
    const size_t bytes = bytes_of(size, nitems);
    if (bytes == 0) return 0;
    if (!data) throw Error(Code::invalid_argument, "the data pointer is NULL");
    handle.write({static_cast<const std::byte*>(data), bytes});
    report_overrun("sion_fwrite", handle);
    return nitems;
  });
}

[[gnu::noinline]] size_t read_slowly(void* data, size_t size, size_t nitems, int sid) {
  return on_handle("sion_fread", sid, size_t{0}, [&](SionHandle& handle) -> size_t {
    ReadStream& stream = get_reader(handle);
    const size_t bytes = bytes_of(size, nitems);
    if (bytes == 0 || !data) return 0;
    const auto there = static_cast<size_t>(stream.available(static_cast<int64_t>(bytes)));
    const size_t whole = there / size;
    return stream.read({static_cast<std::byte*>(data), whole * size}) / size;
  });
}

// Copies a small record, inline for the most frequent sizes.
inline void copy_record(void* to, const void* from, size_t bytes) {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes == 64) {
    std::memcpy(to, from, 64);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

size_t sion_fwrite(const void* data, size_t size, size_t nitems, int sid) {
  if (SionHandle* h = find_handle(sid)) [[likely]] {
    StreamWindow& w = *h->windows.out;
    size_t bytes;
    if (!__builtin_mul_overflow(size, nitems, &bytes) && bytes - 1 < static_cast<size_t>(w.end - w.at) &&
        data) [[likely]] {
      copy_record(w.at, data, bytes);
      w.at += bytes;
      return nitems;
    }
  }
  return write_slowly(data, size, nitems, sid);
}

size_t sion_fread(void* data, size_t size, size_t nitems, int sid) {
  if (SionHandle* h = find_handle(sid)) [[likely]] {
    StreamWindow& w = *h->windows.in;
    size_t bytes;
    if (!__builtin_mul_overflow(size, nitems, &bytes) && bytes - 1 < static_cast<size_t>(w.end - w.at) &&
        data) [[likely]] {
      copy_record(data, w.at, bytes);
      w.at += bytes;
      return nitems;
    }
  }
  return read_slowly(data, size, nitems, sid);
}

int sion_flush(int sid) {
  return succeeds_on_handle("sion_flush", sid, [&](SionHandle& handle) {
    if (!handle.writer) return;
    handle.writes->commit();
    report_overrun("sion_flush", handle);
    if (handle.opened.posix) handle.writer->target().sync();
  });
}

int sion_ensure_free_space(int sid, sion_int64 bytes) {
  return on_handle("sion_ensure_free_space", sid, SION_NOT_SUCCESS, [&](SionHandle& handle) {
    WriteStream& stream = get_writer(handle);
    const int64_t chunk_size = stream.geometry().size;
    if (bytes < 0 || bytes > chunk_size) {
      // This is the message text of the original library. Scripts search for it.
      report("sion_ensure_free_space" + rank_in_brackets(handle.task()),
             Error(Code::out_of_range, "could not write " + std::to_string(bytes) +
                                           " bytes, chunksize=" + std::to_string(chunk_size) +
                                           ", returning ... ('" + handle.path() + "')"),
             handle.task(), SION_NOT_SUCCESS);
      return SION_NOT_SUCCESS;
    }
    stream.ensure_free_space(bytes);
    report_overrun("sion_ensure_free_space", handle);
    return SION_SUCCESS;
  });
}

int sion_feof(int sid) {
  return on_handle("sion_feof", sid, -1,
                   [&](SionHandle& handle) { return handle.reader ? handle.reader->at_end() : 1; });
}

sion_int64 sion_bytes_avail_in_block(int sid) {
  return on_handle("sion_bytes_avail_in_block", sid, -1LL, [&](SionHandle& handle) -> sion_int64 {
    return handle.reader ? handle.reader->available_in_block() : 0;
  });
}

sion_int64 sion_bytes_avail_in_chunk(int sid) { return sion_bytes_avail_in_block(sid); }

sion_int64 sion_get_position(int sid) {
  return on_handle("sion_get_position", sid, -1LL, [&](SionHandle& handle) -> sion_int64 {
    if (handle.reader) return handle.reader->file_position();
    handle.writer->flush();
    report_overrun("sion_get_position", handle);
    return handle.writer->file_position();
  });
}

sion_int64 sion_get_bytes_written(int sid) {
  return on_handle("sion_get_bytes_written", sid, -1LL, [&](SionHandle& handle) -> sion_int64 {
    WriteStream& stream = get_writer(handle);
    stream.flush();
    report_overrun("sion_get_bytes_written", handle);
    return stream.bytes_written();
  });
}

sion_int64 sion_get_bytes_read(int sid) {
  return on_handle("sion_get_bytes_read", sid, -1LL,
                   [](SionHandle& handle) -> sion_int64 { return get_reader(handle).bytes_read(); });
}

namespace {

void seek_in_writing(const char* function, SionHandle& handle, int rank, int block, sion_int64 position) {
  const int64_t before = handle.task();
  const int64_t wanted = rank == SION_CURRENT_RANK ? before : rank;
  const auto failed = attempt([&] {
    handle.writer->flush();
    report_overrun(function, handle);
    handle.select(wanted);
  });
  if (failed) {
    const bool is_own =
        std::ranges::find(handle.writes->tasks(), wanted, &OwnTask::task) != handle.writes->tasks().end();
    if (wanted != before && is_own) handle.stray(wanted, *failed);
    throw *failed;
  }
  const bool stays = (block == SION_CURRENT_BLK) && (position == SION_CURRENT_POS);
  if (stays) return;
  // Only the end of the stream can be written. A seek to the current position is accepted.
  handle.writer->flush();
  const StreamPosition at = handle.writer->position();
  const bool same_block = block == SION_CURRENT_BLK || block == at.block;
  const bool same_position = position == SION_CURRENT_POS || position == at.offset;
  if (same_block && same_position) return;
  handle.select(before);
  throw Error(Code::wrong_mode, "writing goes on at the end of a task's stream: position (" +
                                    std::to_string(block) + ", " + std::to_string(position) + ") of task " +
                                    std::to_string(rank) +
                                    " cannot be chosen; use SION_CURRENT_BLK, SION_CURRENT_POS");
}

// Reports why a position relative to the end of the stream does not exist. The message text is that of the
// original library.
void report_no_end_position(const char* function, const ReadStream& stream, sion_int64 position) {
  const std::string offset = std::to_string(position);
  const std::string why = position > 0
                              ? "seek past end of file (" + offset + " > 0)"
                              : "seek before beginning of file (posend = " + offset +
                                    ", abspos = " + std::to_string(stream.sizes().total() + position) + ")";
  report(function, Error(Code::out_of_range, why + ", aborting  ..."), Error::no_task, SION_NOT_SUCCESS);
}

// Moves to a position of sion_seek() within the task of `stream`. Returns whether the position exists.
bool seek_in_task(ReadStream& stream, int block, sion_int64 position) {
  if (block == SION_ABSOLUTE_POS) return stream.seek_absolute(position);
  if (block == SION_END_POS) return stream.seek_from_end(position);
  if (block == SION_CURRENT_BLK && position == SION_CURRENT_POS) {
    stream.settle();
    return true;
  }
  return stream.seek_block(block == SION_CURRENT_BLK ? stream.blocks().block() : block,
                           position == SION_CURRENT_POS ? stream.position().offset : position);
}

void seek_in_reading(const char* function, SionHandle& handle, int rank, int block, sion_int64 position) {
  const int64_t before = handle.task();
  const bool switches = rank != SION_CURRENT_RANK && rank != before;
  if (switches) handle.select(rank);
  ReadStream& stream = *handle.reader;
  // A switch to a task without data finds no current position.
  const bool is_empty =
      switches && block == SION_CURRENT_BLK && position == SION_CURRENT_POS && stream.at_end();
  const bool found = !is_empty && seek_in_task(stream, block, position);
  // Keys have their own positions, so programs that read keys seek only to select a task.
  if (found || handle.facts().keyval) return;
  if (block == SION_END_POS) report_no_end_position(function, stream, position);
  const std::string searched = block == SION_END_POS ? "error in searching end pos, returning  ... " : "";
  Error error(Code::out_of_range, searched + "task " + std::to_string(handle.task()) + " has no position (" +
                                      std::to_string(block) + ", " + std::to_string(position) + ")");
  if (switches) handle.select(before);
  throw error;
}

int seek(const char* function, int sid, int rank, int block, sion_int64 position, FILE** fileptr) {
  // A serial program has no rank. Its messages therefore name no task, and SION_ERROR_MSG_RANK does not
  // filter them.
  SionHandle* const h = find_handle(sid);
  const auto task = [h] { return h && !h->is_serial() ? h->task() : Error::no_task; };
  return succeeds(function, task, [&] {
    SionHandle& handle = get_handle(sid);
    (handle.writer ? seek_in_writing : seek_in_reading)(function, handle, rank, block, position);
    if (handle.program.plain) handle.program.plain->moved();
    give_stream(handle, fileptr);
  });
}

}  // namespace

int sion_seek(int sid, int rank, int currentblocknr, sion_int64 posinblk) {
  return seek("sion_seek", sid, rank, currentblocknr, posinblk, nullptr);
}

int sion_seek_fp(int sid, int rank, int currentblocknr, sion_int64 posinblk, FILE** fileptr) {
  return seek("sion_seek_fp", sid, rank, currentblocknr, posinblk, fileptr);
}
