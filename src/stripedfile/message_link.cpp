#include "stripedfile/message_link.hpp"

#include <algorithm>
#include <cstdio>

#include "stripedfile/listener_names.hpp"

namespace sheaf::sfio {
namespace {

class MessageLink final : public Link {
 public:
  MessageLink(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners, double patience, AnswerTags tags)
      : messages_(std::move(messages)),
        listeners_(std::move(listeners)),
        gone_(listeners_.size()),
        patience_(patience),
        tags_(tags),
        next_tag_(tags.first) {}

  const std::vector<ListenerFacts>& listeners() const override { return listeners_; }
  int find(const std::string& host, int occurrence) override { return find_listener(listeners_, host, occurrence); }

  std::unique_ptr<Call> start(int listener, Request request, std::vector<MemoryRun> out, std::vector<MemoryRun> in) override {
    if (gone_[static_cast<size_t>(listener)]) throw gone(listener, about_of(request));
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
        : link_(link), listener_(listener), about_(about_of(request)), begin_(link.waited()) {
      const int task = link.listeners_[static_cast<size_t>(listener)].task;
      request.answer_tag = link.next_tag_;
      link.next_tag_ = link.next_tag_ == link.tags_.last ? link.tags_.first : link.next_tag_ + 1;
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
      if (link_.gone_[static_cast<size_t>(listener_)]) throw link_.gone(listener_, about_);
      if (link_.waited() - begin_ <= link_.patience_) return false;
      link_.gone_[static_cast<size_t>(listener_)] = true;
      throw link_.gone(listener_, about_);
    }

    const Answer& answer() const override { return answer_; }

   private:
    MessageLink& link_;
    int listener_;
    std::string about_;
    double begin_;
    std::vector<std::byte> head_;
    Answer answer_;
    std::unique_ptr<Transfer> answered_;
    std::unique_ptr<Transfer> sent_;
  };

  // Seconds that a clock shows which hardly moves while nobody looks: a job that is stopped for a while and goes on (SIGSTOP, as
  // batch systems do) finds no listener gone.
  double waited() {
    const double now = messages_->now();
    waited_ += std::min(now - looked_, patience_ / 4);
    looked_ = now;
    return waited_;
  }

  static const std::string& about_of(const Request& request) { return request.about.empty() ? request.path : request.about; }

  Error gone(int listener, const std::string& about) const {
    const ListenerFacts& facts = listeners_[static_cast<size_t>(listener)];
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", patience_);
    return Error(Code::io, "I/O listener '" + facts.name + "' (task " + std::to_string(facts.task) +
                               ") is gone: it has not answered for " + seconds + " s; " +
                               (about.empty() ? "its subfiles" : "'" + about + "' and its other subfiles") +
                               " cannot be reached");
  }

  std::unique_ptr<Messages> messages_;
  std::vector<ListenerFacts> listeners_;
  std::vector<bool> gone_;
  double patience_;
  AnswerTags tags_;
  int next_tag_;
  LinkCounts counts_;
  double waited_ = 0;
  double looked_ = 0;
};

}  // namespace

std::unique_ptr<Link> message_link(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners, double patience,
                                   AnswerTags tags) {
  return std::make_unique<MessageLink>(std::move(messages), std::move(listeners), patience, tags);
}

}  // namespace sheaf::sfio
