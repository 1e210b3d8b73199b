#include "comm/mpi/mpi_presence.hpp"

#include <array>
#include <utility>
#include <vector>

#include "base/os/backoff.hpp"
#include "comm/mpi/constants.hpp"
#include "comm/mpi/mpi_calls.hpp"

namespace sheaf::mpi {

namespace {

enum Word : int { not_ready, present, prepared, prepare, cancel, commit, word_count };

// Static storage for the words, which must outlive the messages in flight.
constexpr std::array<int, word_count> words{not_ready, present, prepared, prepare, cancel, commit};

void say(MPI_Comm comm, int to, Word word) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(&words[word], 1, MPI_INT, to, presence_tag, comm, &request), "MPI_Isend");
  check(MPI_Request_free(&request), "MPI_Request_free");
}

// Receives the next word from task `from`, which may be MPI_ANY_SOURCE, and sets `word` and `sender`. Returns
// false on timeout.
bool hear(MPI_Comm comm, int from, const Deadline& deadline, int& word, int& sender) {
  for (Backoff backoff(poll_backoff);; backoff.wait()) {
    int there = 0;
    MPI_Status status;
    check(MPI_Iprobe(from, presence_tag, comm, &there, &status), "MPI_Iprobe");
    if (there) {
      sender = status.MPI_SOURCE;
      check(MPI_Recv(&word, 1, MPI_INT, sender, presence_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
      return true;
    }
    if (deadline.expired()) return false;
  }
}

// Runs on task 0. Hears a word of every other task, and returns true if all are `wanted`. Marks in `others`
// the tasks that have sent `wanted` and wait for an answer. After a task that is not ready, it still hears
// the others, which otherwise would wait for their timeout.
bool hear_all(MPI_Comm comm, Word wanted, const Deadline& deadline, std::vector<bool>& others) {
  bool all = true;
  for (int left = size_of(comm) - 1; left > 0; --left) {
    int word = cancel;
    int sender = 0;
    if (!hear(comm, MPI_ANY_SOURCE, deadline, word, sender)) return false;
    others[static_cast<size_t>(sender)] = word == wanted;
    all = all && word == wanted;
  }
  return all;
}

void say_to(MPI_Comm comm, const std::vector<bool>& others, Word word) {
  for (size_t task = 1; task < others.size(); ++task)
    if (others[task]) say(comm, static_cast<int>(task), word);
}

Presence decide(MPI_Comm comm, bool ready, std::chrono::milliseconds timeout) {
  std::vector<bool> others(static_cast<size_t>(size_of(comm)));
  bool all = hear_all(comm, present, Deadline(timeout), others) && ready;
  if (all) {
    say_to(comm, others, prepare);
    all = hear_all(comm, prepared, Deadline(timeout), others);
  }
  // Late tasks get no answer and leave after their timeout.
  say_to(comm, others, all ? commit : cancel);
  return all ? Presence::all : Presence::missing;
}

// Runs on all tasks except task 0. After `prepare`, waits as long as task 0 may wait for the other tasks;
// task 0 started that wait no later.
Presence follow(MPI_Comm comm, bool ready, std::chrono::milliseconds timeout) {
  say(comm, 0, ready ? present : not_ready);
  if (!ready) return Presence::missing;
  int word = cancel;
  int sender = 0;
  if (!hear(comm, 0, Deadline(timeout), word, sender) || word != prepare) return Presence::missing;
  say(comm, 0, prepared);
  if (!hear(comm, 0, Deadline(2 * timeout), word, sender)) return Presence::missing;
  return word == commit ? Presence::all : Presence::missing;
}

}  // namespace

Presence wait_for_all(MPI_Comm comm, bool ready, std::chrono::milliseconds timeout) {
  return rank_in(comm) == 0 ? decide(comm, ready, timeout) : follow(comm, ready, timeout);
}

}  // namespace sheaf::mpi
