#include "multifile/saves/save.hpp"

namespace sheaf::saves {

bool TaskSave::wait(SaveState state) {
  if (state == SaveState::local && !has_local()) state = SaveState::durable;
  for (;;) {
    const SaveState now = look();
    if (now == SaveState::failed || now == SaveState::skipped) return false;
    if (now >= state) return true;
    pause();
  }
}

}  // namespace sheaf::saves
