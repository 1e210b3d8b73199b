#include "multifile/saves/save.hpp"

#include "base/os/backoff.hpp"
#include "multifile/saves/constants.hpp"

namespace sheaf::saves {

bool TaskSave::wait(SaveState state) {
  if (state == SaveState::local && !has_local()) state = SaveState::durable;
  Backoff pauses(saves_constants::look_backoff);
  for (;;) {
    const SaveState now = look();
    if (now == SaveState::failed || now == SaveState::skipped) return false;
    if (now >= state) return true;
    pause(pauses.next());
  }
}

void TaskSave::finish_own_work() {
  while (!has_ended()) pause(saves_constants::look_backoff.max);
}

}  // namespace sheaf::saves
