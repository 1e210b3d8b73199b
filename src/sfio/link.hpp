// sfio/link: the interface by which a compute task reaches the I/O listeners: by messages or, without a
// session, by doing their work itself. Callers identify listeners by number only.
//
// Threads: at most one call at a time on one Link.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/messages.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/protocol.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

struct ListenerFacts {
  std::string name;  // host, as in the names of striped files
  int task = 0;      // rank among the tasks of the session
  int64_t room = 0;  // bytes of data per message
};

// A request in flight. The request ends with an answer or an Error of the link. Destroying the ListenerCall
// before that abandons the answer.
class ListenerCall {
 public:
  virtual ~ListenerCall() = default;
  // Returns true if the answer has arrived; advances the call. Throws Error io if the listener is considered
  // dead because it has not answered within the timeout.
  virtual bool done() = 0;
  virtual const Answer& answer() const = 0;
};

struct LinkCounts {
  int64_t messages = 0;  // requests sent
  int64_t bytes = 0;     // data in both directions
  int64_t lent = 0;      // part of `bytes` that listeners copied from or to lent memory
};

class Link {
 public:
  virtual ~Link() = default;

  // Returns the listeners by number. find() may add listeners; no listener is ever removed.
  virtual const std::vector<ListenerFacts>& listeners() const = 0;

  // Returns the number of the listener for subfiles on `host`. If several listeners have that name,
  // `occurrence` selects one of them round-robin. The name "#N" denotes listener N, and "localhost" any
  // listener if all have the same name. Throws not_found, with the known names, if there is no such listener.
  virtual int find(const std::string& host, int occurrence) = 0;

  // Sends a request. `memory` holds the bytes of a write or receives those of a read; other requests need
  // none. The memory must outlive the ListenerCall. Errors of the request itself are returned in the answer.
  // Throws Error io if the listener is already known to be dead.
  virtual std::unique_ptr<ListenerCall> start(int listener, Request request,
                                              std::vector<MemoryRun> memory) = 0;

  // Returns the file of a handle if this task itself has it open, for locks between processes; null on links
  // that use messages. Any thread.
  virtual std::shared_ptr<File> local_file(int /*listener*/, int64_t /*handle*/) { return nullptr; }

  virtual void back_off(double idle) = 0;
  virtual double now() = 0;
  virtual LinkCounts counts() const = 0;

  // Returns a number that differs between tasks. An operation uses it to choose the listener with which it
  // starts, so that tasks do not all start with the same listener.
  virtual int number() const { return 0; }

  // Returns the number of transfer messages in flight to a listener, over all operations of this task. The
  // operations update the number.
  int& flights(int listener) {
    flights_.resize(std::max(flights_.size(), static_cast<size_t>(listener) + 1));
    return flights_[static_cast<size_t>(listener)];
  }

  // Returns the lock that users of the link must hold if several threads may use the link.
  std::recursive_mutex& lock() { return lock_; }

 private:
  std::vector<int> flights_;
  std::recursive_mutex lock_;
};

// Returns the error in an answer, with the listener's name in front of the message. Returns nothing if the
// answer is no error.
SHEAF_EXPORT std::optional<Error> error_of(const Link& link, int listener, const Answer& answer);

struct Question {
  int listener = 0;
  Request request;
};

// Returns one question for each index from `first` to `n` - 1, created by question_of(i).
template <class QuestionOf>
std::vector<Question> questions(size_t first, size_t n, QuestionOf question_of) {
  std::vector<Question> all;
  for (size_t i = first; i < n; ++i) all.push_back(question_of(i));
  return all;
}

// How to handle errors in answers: `thrown` throws the first error after all answers have arrived; `kept`
// leaves errors, including those of the link, in the answers (code != 0).
enum class OnError : uint8_t { thrown, kept };
// Sends all questions at once and returns the answers in the order of the questions.
SHEAF_EXPORT std::vector<Answer> ask(Link& link, std::vector<Question> questions,
                                     OnError on_error = OnError::thrown);

}  // namespace sheaf::sfio
