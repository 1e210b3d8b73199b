#include "sfio/session/message_link.hpp"

#include <algorithm>
#include <cstdio>

#include "base/assert.hpp"
#include "base/non_copyable.hpp"
#include "sfio/listener_names.hpp"
#include "sfio/service/constants.hpp"

namespace sheaf::sfio {
namespace {

class MessageLink final : public Link {
 public:
  MessageLink(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners, double timeout,
              AnswerTags tags)
      : messages_(std::move(messages)),
        listeners_(std::move(listeners)),
        gone_(listeners_.size()),
        far_(listeners_.size()),
        pulses_(listeners_.size()),
        timeout_(timeout),
        tags_(tags),
        next_tag_(tags.first) {
    SHEAF_ASSERT(timeout > 0 && tags.first >= 0 && tags.first <= tags.last &&
                 tags.last <= Messages::highest_tag);
  }

  const std::vector<ListenerFacts>& listeners() const override { return listeners_; }
  int find(const std::string& host, int occurrence) override {
    return find_listener(listeners_, host, occurrence);
  }

  std::unique_ptr<ListenerCall> start(int listener, Request request, std::vector<MemoryRun> memory) override {
    SHEAF_ASSERT(listener >= 0 && listener < std::ssize(listeners_));
    if (gone_[static_cast<size_t>(listener)]) throw gone(listener, about_of(request));
    return std::make_unique<MessageCall>(*this, listener, std::move(request), std::move(memory));
  }

  void back_off(double idle) override { messages_->back_off(idle); }
  double now() override { return messages_->now(); }
  LinkCounts counts() const override { return counts_; }
  int number() const override { return messages_->rank(); }

 private:
  class MessageCall final : public ListenerCall, private NonCopyable {
   public:
    MessageCall(MessageLink& link, int listener, Request request, std::vector<MemoryRun> memory)
        : link_(link), listener_(listener), request_(std::move(request)), memory_(std::move(memory)) {
      ++link.pulses_[static_cast<size_t>(listener)].calls;
      link.counts_.bytes += bytes_of(memory_);
      if (!link.far_[static_cast<size_t>(listener)]) lent_ = link.lend(request_, memory_);
      send();
    }
    // If the call is abandoned, recalls the loan: the memory may soon be reused.
    ~MessageCall() override {
      SHEAF_ASSERT(link_.pulses_[static_cast<size_t>(listener_)].calls > 0);
      --link_.pulses_[static_cast<size_t>(listener_)].calls;
      if (answered_ && !request_.places.empty()) call_back(lent_);
    }

    bool done() override {
      if (sent_ && sent_->done()) sent_.reset();
      if (answered_ && answered_->done()) answered_.reset();
      if (!answered_) link_.pulses_[static_cast<size_t>(listener_)].felt = link_.waited();
      if (!answered_ && !sent_) return !must_travel();
      if (link_.gone_[static_cast<size_t>(listener_)]) throw link_.gone(listener_, about_of(request_));
      if (link_.seems_alive(listener_, begin_)) return false;
      link_.gone_[static_cast<size_t>(listener_)] = true;
      throw link_.gone(listener_, about_of(request_));
    }

    const Answer& answer() const override { return answer_; }

   private:
    void send() {
      begin_ = link_.waited();
      const int task = link_.listeners_[static_cast<size_t>(listener_)].task;
      request_.answer_tag = link_.next_tag();
      head_ = encode(request_);
      link_.counts_.messages += 1;
      link_.counts_.lent += lent_bytes();
      std::vector<MemoryRun> in = {
          {reinterpret_cast<std::byte*>(&answer_), sizeof answer_, sizeof answer_, 1}};
      std::vector<MemoryRun> out = {run_of(head_)};
      auto& travels = request_.kind == RequestKind::write ? out : in;
      if (request_.places.empty()) travels.insert(travels.end(), memory_.begin(), memory_.end());
      answered_ = link_.messages_->receive(task, request_.answer_tag, in);
      sent_ = link_.messages_->send(task, request_tag, out);
    }

    // If the listener could not reach this task's memory, sends the request again with the data.
    bool must_travel() {
      if (answer_.out_of_reach == 0) return false;
      link_.far_[static_cast<size_t>(listener_)] = true;
      link_.counts_.lent -= lent_bytes();
      request_.places.clear();
      answer_ = {};
      send();
      return true;
    }

    int64_t lent_bytes() const { return request_.places.empty() ? 0 : bytes_of(memory_); }

    MessageLink& link_;
    int listener_;
    Request request_;
    LentMemory lent_;  // contains the places of the request
    const std::vector<MemoryRun> memory_;
    double begin_ = 0;
    std::vector<std::byte> head_;
    Answer answer_;
    std::unique_ptr<Transfer> answered_;
    std::unique_ptr<Transfer> sent_;
  };

