// comm/threads/star_answer: the messages between the tasks of a star, and how its task 0 answers a round.
#pragma once

#include <cstdint>

#include "comm/threads/star_comm.hpp"

namespace sheaf::star {

enum class Op : int32_t {
  barrier,
  broadcast,
  all_max,
  all_sum,
  prefix_sum,
  gather,
  scatter,
  split,
  split_by_node
};

// Header of a task's message: the collective call it makes. The contribution follows.
struct CollectiveCall {
  Op op = Op::barrier;
  int32_t root = 0;
  int64_t group = 0;   // 0: all tasks of the hub
  int32_t rank = 0;    // in the group
  int32_t size = 0;    // of the group
  int64_t length = 0;  // bytes that must be equal on all members
  int64_t color = 0;
  int64_t key = 0;
};

// Header of an answer. The result follows: the bytes, or the text of an error.
struct Reply {
  enum class ReplyState : int32_t { pending, done, error };
  ReplyState state = ReplyState::pending;
  int32_t code = 0;  // of an error
};

// Result of a split; group 0: the task is in no group.
struct GroupMembership {
  int64_t group = 0;
  int32_t rank = 0;
  int32_t size = 0;
};

// Answers one round at task 0. Throws damaged if a contribution does not start with a valid CollectiveCall.
Gathered answer(const Gathered& calls, RootRelay& relay);

}  // namespace sheaf::star
