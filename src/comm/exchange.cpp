// Exchanges among tasks of one process, and through task 0 for groups without a better transport.
#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "comm/helpers.hpp"
#include "comm/packing.hpp"

namespace sheaf {

void check_exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming, int size) {
  const auto check = [size](int peer, size_t bytes) {
    check_root(peer, size);
    if (bytes > INT_MAX)
      throw Error(Code::invalid_argument, "a message of an exchange may have 2 GiB - 1 bytes at most");
  };
  for (const Outgoing& message : outgoing) check(message.peer, message.bytes.size());
  for (const Incoming& message : incoming) check(message.peer, message.room.size());
}

namespace {

[[noreturn]] void missing(int from, int to) {
  throw Error(Code::mismatch, "task " + std::to_string(to) + " waits for a message that task " +
                                  std::to_string(from) + " does not send");
}

int64_t put(std::span<const std::byte> bytes, const Incoming& to) {
  if (bytes.size() > to.room.size())
    throw Error(Code::mismatch, "a message of " + std::to_string(bytes.size()) + " bytes from task " +
                                    std::to_string(to.peer) + " does not fit the room of " +
                                    std::to_string(to.room.size()) + " bytes");
  if (!bytes.empty()) std::memcpy(to.room.data(), bytes.data(), bytes.size());
  return std::ssize(bytes);
}

// Precedes every message that passes through task 0.
struct Label {
  int64_t peer;  // receiver in the message to task 0, sender in the message from task 0
  int64_t bytes;
};

void append(std::vector<std::byte>& to, int64_t peer, std::span<const std::byte> bytes) {
  const Label label{peer, std::ssize(bytes)};
  for (const auto part : {value_bytes(label), bytes}) to.insert(to.end(), part.begin(), part.end());
}

// Calls visit(label, bytes) for each message of a joined contribution.
template <class Visit>
void for_each_message(std::span<const std::byte> joined, Visit visit) {
  while (!joined.empty()) {
    const auto label = take<Label>(joined);
    if (label.bytes < 0 || label.bytes > std::ssize(joined))
      throw Error(Code::damaged, "a message between tasks is too short");
    visit(label, joined.first(static_cast<size_t>(label.bytes)));
    joined = joined.subspan(static_cast<size_t>(label.bytes));
  }
}

class ThroughTask0 final : public Exchange {
 public:
  ThroughTask0(Comm& comm, std::vector<Outgoing> outgoing, std::vector<Incoming> incoming)
      : comm_(comm), outgoing_(std::move(outgoing)), incoming_(std::move(incoming)) {}

  std::vector<int64_t> finish() override {
    std::vector<std::byte> mine;
    for (const Outgoing& message : outgoing_) append(mine, message.peer, message.bytes);
    return take(answered_by_task_0(comm_, mine, [this](const Gathered& all) { return sort(all); }));
  }

 private:
  Gathered sort(const Gathered& all) const {
    std::vector<std::vector<std::byte>> pieces(static_cast<size_t>(comm_.size()));
    const auto sent = all.pieces();
    for (size_t from = 0; from < sent.size(); ++from)
      for_each_message(sent[from], [&](const Label& label, std::span<const std::byte> bytes) {
        append(pieces.at(static_cast<size_t>(label.peer)), static_cast<int64_t>(from), bytes);
      });
    Gathered sorted;
    for (const auto& piece : pieces) sorted.add(piece);
    return sorted;
  }

  std::vector<int64_t> take(std::span<const std::byte> found) const {
    std::vector<int64_t> received(incoming_.size(), -1);
    for_each_message(found, [&](const Label& label, std::span<const std::byte> bytes) {
      for (size_t i = 0; i < incoming_.size(); ++i) {
        if (received[i] >= 0 || incoming_[i].peer != label.peer) continue;
        received[i] = put(bytes, incoming_[i]);
        return;
      }
      throw Error(Code::mismatch,
                  "task " + std::to_string(label.peer) + " sent a message that nobody waits for");
    });
    for (size_t i = 0; i < incoming_.size(); ++i)
      if (received[i] < 0) missing(incoming_[i].peer, comm_.rank());
    return received;
  }

  Comm& comm_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

// Exchanges message by message.
class MessageExchanger final : public Exchanger {
 public:
  explicit MessageExchanger(Comm& comm) : comm_(comm) {}
  std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override {
    return comm_.exchange(std::move(outgoing), std::move(incoming));
  }

 private:
  Comm& comm_;
};

}  // namespace

int64_t shift(Comm& comm, int64_t mine, Neighbour of, int64_t nobodys) {
  const int from = comm.rank() + (of == Neighbour::preceding ? -1 : 1), to = 2 * comm.rank() - from;
  const auto exists = [&](int rank) { return rank >= 0 && rank < comm.size(); };
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (exists(to)) outgoing.push_back({to, std::as_bytes(std::span(&mine, 1))});
  if (exists(from)) incoming.push_back({from, std::as_writable_bytes(std::span(&nobodys, 1))});
  comm.exchange(std::move(outgoing), std::move(incoming))->finish();
  return nobodys;
}

std::vector<std::byte> answered_by_task_0(Comm& comm, std::span<const std::byte> mine,
                                          const std::function<Gathered(const Gathered&)>& answer) {
  const Gathered calls = comm.gather(mine, 0);
  Gathered replies;  // stays empty after a failure, which makes scatter() fail on all tasks
  std::optional<Error> problem;
  if (comm.rank() == 0) problem = attempt([&] { replies = answer(calls); });
  try {
    return comm.scatter(replies, 0);
  } catch (const Error&) {
    if (problem) throw *problem;
    throw;
  }
}

void deliver(std::span<ExchangeLists* const> tasks) {
  // Messages of one sender arrive in order. `next` is the first entry of its list that may match the
  // receiver.
  for (size_t to = 0; to < tasks.size(); ++to) {
    ExchangeLists& receiver = *tasks[to];
    receiver.received.assign(receiver.incoming.size(), 0);
    std::map<int, size_t> taken;  // messages already examined, per sender
    for (size_t i = 0; i < receiver.incoming.size(); ++i) {
      const Incoming& wanted = receiver.incoming[i];
      size_t& next = taken[wanted.peer];
      const std::vector<Outgoing>& sent = tasks[static_cast<size_t>(wanted.peer)]->outgoing;
      while (next < sent.size() && sent[next].peer != static_cast<int>(to)) ++next;
      if (next == sent.size()) missing(wanted.peer, static_cast<int>(to));
      receiver.received[i] = put(sent[next++].bytes, wanted);
    }
  }
}

std::unique_ptr<Exchange> Comm::exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) {
  check_exchange(outgoing, incoming, size());
  return std::make_unique<ThroughTask0>(*this, std::move(outgoing), std::move(incoming));
}

std::unique_ptr<Exchanger> Comm::exchanger(ExchangeMethod, std::span<const int>, int64_t) {
  return std::make_unique<MessageExchanger>(*this);
}

}  // namespace sheaf