  // Makes the listener copy from or to lent memory, if a single loan contains all of `runs` and the extents
  // are long enough. Returns the lent memory.
  LentMemory lend(Request& request, std::span<const MemoryRun> runs) const {
    int64_t pieces = 0;
    for (const MemoryRun& run : runs) pieces += run.count;
    if (pieces == 0 || bytes_of(runs) < pieces * min_lent_piece || std::ssize(runs) > max_places) return {};
    const auto memory = find_loan(runs.front().at);
    if (!memory) return {};
    const std::byte* const base = memory->bytes.data();
    const auto holds = [&](const MemoryRun& run) {
      return run.at >= base &&
             run.at + (run.count - 1) * run.stride + run.length <= base + memory->bytes.size();
    };
    if (!std::ranges::all_of(runs, holds)) return {};
    request.loan = memory->facts;
    for (const MemoryRun& run : runs)
      request.places.push_back({run.at - base, run.length, run.stride, run.count});
    return *memory;
  }

  // Liveness of a listener.
  struct Pulse {
    int64_t calls = 0;  // calls that wait for the listener
    double felt = 0;    // time of the last sign of life
    double since = 0;   // time of the liveness query
    int32_t tag = 0;    // tag of the pending answer
    std::unique_ptr<Transfer> answered;
    std::unique_ptr<Transfer> asked;
  };

  // Returns false if the listener counts as dead for a call that waits since `begin`. If it has been silent
  // for silence(), it may be busy with a long request, so this function sends a liveness query. It queries
  // all listeners with waiting calls: a task that waits for them one by one then detects all dead listeners
  // at once.
  bool seems_alive(int listener, double begin) {
    Pulse& pulse = pulses_[static_cast<size_t>(listener)];
    const double now = waited();
    if (now - std::max(begin, pulse.felt) <= silence()) return true;
    for (size_t other = 0; other < pulses_.size(); ++other)
      if (pulses_[other].calls > 0) feel(other, now);
    return !pulse.answered || now - pulse.since <= timeout_ - silence();
  }

  void feel(size_t listener, double now) {
    Pulse& pulse = pulses_[listener];
    if (pulse.asked && pulse.asked->done()) pulse.asked.reset();
    if (pulse.answered && pulse.answered->done()) {
      pulse.answered.reset();
      pulse.felt = now;
    }
    if (pulse.asked || pulse.answered || now - pulse.felt <= silence()) return;
    pulse.tag = next_tag();
    pulse.since = now;
    const MemoryRun question{reinterpret_cast<std::byte*>(&pulse.tag), sizeof pulse.tag, sizeof pulse.tag, 1};
    pulse.answered = messages_->receive(listeners_[listener].task, pulse.tag, {});
    pulse.asked = messages_->send(listeners_[listener].task, pulse_tag, {&question, 1});
  }

  // Returns the seconds of silence after which a listener is queried. The listener has the rest of the
  // timeout to answer.
  double silence() const { return timeout_ / 4; }

  int32_t next_tag() {
    const int tag = next_tag_;
    next_tag_ = tag == tags_.last ? tags_.first : tag + 1;
    return tag;
  }

  // Returns seconds on a clock that hardly advances while no call reads it. So a job that a batch system
  // suspends and resumes (SIGSTOP) does not consider its listeners dead.
  double waited() {
    const double now = messages_->now();
    waited_ += std::min(now - looked_, silence());
    looked_ = now;
    return waited_;
  }

  static const std::string& about_of(const Request& request) {
    return request.about.empty() ? request.path : request.about;
  }

  Error gone(int listener, const std::string& about) const {
    const ListenerFacts& facts = listeners_[static_cast<size_t>(listener)];
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", timeout_);
    return Error(Code::io, "I/O listener '" + facts.name + "' (task " + std::to_string(facts.task) +
                               ") is gone: it has given no sign of life for " + seconds + " s; " +
                               (about.empty() ? "its subfiles" : "'" + about + "' and its other subfiles") +
                               " cannot be reached");
  }

  std::unique_ptr<Messages> messages_;
  std::vector<ListenerFacts> listeners_;
  std::vector<bool> gone_;
  std::vector<bool> far_;  // listeners that cannot map this task's memory
  std::vector<Pulse> pulses_;
  double timeout_;
  AnswerTags tags_;
  int next_tag_;
  LinkCounts counts_;
  double waited_ = 0;
  double looked_ = 0;
};

}  // namespace

std::unique_ptr<Link> message_link(std::unique_ptr<Messages> messages, std::vector<ListenerFacts> listeners,
                                   double timeout, AnswerTags tags) {
  return std::make_unique<MessageLink>(std::move(messages), std::move(listeners), timeout, tags);
}

}  // namespace sheaf::sfio
