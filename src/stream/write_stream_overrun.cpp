// What a stream does with bytes that the program wrote behind its chunk.
#include "stream/overruns.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

// The program stands so many bytes behind the chunk, which is full: it goes on behind the same bytes in
// further chunks.
void WriteStream::take_in(int64_t tail) {
  const int64_t begin = geometry_.offset(chunk()) + geometry_.size;
  blocks_.position = blocks_.high = geometry_.size;
  tail = std::min(tail, file_->status().size - begin);  // who only moves ahead has written nothing there
  if (tail <= 0) return move_handle();
  TaskBlocks::Overrun& overrun = blocks_.add_overrun(tail);
  try {
    if (geometry_.size == 0) too_large(tail);
    const int64_t last = geometry_.offset(chunk() + 1 + (tail - 1) / geometry_.size);
    if (journal_key_.watch) journal_key_.watch->before_writing(last);
    move_tail(*file_, geometry_, chunk(), tail);
    while (overrun.kept < tail) {
      begin_next_chunk();
      blocks_.share();
      blocks_.position = blocks_.high = std::min(tail - overrun.kept, geometry_.size);
      overrun.kept += blocks_.high;
    }
    move_handle();
  } catch (const Error& e) {
    try {
      move_handle();
    } catch (const Error&) {  // the next call tries again
    }
    throw Error(e.code(),
                "'" + file_->path() + "': " + std::to_string(tail - overrun.kept) +
                    " bytes that the program wrote behind its chunk, at offset " + std::to_string(begin) +
                    ", are lost: " + e.what(),
                e.errno_value());
  }
  overrun_ = 1;
}

}  // namespace sheaf
