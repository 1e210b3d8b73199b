#include "sfio/session/listener.hpp"

#include <array>
#include <list>

#include "sfio/service/constants.hpp"
#include "sfio/session/message_link.hpp"

namespace sheaf::sfio {
namespace {

struct Inbox {
  std::vector<std::byte> buffer;
  std::unique_ptr<Transfer> request;
};

struct PendingReply {
  std::vector<std::byte> bytes;
  std::unique_ptr<Transfer> sent;
};

class Listener {
 public:
  Listener(Messages& messages, Service& service, int64_t room, Workplace& place)
      : messages_(messages), service_(service), place_(place) {
    listen_for_pulse();
    for (Inbox& inbox : inboxes_) {
      inbox.buffer.resize(static_cast<size_t>(room + head_room));
      listen(inbox);
    }
  }

  void serve(const std::function<bool()>& stopped) {
    double last = messages_.now();
    for (;;) {
      if (stopped && stopped()) return;
      clear_replies();
      answer_pulse();
      Inbox& inbox = inboxes_[next_];
      if (!inbox.request->done()) {
        messages_.back_off(messages_.now() - last);
        continue;
      }
      next_ = 1 - next_;
      carry_out(inbox);
      if (service_.ended()) break;
      listen(inbox);
      last = messages_.now();
    }
    const double begin = messages_.now();
    while (!replies_.empty() && messages_.now() - begin < end_timeout) {
      messages_.back_off(messages_.now() - begin);
      clear_replies();
    }
  }

 private:
  void listen(Inbox& inbox) {
    const MemoryRun room = run_of(inbox.buffer);
    inbox.request = messages_.receive(Messages::any_task, request_tag, {&room, 1});
  }

  void carry_out(Inbox& inbox) {
    PendingReply reply;
    if (!spare_.empty()) {
      reply.bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    int32_t tag = 0;
    size_t length = 0;
    const auto message = std::span(inbox.buffer).first(static_cast<size_t>(inbox.request->bytes()));
    place_.carry_out([&] { length = service_.handle(message, reply.bytes, tag); },
                     [this] { tell_that_it_lives(); });
    const MemoryRun run = run_of(std::span(reply.bytes).first(length));
    reply.sent = messages_.send(inbox.request->peer(), tag, {&run, 1});
    replies_.push_back(std::move(reply));
  }

  void listen_for_pulse() {
    const MemoryRun room{reinterpret_cast<std::byte*>(&pulse_tag_), sizeof pulse_tag_, sizeof pulse_tag_, 1};
    pulse_ = messages_.receive(Messages::any_task, pulse_tag, {&room, 1});
  }

  void tell_that_it_lives() noexcept {
    try {
      answer_pulse();
    } catch (...) {
      // Ignored: if the transport has failed or memory is exhausted, the serving loop detects and reports
      // that.
    }
  }

  // Answers all pending liveness queries. The tag of each answer is the one that the query contains.
  // Ignores queries with another tag.
  void answer_pulse() {
    while (pulse_->done()) {
      if (pulse_tag_ >= 0 && pulse_tag_ <= Messages::highest_tag) {
        PendingReply reply;
        reply.sent = messages_.send(pulse_->peer(), pulse_tag_, {});
        replies_.push_back(std::move(reply));
      }
      listen_for_pulse();
    }
  }

  void clear_replies() {
    for (auto reply = replies_.begin(); reply != replies_.end();) {
      if (!reply->sent->done()) {
        ++reply;
        continue;
      }
      if (spare_.size() < max_spare_replies && !reply->bytes.empty())
        spare_.push_back(std::move(reply->bytes));
      reply = replies_.erase(reply);
    }
  }

  Messages& messages_;
  Service& service_;
  Workplace& place_;
  int32_t pulse_tag_ = 0;  // tag for the answer to the pending query
  std::unique_ptr<Transfer> pulse_;
  std::array<Inbox, 2> inboxes_;
  size_t next_ = 0;
  std::list<PendingReply> replies_;
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace

void serve(Messages& messages, Service& service, int64_t room, Workplace& place,
           const std::function<bool()>& stopped) {
  Listener(messages, service, room, place).serve(stopped);
}

}  // namespace sheaf::sfio
