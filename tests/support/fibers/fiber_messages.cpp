#include "support/fibers/fiber_messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf {

namespace {
constexpr double never = std::numeric_limits<double>::infinity();
}

struct FiberNetwork::Mail {
  int from = 0;
  int tag = 0;
  double start = 0;        // when the first byte reaches the receiver's port
  double wire = 0;         // seconds that the message occupies the receiver's port
  double arrival = never;  // when the last byte has arrived; known from `start` on
  int64_t length = 0;
  std::vector<std::byte> bytes;  // the first ones, as many as are copied
};

struct FiberNetwork::Crossing {
  Mail mail;
  int to = 0;
  std::vector<int> links;
  size_t passed = 0;  // number of links passed
};

struct FiberNetwork::Post {
  int from = 0;
  int tag = 0;
  std::vector<MemoryRun> room;
  bool complete = false;
  bool too_long = false;
  int64_t bytes = 0;
  int peer = -1;
};

FiberNetwork::FiberNetwork(int tasks, NetworkModel model)
    : model_(std::move(model)),
      ports_(static_cast<size_t>(tasks)),
      links_(static_cast<size_t>(model_.links)),
      wakes_(static_cast<size_t>(tasks), never) {}

FiberNetwork::~FiberNetwork() = default;

void FiberNetwork::kill(int task) {
  Port& port = ports_[static_cast<size_t>(task)];
  port.dead = true;
  port.mail.clear();
}

void FiberNetwork::kill_at_message(int task, int count) { ports_[static_cast<size_t>(task)].dies_in = count; }

// A link serves messages in the order of their arrival at the link, not in the order of sending.
void FiberNetwork::cross() {
  while (!crossings_.empty() && crossings_.begin()->first.first <= now_) {
    auto node = crossings_.extract(crossings_.begin());
    Crossing& one = node.mapped();
    double& free = links_[static_cast<size_t>(one.links[one.passed])];
    const double passed = std::max(node.key().first, free);
    free = passed + one.mail.wire;
    if (++one.passed < one.links.size()) {
      node.key().first = passed;
      crossings_.insert(std::move(node));
      continue;
    }
    one.mail.start = passed + model_.latency;
    Port& port = ports_[static_cast<size_t>(one.to)];
    if (!port.dead) port.mail.push_back(std::move(one.mail));
  }
}

// Matches messages, in the order of their arrival, to the oldest fitting receives.
void FiberNetwork::deliver(Port& port) {
  for (auto mail = port.mail.begin(); mail != port.mail.end();) {
    const auto fits = [&](const Post* post) {
      return post->tag == mail->tag && (post->from == Messages::any_task || post->from == mail->from);
    };
    const auto post = std::ranges::find_if(port.posts, fits);
    if (mail->arrival > now_ || post == port.posts.end()) {
      ++mail;
      continue;
    }
    Post& to = **post;
    to.bytes = mail->length;
    to.too_long = to.bytes > bytes_of(to.room);
    const std::byte* from = mail->bytes.data();
    size_t left = to.too_long ? 0 : mail->bytes.size();
    for_each_piece(to.room, [&](std::byte* at, size_t length) {
      const size_t count = std::min(left, length);
      if (count > 0) std::memcpy(at, from, count);
      from += count;
      left -= count;
    });
    to.peer = mail->from;
    to.complete = true;
    port.posts.erase(post);
    mail = port.mail.erase(mail);
    ++epoch_;
  }
}

// A port serves messages in the order of their arrival, and keeps those ahead of the others.
void FiberNetwork::take_in(Port& port) {
  for (;;) {
    const auto due = [&](const Mail& mail) { return mail.arrival == never && mail.start <= now_; };
    auto first = std::ranges::find_if(port.mail, due);
    if (first == port.mail.end()) return;
    int64_t others = -1;
    for (auto mail = first; mail != port.mail.end(); ++mail) {
      if (!due(*mail)) continue;
      ++others;
      if (mail->start < first->start) first = mail;
    }
    const double slowed = 1 + model_.contention * static_cast<double>(others);
    first->arrival = port.free_in = std::max(first->start, port.free_in) + first->wire * slowed;
    const auto behind =
        std::ranges::find_if(port.mail, [](const Mail& mail) { return mail.arrival == never; });
    port.mail.splice(behind, port.mail, first);
  }
}

double FiberNetwork::next_event(const Port& port) const {
  double next = never;
  for (const Mail& mail : port.mail) {
    const double moment = mail.arrival == never ? mail.start : mail.arrival;
    if (moment > now_) next = std::min(next, moment);
  }
  return next;
}

// If all tasks sleep or wait, advances the time to the next event.
void FiberNetwork::advance_clock() {
  double next = never;
  for (const Port& port : ports_) next = std::min(next, next_event(port));
  for (const double wake : wakes_) next = std::min(next, wake);
  if (!crossings_.empty()) next = std::min(next, crossings_.begin()->first.first);
  if (next > now_ && next < never) now_ = next;
  cross();
  for (Port& port : ports_) take_in(port);
  ++epoch_;
}

