// container/set_forks: tells the open sets of this process of its forks.
#pragma once

namespace sheaf {

class OpenSet;

void note_set(OpenSet* set);
void forget_set(OpenSet* set);

}  // namespace sheaf
