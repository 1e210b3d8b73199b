// bench/sfio_limit: the physical limit that striped files are compared with. Compute tasks send the same
// bytes to the same listeners, as contiguous messages of the listeners' buffer size. A listener writes each
// message with pwrite while it receives the next one.
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench_common.hpp"
#include "yielding_mpi.hpp"

namespace sfio_limit {

constexpr int data_tag = 5;
constexpr int done_tag = 6;

// Tasks 0 to compute - 1 of `comm` write `bytes` each; the other tasks are listeners.
struct MessageStream {
  MPI_Comm comm = MPI_COMM_WORLD;
  int compute = 0;
  int listeners = 0;
  int64_t bytes = 0;
  int64_t room = 0;  // bytes per message
};

// Runs on a compute task: keeps two messages in flight to every listener.
inline void send(const MessageStream& stream, std::vector<char>& data) {
  const int64_t share = stream.bytes / stream.listeners;
  const auto count = static_cast<size_t>(stream.listeners);
  std::vector<int64_t> sent(count);
  std::vector<std::vector<MPI_Request>> answers(count);
  for (bool more = true; more;) {
    more = false;
    for (size_t l = 0; l < count; ++l) {
      while (answers[l].size() < 2 && sent[l] < share) {
        const int64_t n = std::min(stream.room, share - sent[l]);
        MPI_Request message;
        const int task = stream.compute + static_cast<int>(l);
        static char answer;
        MPI_Irecv(&answer, 1, MPI_BYTE, task, done_tag, stream.comm, &answers[l].emplace_back());
        MPI_Isend(data.data() + static_cast<int64_t>(l) * share + sent[l], static_cast<int>(n), MPI_BYTE,
                  task, data_tag, stream.comm, &message);
        MPI_Request_free(&message);
        sent[l] += n;
      }
      int done = 0;
      if (!answers[l].empty()) MPI_Test(&answers[l].front(), &done, MPI_STATUS_IGNORE);
      if (done) answers[l].erase(answers[l].begin());
      more = more || !answers[l].empty() || sent[l] < share;
    }
    sched_yield();
  }
}

// Runs on a listener: appends the received data to the file `path`, which is removed at the end.
inline void receive(const MessageStream& stream, const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_RDWR, 0666);
  bench::require(file >= 0, "open");
  static std::vector<char> memory[2];
  MPI_Request requests[2];
  const int64_t share = stream.bytes / stream.listeners;
  const int64_t messages = (share + stream.room - 1) / stream.room * stream.compute;
  const auto listen = [&](int i) {
    memory[i].resize(static_cast<size_t>(stream.room));
    MPI_Irecv(memory[i].data(), static_cast<int>(stream.room), MPI_BYTE, MPI_ANY_SOURCE, data_tag,
              stream.comm, &requests[i]);
  };
  for (int i = 0; i < std::min<int64_t>(messages, 2); ++i) listen(i);
  off_t at = 0;
  for (int64_t n = 0; n < messages; ++n) {
    const int i = static_cast<int>(n % 2);
    MPI_Status status;
    yielding::wait(&requests[i], &status);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    bench::require(pwrite(file, memory[i].data(), static_cast<size_t>(count), at) == count, "pwrite");
    at += count;
    const char answer = 0;
    MPI_Send(&answer, 1, MPI_BYTE, status.MPI_SOURCE, done_tag, stream.comm);
    if (n + 2 < messages) listen(i);
  }
  close(file);
  unlink(path.c_str());
}

}  // namespace sfio_limit
