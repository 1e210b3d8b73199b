// Implements the local reads and writes.
#include <type_traits>
#include <utility>

#include "comm/agree.hpp"
#include "sfio/api/file.hpp"

using namespace sheaf;
using namespace sheaf::sfio;

namespace {

// Runs a blocking call: transfers the blocks by move(file, blocks), which returns the number of bytes.
template <class Buffer, class Move>
int64_t transfer(const char* call, MFILE* f, const BlockArrays<Buffer>& arrays, Move move) {
  return guarded(kind_of(arrays.direction), call, int64_t{-1}, [&] {
    const auto run = [&] {
      const auto blocks = arrays.blocks();
      StripedFile& file = file_of(f);
      if constexpr (std::is_const_v<Buffer>)
        return write_remembered(*f, blocks, [&] { return move(file, blocks); });
      return move(file, blocks);
    };
    return std::is_const_v<Buffer> ? with_record(f, run) : run();
  });
}

template <Direction direction>
int64_t transfer_merged(StripedFile& file, const std::vector<Block>& blocks) {
  return file.transfer(direction, blocks);
}

// Counts all bytes, also those beyond the end of the file, which read as zero.
int64_t read_blocks(StripedFile& file, const std::vector<Block>& blocks) {
  file.read(blocks);
  int64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

template <Direction direction>
int64_t transfer_simply(StripedFile& file, const std::vector<Block>& blocks) {
  file.transfer_simply(direction, blocks[0]);
  return blocks[0].length;
}

// Starts a nonblocking transfer. The file keeps a list of its transfers until the program has waited for
// them.
template <class Buffer>
int start(const char* call, MFILE* f, const BlockArrays<Buffer>& arrays, sfio_request** request) {
  constexpr Direction direction = BlockArrays<Buffer>::direction;
  const auto begin = [&] {
    auto blocks = arrays.blocks();
    if (!request) throw Error(Code::invalid_argument, "no place for the request (NULL)");
    StripedFile& file = file_of(f);
    const std::lock_guard hold(file.link().lock());
    if (direction == Direction::write) file.check(blocks);
    auto started =
        std::make_unique<sfio_request>(sfio_request{f->session, direction, f, f->file, std::move(blocks)});
    f->under_way.insert(started.get());
    if (const auto failed = attempt([&] { started->operation = file.start(direction, started->blocks); })) {
      f->under_way.erase(started.get());
      if (direction == Direction::write) remember(*f, started->blocks, failed);
      throw *failed;
    }
    *request = started.release();
  };
  return guarded(kind_of(direction), call, -1,
                 [&] { direction == Direction::write ? with_record(f, begin) : begin(); });
}

}  // namespace

int64_t sfio_request::finish() {
  if (transferred) return *transferred;
  const auto end = [&] {
    operation->finish();
    return file->moved(*operation, blocks);
  };
  transferred = of && direction == Direction::write ? write_remembered(*of, blocks, end) : end();
  return *transferred;
}

int64_t sfio_mwrite(MFILE* f, int64_t offset, const void* buffer, size_t size) {
  return transfer("mwrite", f, BlockArrays{1u, &offset, &buffer, &size}, transfer_simply<Direction::write>);
}

int64_t sfio_mread(MFILE* f, int64_t offset, void* buffer, size_t size) {
  return transfer("mread", f, BlockArrays{1u, &offset, &buffer, &size}, transfer_simply<Direction::read>);
}

int64_t sfio_mwritec(MFILE* f, int64_t offset, const void* buffer, size_t size) {
  return transfer("mwritec", f, BlockArrays{1u, &offset, &buffer, &size}, transfer_merged<Direction::write>);
}

int64_t sfio_mreadc(MFILE* f, int64_t offset, void* buffer, size_t size) {
  return transfer("mreadc", f, BlockArrays{1u, &offset, &buffer, &size}, transfer_merged<Direction::read>);
}

int64_t sfio_mwriteb(MFILE* f, unsigned count, const int64_t offsets[], const void* const buffers[],
                     const size_t sizes[]) {
  return transfer("mwriteb", f, BlockArrays{count, offsets, buffers, sizes},
                  transfer_merged<Direction::write>);
}

int64_t sfio_mreadb(MFILE* f, unsigned count, const int64_t offsets[], void* const buffers[],
                    const size_t sizes[]) {
  return transfer("mreadb", f, BlockArrays{count, offsets, buffers, sizes}, read_blocks);
}

int sfio_iwritec(MFILE* f, int64_t offset, const void* buffer, size_t size, sfio_request** request) {
  return start("iwritec", f, BlockArrays{1u, &offset, &buffer, &size}, request);
}

int sfio_ireadc(MFILE* f, int64_t offset, void* buffer, size_t size, sfio_request** request) {
  return start("ireadc", f, BlockArrays{1u, &offset, &buffer, &size}, request);
}

int sfio_iwriteb(MFILE* f, unsigned count, const int64_t offsets[], const void* const buffers[],
                 const size_t sizes[], sfio_request** request) {
  return start("iwriteb", f, BlockArrays{count, offsets, buffers, sizes}, request);
}

int sfio_ireadb(MFILE* f, unsigned count, const int64_t offsets[], void* const buffers[],
                const size_t sizes[], sfio_request** request) {
  return start("ireadb", f, BlockArrays{count, offsets, buffers, sizes}, request);
}

int sfio_test(sfio_request* request, int* done) {
  // merror() counts a test without a request as a failed read.
  return guarded(request ? kind_of(request->direction) : Counted::read, "sfio_test", -1, [&] {
    if (!request || !done)
      throw Error(Code::invalid_argument, "no request or no place for the answer (NULL)");
    const std::lock_guard hold(session_of(request->session, "the request").link()->lock());
    *done = request->operation->advance();
  });
}

int64_t sfio_wait(sfio_request** request) {
  if (!request || !*request) return 0;
  const std::unique_ptr<sfio_request> mine(std::exchange(*request, nullptr));
  return guarded(kind_of(mine->direction), "sfio_wait", int64_t{-1}, [&] {
    const std::lock_guard hold(session_of(mine->session, "the request").link()->lock());
    if (mine->of) mine->of->under_way.erase(mine.get());
    return mine->finish();
  });
}

int sfio_mstat(MFILE* f, sfio_stat_t* stat) {
  return guarded(Counted::read, "mstat", -1, [&] {
    if (!stat) throw Error(Code::invalid_argument, "no place for the answer (NULL)");
    const StripedStatus found = file_of(f).status();
    *stat = {found.size, found.unit, found.allocated, static_cast<int32_t>(found.subfile_sizes.size()),
             found.listeners};
  });
}