void FiberNetwork::rest_until(int task, double wake) {
  Port& port = ports_[static_cast<size_t>(task)];
  const double begin = now_;
  const auto mine = static_cast<size_t>(task);
  wakes_[mine] = wake;
  for (int64_t seen = epoch_; now_ < wake; seen = epoch_) {
    yield();
    deliver(port);
    if (std::ranges::any_of(port.mail, [&](const Mail& m) { return m.arrival > begin && m.arrival <= now_; }))
      break;
    if (epoch_ != seen) {
      if (now_ > begin) break;
      continue;
    }
    advance_clock();
  }
  wakes_[mine] = never;
  ++epoch_;
}

void FiberNetwork::spend(double seconds) {
  const double end = now_ + seconds;
  // Belongs to no task, so messages of other tasks do not wake it.
  wakes_.push_back(end);
  const size_t mine = wakes_.size() - 1;
  for (int64_t seen = epoch_; now_ < end; seen = epoch_) {
    yield();
    if (epoch_ != seen) continue;
    advance_clock();
  }
  wakes_[mine] = never;
  while (wakes_.size() > ports_.size() && wakes_.back() == never) wakes_.pop_back();
  ++epoch_;
}

class FiberNetwork::Sending final : public Transfer {
 public:
  Sending(FiberNetwork& network, double end, int64_t bytes, int peer)
      : network_(network), end_(end), bytes_(bytes), peer_(peer) {}
  bool done() override { return network_.now_ >= end_; }
  int64_t bytes() const override { return bytes_; }
  int peer() const override { return peer_; }

 private:
  FiberNetwork& network_;
  double end_;
  int64_t bytes_;
  int peer_;
};

class FiberNetwork::Receipt final : public Transfer {
 public:
  Receipt(FiberNetwork& network, int task, Post post)
      : network_(network), task_(task), post_(std::move(post)) {
    port().posts.push_back(&post_);
  }
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;
  ~Receipt() override { port().posts.remove(&post_); }

  bool done() override {
    if (!post_.complete) network_.deliver(port());
    if (post_.too_long) throw Error(Code::mismatch, "a message is longer than the room for it");
    return post_.complete;
  }
  int64_t bytes() const override { return post_.bytes; }
  int peer() const override { return post_.peer; }

 private:
  Port& port() { return network_.ports_[static_cast<size_t>(task_)]; }

  FiberNetwork& network_;
  int task_;
  Post post_;
};

class FiberNetwork::Endpoint final : public Messages {
 public:
  Endpoint(FiberNetwork& network, int task) : network_(network), task_(task) {}

  int rank() const override { return task_; }
  int size() const override { return static_cast<int>(network_.ports_.size()); }

  std::unique_ptr<Transfer> send(int peer, int tag, std::span<const MemoryRun> pieces) override {
    Port& from = network_.ports_[static_cast<size_t>(task_)];
    Port& to = network_.ports_[static_cast<size_t>(peer)];
    const int64_t bytes = bytes_of(pieces);
    const double wire = static_cast<double>(bytes) / network_.model_.bandwidth;
    const double begin = std::max(network_.now_, from.free_out);
    from.free_out = begin + wire;
    ++network_.messages_;
    ++network_.epoch_;
    if (to.dies_in >= 0 && to.dies_in-- == 0) network_.kill(peer);
    // Messages to a dead task never arrive: a long message keeps waiting for its receiver, as with MPI.
    if (to.dead) return std::make_unique<Sending>(network_, never, bytes, peer);
    if (!from.dead) {
      Mail mail{task_, tag, begin + network_.model_.latency, wire, never, bytes, {}};
      const auto copied = static_cast<size_t>(std::min(bytes, network_.model_.copied));
      mail.bytes.reserve(copied);
      for_each_piece(pieces, [&](const std::byte* at, size_t length) {
        const size_t count = std::min(length, copied - mail.bytes.size());
        mail.bytes.insert(mail.bytes.end(), at, at + count);
      });
      std::vector<int> links;
      if (network_.model_.route) links = network_.model_.route(task_, peer);
      if (links.empty()) {
        to.mail.push_back(std::move(mail));
        network_.take_in(to);
      } else {
        network_.crossings_.emplace(std::pair{begin, network_.messages_},
                                    Crossing{std::move(mail), peer, std::move(links), 0});
        network_.cross();
      }
    }
    return std::make_unique<Sending>(network_, from.free_out, bytes, peer);
  }

  std::unique_ptr<Transfer> receive(int peer, int tag, std::span<const MemoryRun> room) override {
    return std::make_unique<Receipt>(network_, task_, Post{peer, tag, {room.begin(), room.end()}});
  }

  double now() override { return network_.now_; }

  void back_off(double idle) override {
    network_.rest_until(task_, network_.now_ + std::max(idle / 4, 100 * network_.model_.latency + 1e-6));
  }

 private:
  FiberNetwork& network_;
  int task_;
};

std::unique_ptr<Messages> FiberNetwork::endpoint(int task) { return std::make_unique<Endpoint>(*this, task); }

}  // namespace sheaf
