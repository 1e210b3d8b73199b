// stripedfile/session/message_link: the link of a session: listeners are other tasks, or threads of tasks,
// reached by messages.
#pragma once

#include <memory>

#include "stripedfile/link.hpp"

namespace sheaf::sfio {

inline constexpr int request_tag = 1;
inline constexpr int pulse_tag = 2;  // "do you live?": the tag of the answer, which is empty

// Tags of the answers to one link. Two links of a task that talk on the same Messages need different ones.
struct AnswerTags {
  int first = 16;
  int last = Messages::highest_tag;
};

// patience: seconds after which a listener that has given no sign of life counts as dead; from then on all
// calls to it fail at once. A request is one message, its answer one. Who waits for one asks for a sign after
// a quarter of the patience.
SHEAF_EXPORT std::unique_ptr<Link> message_link(std::unique_ptr<Messages> messages,
                                                std::vector<ListenerFacts> listeners, double patience,
                                                AnswerTags tags = {});

}  // namespace sheaf::sfio
