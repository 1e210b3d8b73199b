// Defines the functions under the names of the paper. The symbols are weak, so a program that defines
// functions with the same names uses its own.
#include <vector>

#include "sfio/api/exported.hpp"

#define SFIO_WEAK __attribute__((weak))

namespace {

// Converts arrays with the types of the paper.
struct Lists {
  Lists(unsigned count, const long* from, const unsigned* bytes) {
    if (!from || !bytes) return;
    offsets.assign(from, from + count);
    sizes.assign(bytes, bytes + count);
  }
  std::vector<int64_t> offsets;
  std::vector<size_t> sizes;
};

}  // namespace

SFIO_WEAK MFILE* mopen(const char* name, int stripeUnitSz) { return sfio_mopen(name, stripeUnitSz); }
SFIO_WEAK void mclose(MFILE* f) { sfio_mclose(f); }
SFIO_WEAK void mchsize(MFILE* f, long size) { sfio_mchsize(f, size); }
SFIO_WEAK void mdelete(const char* name) { sfio_mdelete(name); }
SFIO_WEAK void mcreate(const char* name) { sfio_mcreate(name); }

SFIO_WEAK void mread(MFILE* f, long offset, char* buffer, unsigned size) {
  sfio_mread(f, offset, buffer, size);
}
SFIO_WEAK void mwrite(MFILE* f, long offset, const char* buffer, unsigned size) {
  sfio_mwrite(f, offset, buffer, size);
}
SFIO_WEAK void mreadc(MFILE* f, long offset, char* buffer, unsigned size) {
  sfio_mreadc(f, offset, buffer, size);
}
SFIO_WEAK void mwritec(MFILE* f, long offset, const char* buffer, unsigned size) {
  sfio_mwritec(f, offset, buffer, size);
}

SFIO_WEAK void mreadb(MFILE* f, unsigned numberOfBlocks, long offsets[], char* buffers[], unsigned sizes[]) {
  const Lists lists(numberOfBlocks, offsets, sizes);
  sfio_mreadb(f, numberOfBlocks, lists.offsets.data(), reinterpret_cast<void* const*>(buffers),
              lists.sizes.data());
}
SFIO_WEAK void mwriteb(MFILE* f, unsigned numberOfBlocks, long offsets[], char* buffers[], unsigned sizes[]) {
  const Lists lists(numberOfBlocks, offsets, sizes);
  sfio_mwriteb(f, numberOfBlocks, lists.offsets.data(), reinterpret_cast<const void* const*>(buffers),
               lists.sizes.data());
}

SFIO_WEAK void merror(unsigned long* ioerr) { sfio_merror(ioerr); }
SFIO_WEAK void merrora(unsigned long* ioerr) { sfio_merrora(ioerr); }
SFIO_WEAK void prioerrora(void) { sfio_prioerrora(); }
SFIO_WEAK int mstat(MFILE* f, sfio_stat_t* stat) { return sfio_mstat(f, stat); }
