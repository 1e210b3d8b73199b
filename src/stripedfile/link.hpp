// stripedfile/link: how a compute task reaches the I/O listeners: through messages, or, where there is no
// session, by doing their work itself. What is above knows listeners by number only.
//
// Threads: one at a time on one Link.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/messages.hpp"
#include "storage/file.hpp"
#include "stripedfile/service/constants.hpp"
#include "stripedfile/service/protocol.hpp"

namespace sheaf::sfio {

struct ListenerFacts {
  std::string name;  // host, as the names of striped files say it
  int task = 0;      // among the tasks of the session
  int64_t room = 0;  // bytes of data of one message
};

// A request under way. Ends with an answer or an Error of the link; ending it early gives the answer up.
class Call {
 public:
  virtual ~Call() = default;
  // Whether the answer is there; moves the call on. Throws Error io if the listener is gone: does not answer
  // for so long.
  virtual bool done() = 0;
  virtual const Answer& answer() const = 0;
};

struct LinkCounts {
  int64_t messages = 0;  // requests that went out
  int64_t bytes = 0;     // data in both directions
  int64_t lent = 0;      // of them: what listeners took from lent memory, or put there
};

class Link {
 public:
  virtual ~Link() = default;

  // By number. More may become known by find(), none goes.
  virtual const std::vector<ListenerFacts>& listeners() const = 0;

  // Number of the listener of subfiles on `host`. Where several listeners have the name, `occurrence` chooses
  // in turn;
  // "#N" is listener N; "localhost" is any if all have one name. Throws not_found with the names there are.
  virtual int find(const std::string& host, int occurrence) = 0;

  // Sends a request. A write takes its bytes from `memory`, a read brings them there; others need none. It
  // must live as long as the Call. Errors of the request itself come as an answer. Throws Error io if the
  // listener is known to be gone.
  virtual std::unique_ptr<Call> start(int listener, Request request, std::vector<MemoryRun> memory) = 0;

  // The file behind a handle if this task has it open itself, for locks between processes; null behind
  // messages. For any thread.
  virtual std::shared_ptr<File> local_file(int /*listener*/, int64_t /*handle*/) { return nullptr; }

  virtual void rest(double idle) = 0;
  virtual double now() = 0;
  virtual LinkCounts counts() const = 0;

  // Differs between tasks: where each begins, so that not all begin with the same listener.
  virtual int number() const { return 0; }

  // Messages of transfers under way at a listener, of all operations of this task; the operations count.
  int& flights(int listener) {
    flights_.resize(std::max(flights_.size(), static_cast<size_t>(listener) + 1));
    return flights_[static_cast<size_t>(listener)];
  }

  // Held by whoever uses the link, where several threads may.
  std::recursive_mutex& lock() { return lock_; }

 private:
  std::vector<int> flights_;
  std::recursive_mutex lock_;
};

// The answer's error, with the listener's name in front; nothing if it is none.
SHEAF_EXPORT std::optional<Error> error_of(const Link& link, int listener, const Answer& answer);

struct Question {
  int listener = 0;
  Request request;
};

// The same question about each of `n` things, the i-th by question_of(i).
template <class QuestionOf>
std::vector<Question> questions(size_t first, size_t n, QuestionOf question_of) {
  std::vector<Question> all;
  for (size_t i = first; i < n; ++i) all.push_back(question_of(i));
  return all;
}

// Sends all questions at once and waits for all answers, in their order. If any failed: throws the error of
// the first, after all have come. `unanswered`: instead of throwing, errors are left in the answers (code !=
// 0), those of the link too.
enum class OnError : uint8_t { raise, keep };
SHEAF_EXPORT std::vector<Answer> ask(Link& link, std::vector<Question> questions,
                                     OnError on_error = OnError::raise);

}  // namespace sheaf::sfio
