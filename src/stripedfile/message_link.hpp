// stripedfile/message_link: the link of a session: listeners are other tasks, or threads of tasks, reached by messages.
#pragma once

#include <memory>

#include "stripedfile/link.hpp"

namespace sheaf::sfio {

inline constexpr int request_tag = 1;

// Tags of the answers to one link. Two links of a task that talk on the same Messages need different ones.
struct AnswerTags {
  int first = 16;
  int last = Messages::highest_tag;
};

// patience: seconds after which a listener that has not answered counts as dead; from then on all calls to it fail at
// once. A request is one message, its answer one.
SHEAF_EXPORT std::unique_ptr<Link> message_link(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners, double patience,
                                              AnswerTags tags = {});

}  // namespace sheaf::sfio
