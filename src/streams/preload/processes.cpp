// streams/preload/processes: implements the functions of streams/preload/files.hpp for the start and end of a
// process.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include <vector>

#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/following.hpp"
#include "streams/preload/locks.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/own_descriptors.hpp"

namespace sheaf::preload {

namespace {

OpenFile* with_slot(const Slot* slot) {
  OpenFile* found = nullptr;
  each_captured([&](int, OpenFile& file) {
    if (file.slot.load() == slot) found = &file;
  });
  return found;
}

void adopt(int fd, bool counted) {
  Slot* const slot = state::adopt(fd, counted);
  if (!slot) return;
  if (OpenFile* const known = with_slot(slot)) {
    if (!counted) state::release(slot);
    return install(fd, known);
  }
  OpenFile* const file = make_open_file();
  if (!file) return;
  if (open_slot(*file, slot) == 0) install(fd, file);
  unuse(file);
}

// Replaces the slot of the open file by a private copy and releases the shared slot, which may then be
// reassigned. Other processes do not see later changes of the copy.
void keep_for_itself(OpenFile& file) {
  Slot* const shared = file.slot.load();
  Slot* const own = state::copy_of(*shared);
  if (own == shared) return;
  file.slot.store(own);
  state::release(shared);
}

}  // namespace

void adopt_inherited(bool counted) noexcept {
  errno_of([&] {
    DIR* const all = opendir("/proc/self/fd");
    if (!all) return;
    std::vector<int> inherited;
    while (const dirent* const entry = readdir(all))
      if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(all))
        inherited.push_back(atoi(entry->d_name));
    closedir(all);
    for (const int fd : inherited) adopt(fd, counted);
    std::erase_if(inherited, [](int fd) { return descriptor_table[fd].load() != nullptr; });
    adopt_process_locks(inherited);
  });
}

void flush_written() noexcept {
  each_captured([](int, OpenFile& file) {
    if (file.written.exchange(false)) errno_of([&] { file.stream->flush(); });
  });
}

void end_of_process() noexcept {
  const Inside inside;
  flush_written();
  bool shares = false;
  each_captured([&](int, OpenFile& file) {
    const Slot* const slot = file.slot.load();
    if (!state::is_shared(slot)) return;
    if (state::is_locked(*slot))  // other processes may share the offset, so late writes advance it
      shares = true;
    else
      keep_for_itself(file);
  });
  if (!shares) state::leave();
}

}  // namespace sheaf::preload
