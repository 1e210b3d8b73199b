#include "stripedfile/message_link.hpp"

#include <cstdio>

#include "stripedfile/listener_names.hpp"

namespace sheaf::sfio {
namespace {

class MessageLink final : public Link {
 public:
  MessageLink(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners, double patience)
      : messages_(std::move(messages)), listeners_(std::move(listeners)), gone_(listeners_.size()), patience_(patience) {}

  const std::vector<ListenerFacts>& listeners() const override { return listeners_; }
  int find(const std::string& host, int occurrence) override { return find_listener(listeners_, host, occurrence); }

  std::unique_ptr<Call> start(int listener, Request request, std::vector<MemoryRun> out, std::vector<MemoryRun> in) override {
    if (gone_[static_cast<size_t>(listener)]) throw gone(listener);
    return std::make_unique<MessageCall>(*this, listener, std::move(request), std::move(out), std::move(in));
  }

  void rest(double idle) override { messages_->rest(idle); }
  double now() override { return messages_->now(); }
  LinkCounts counts() const override { return counts_; }
  int number() const override { return messages_->rank(); }

 private:
  class MessageCall final : public Call {
   public:
    MessageCall(MessageLink& link, int listener, Request request, std::vector<MemoryRun> out, std::vector<MemoryRun> in)
        : link_(link), listener_(listener), begin_(link.now()) {
      const int task = link.listeners_[static_cast<size_t>(listener)].task;
      request.answer_tag = link.next_tag_;
      link.next_tag_ = link.next_tag_ == Messages::highest_tag ? first_answer_tag : link.next_tag_ + 1;
      head_ = encode(request);
      link.counts_.messages += 1;
      link.counts_.bytes += bytes_of(out) + bytes_of(in);
      in.insert(in.begin(), {reinterpret_cast<std::byte*>(&answer_), sizeof answer_, sizeof answer_, 1});
      out.insert(out.begin(), run_of(head_));
      answered_ = link.messages_->receive(task, request.answer_tag, in);
      sent_ = link.messages_->send(task, request_tag, out);
    }

    bool done() override {
      if (sent_ && sent_->done()) sent_.reset();
      if (answered_ && answered_->done()) answered_.reset();
      if (!answered_ && !sent_) return true;
      if (link_.gone_[static_cast<size_t>(listener_)]) throw link_.gone(listener_);
      if (link_.now() - begin_ <= link_.patience_) return false;
      link_.gone_[static_cast<size_t>(listener_)] = true;
      throw link_.gone(listener_);
    }

    const Answer& answer() const override { return answer_; }

   private:
    MessageLink& link_;
    int listener_;
    double begin_;
    std::vector<std::byte> head_;
    Answer answer_;
    std::unique_ptr<Transfer> answered_;
    std::unique_ptr<Transfer> sent_;
  };

  Error gone(int listener) const {
    const ListenerFacts& facts = listeners_[static_cast<size_t>(listener)];
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", patience_);
    return Error(Code::io, "I/O listener '" + facts.name + "' (task " + std::to_string(facts.task) +
                               ") is gone: it has not answered for " + seconds + " s; its subfiles cannot be reached");
  }

  std::unique_ptr<Messages> messages_;
  std::vector<ListenerFacts> listeners_;
  std::vector<bool> gone_;
  double patience_;
  int next_tag_ = first_answer_tag;
  LinkCounts counts_;
};

}  // namespace

std::unique_ptr<Link> message_link(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners, double patience) {
  return std::make_unique<MessageLink>(std::move(messages), std::move(listeners), patience);
}

}  // namespace sheaf::sfio
