// sfio/session/message_link: the link of a session, which exchanges messages with the listeners. A listener
// is another task, or a thread of a task.
#pragma once

#include <memory>

#include "sfio/link.hpp"

namespace sheaf::sfio {

inline constexpr int request_tag = 1;
inline constexpr int pulse_tag = 2;  // liveness query; contains the tag of its empty answer

// Tags for the answers to one link. Two links of a task on the same Messages need disjoint ranges.
struct AnswerTags {
  int first = 16;
  int last = Messages::highest_tag;
};

// Creates a link that sends each request, and receives each answer, as one message. `timeout` is the timeout
// in seconds after which a listener without a sign of life counts as dead; all later calls to that listener
// fail at once. A waiting call sends a liveness query after a quarter of the timeout.
SHEAF_EXPORT std::unique_ptr<Link> message_link(std::unique_ptr<Messages> messages,
                                                std::vector<ListenerFacts> listeners, double timeout,
                                                AnswerTags tags = {});

}  // namespace sheaf::sfio
