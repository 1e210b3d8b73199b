// Writing and reading: local calls.
#include <utility>

#include "api/sfio/file.hpp"
#include "comm/agree.hpp"

using namespace sheaf;
using namespace sheaf::sfio;

namespace {

int64_t transfer(MFILE* f, Direction direction, const Block& block) {
  StripedFile& file = file_of(f);
  if (direction == Direction::read) return file.read_block(block);
  file.write({&block, 1});
  return block.length;
}

int64_t transfer_simply(MFILE* f, Direction direction, const Block& block) {
  file_of(f).transfer_simply(direction, block);
  return block.length;
}

int64_t sum_of(const std::vector<Block>& blocks) {
  int64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

int start(MFILE* f, Direction direction, std::vector<Block> blocks, sfio_request** request) {
  if (!request) throw Error(Code::invalid_argument, "no place for the request (NULL)");
  StripedFile& file = file_of(f);
  const std::lock_guard hold(file.link().lock());
  auto started = std::make_unique<sfio_request>(sfio_request{f->session, f, f->file, std::move(blocks)});
  f->under_way.insert(started.get());
  if (const auto failed = attempt([&] { started->operation = file.start(direction, started->blocks); })) {
    f->under_way.erase(started.get());
    throw *failed;
  }
  *request = started.release();
  return 0;
}

}  // namespace

int64_t sfio_request::finish() {
  if (transferred) return *transferred;
  operation->finish();
  transferred = file->moved(*operation, blocks);
  return *transferred;
}

int64_t sfio_mwrite(MFILE* f, int64_t offset, const void* buffer, size_t size) {
  return guarded("mwrite", int64_t{-1},
                 [&] { return transfer_simply(f, Direction::write, block_of(offset, buffer, size)); });
}

int64_t sfio_mread(MFILE* f, int64_t offset, void* buffer, size_t size) {
  return guarded("mread", int64_t{-1},
                 [&] { return transfer_simply(f, Direction::read, block_of(offset, buffer, size)); });
}

int64_t sfio_mwritec(MFILE* f, int64_t offset, const void* buffer, size_t size) {
  return guarded("mwritec", int64_t{-1},
                 [&] { return transfer(f, Direction::write, block_of(offset, buffer, size)); });
}

int64_t sfio_mreadc(MFILE* f, int64_t offset, void* buffer, size_t size) {
  return guarded("mreadc", int64_t{-1},
                 [&] { return transfer(f, Direction::read, block_of(offset, buffer, size)); });
}

int64_t sfio_mwriteb(MFILE* f, unsigned count, const int64_t offsets[], const void* const buffers[],
                     const size_t sizes[]) {
  return guarded("mwriteb", int64_t{-1}, [&] {
    const auto blocks = blocks_of(count, offsets, buffers, sizes);
    file_of(f).write(blocks);
    return sum_of(blocks);
  });
}

int64_t sfio_mreadb(MFILE* f, unsigned count, const int64_t offsets[], void* const buffers[],
                    const size_t sizes[]) {
  return guarded("mreadb", int64_t{-1}, [&] {
    const auto blocks = blocks_of(count, offsets, buffers, sizes);
    file_of(f).read(blocks);
    return sum_of(blocks);
  });
}

int sfio_iwritec(MFILE* f, int64_t offset, const void* buffer, size_t size, sfio_request** request) {
  return guarded("iwritec", -1,
                 [&] { return start(f, Direction::write, {block_of(offset, buffer, size)}, request); });
}

int sfio_ireadc(MFILE* f, int64_t offset, void* buffer, size_t size, sfio_request** request) {
  return guarded("ireadc", -1,
                 [&] { return start(f, Direction::read, {block_of(offset, buffer, size)}, request); });
}

int sfio_iwriteb(MFILE* f, unsigned count, const int64_t offsets[], const void* const buffers[],
                 const size_t sizes[], sfio_request** request) {
  return guarded("iwriteb", -1, [&] {
    return start(f, Direction::write, blocks_of(count, offsets, buffers, sizes), request);
  });
}

int sfio_ireadb(MFILE* f, unsigned count, const int64_t offsets[], void* const buffers[],
                const size_t sizes[], sfio_request** request) {
  return guarded("ireadb", -1, [&] {
    return start(f, Direction::read, blocks_of(count, offsets, buffers, sizes), request);
  });
}

int sfio_test(sfio_request* request, int* done) {
  return succeeds("sfio_test", [&] {
    if (!request || !done)
      throw Error(Code::invalid_argument, "no request or no place for the answer (NULL)");
    const std::lock_guard hold(session_of(request->session, "the request").link()->lock());
    *done = request->operation->advance();
  });
}

int64_t sfio_wait(sfio_request** request) {
  if (!request || !*request) return 0;
  const std::unique_ptr<sfio_request> mine(std::exchange(*request, nullptr));
  return guarded("sfio_wait", int64_t{-1}, [&] {
    const std::lock_guard hold(session_of(mine->session, "the request").link()->lock());
    if (mine->of) mine->of->under_way.erase(mine.get());
    return mine->finish();
  });
}

int sfio_mstat(MFILE* f, sfio_stat_t* stat) {
  return succeeds("mstat", [&] {
    if (!stat) throw Error(Code::invalid_argument, "no place for the answer (NULL)");
    const StripedStatus found = file_of(f).status();
    *stat = {found.size, found.unit, found.allocated, static_cast<int32_t>(found.subfile_sizes.size()),
             found.listeners};
  });
}
