// Implements the collective reads and writes of the compute tasks.
#include "sfio/session/collective.hpp"

#include <cerrno>

#include "comm/agree.hpp"
#include "sfio/api/file.hpp"

using namespace sheaf;
using namespace sheaf::sfio;

namespace {

// Runs a collective transfer. Invalid arguments on one task make the call fail on all tasks.
template <class Buffer>
int64_t together(const char* call, MFILE* f, const BlockArrays<Buffer>& arrays) {
  constexpr Direction direction = BlockArrays<Buffer>::direction;
  return guarded_together(kind_of(direction), call, int64_t{-1}, [&] {
    Runtime* const session = Runtime::current();
    if (!session) throw Error(Code::wrong_mode, "there is no session");
    CollectiveShare part;
    part.wrong = attempt([&] {
      part.file = &file_of(f);
      part.blocks = arrays.blocks();
    });
    if (direction == Direction::write && part.wrong && part.wrong->errno_value() == ENOMEM && is_open_file(f))
      f->unwritten.add_unknown();
    const auto transfer = [&] { return transfer_together(session->comm(), direction, part); };
    const bool is_write =
        direction == Direction::write && !part.wrong && !attempt([&] { part.file->check(part.blocks); });
    return is_write ? write_remembered(*f, part.blocks, transfer) : transfer();
  });
}

}  // namespace

int64_t sfio_mwritec_all(MFILE* f, int64_t offset, const void* buffer, size_t size) {
  return together("mwritec_all", f, BlockArrays{1u, &offset, &buffer, &size});
}

int64_t sfio_mreadc_all(MFILE* f, int64_t offset, void* buffer, size_t size) {
  return together("mreadc_all", f, BlockArrays{1u, &offset, &buffer, &size});
}

int64_t sfio_mwriteb_all(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                         const size_t sizes[]) {
  return together("mwriteb_all", f, BlockArrays{blocks, offsets, buffers, sizes});
}

int64_t sfio_mreadb_all(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                        const size_t sizes[]) {
  return together("mreadb_all", f, BlockArrays{blocks, offsets, buffers, sizes});
}
