// process_callbacks: callbacks of the generic interface over processes connected by socket pairs.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "sion.h"

namespace sheaf::test {

constexpr int died = 99;

// A process's end of a group: a socket to every other member (-1 for itself), in rank order.
struct SocketEnd {
  int rank = 0;
  std::vector<int> to = {};
  int calls = 0;
  int fail_at = -1;  // number of the call that returns 7 after its work; -1: none
  int die_at = -1;   // number of the call in which this process ends with status `died`; -1: none

  int size() const { return static_cast<int>(to.size()); }
};

inline size_t socket_bytes(int dtype, int64_t n) {
  if (dtype != _SION_INT64 && dtype != _SION_INT32) std::abort();  // the library sends no other types
  return static_cast<size_t>(n) * (dtype == _SION_INT64 ? 8u : 4u);
}

// Sends all bytes and returns true, or returns false on failure. Sending to a closed peer returns false and
// raises no signal.
inline bool send_all(int fd, const void* data, size_t bytes) {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

inline bool receive_all(int fd, void* data, size_t bytes) {
  for (char* at = static_cast<char*>(data); bytes > 0;) {
    const ssize_t got = ::recv(fd, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

// Runs body(end), the work of a callback, and returns its result. Counts the call, but not the callbacks that
// `body` calls.
template <class Body>
int serve(void* cg, Body&& body) {
  auto& end = *static_cast<SocketEnd*>(cg);
  const int call = end.calls++;
  if (call == end.die_at) _exit(died);
  const int result = body(end);
  return result == 0 && call == end.fail_at ? 7 : result;
}

// Moves piece r, of n elements, between the root's joined memory and task r.
inline int move_pieces(SocketEnd& end, void* own, void* joined, int dtype, int n, int root, bool gather) {
  if (end.rank != root) {
    const int fd = end.to[static_cast<size_t>(root)];
    return (gather ? send_all(fd, own, socket_bytes(dtype, n)) : receive_all(fd, own, socket_bytes(dtype, n)))
               ? 0
               : 1;
  }
  bool good = true;
  char* next = static_cast<char*>(joined);
  for (size_t r = 0; r < end.to.size(); ++r) {
    const size_t bytes = socket_bytes(dtype, n);
    if (static_cast<int>(r) == root) {
      if (bytes > 0) gather ? memcpy(next, own, bytes) : memcpy(own, next, bytes);
    } else {
      good = (gather ? receive_all(end.to[r], next, bytes) : send_all(end.to[r], next, bytes)) && good;
    }
    next += bytes;
  }
  return good ? 0 : 1;
}

inline int send_to_all(SocketEnd& end, void* data, size_t bytes, int root) {
  if (end.rank != root) return receive_all(end.to[static_cast<size_t>(root)], data, bytes) ? 0 : 1;
  bool good = true;
  for (const int fd : end.to)
    if (fd >= 0) good = send_all(fd, data, bytes) && good;
  return good ? 0 : 1;
}

inline int sock_bcastr(void* data, void* cg, int dtype, int n, int root) {
  return serve(cg, [&](SocketEnd& end) { return send_to_all(end, data, socket_bytes(dtype, n), root); });
}
inline int sock_gatherr(void* in, void* out, void* cg, int dtype, int n, int root) {
  return serve(cg, [&](SocketEnd& end) { return move_pieces(end, in, out, dtype, n, root, true); });
}
inline int sock_gathervr(void*, void*, void*, int, int*, int, int) { std::abort(); }  // never called
inline int sock_scatterr(void* in, void* out, void* cg, int dtype, int n, int root) {
  return serve(cg, [&](SocketEnd& end) { return move_pieces(end, out, in, dtype, n, root, false); });
}
inline int sock_scattervr(void*, void*, void*, int, int*, int, int) { std::abort(); }
inline int sock_barrier(void* cg) {
  return serve(cg, [](SocketEnd& end) {
    std::vector<int> all(end.to.size());
    int token = 0;
    const int failed = move_pieces(end, &token, all.data(), _SION_INT32, 1, 0, true);
    return move_pieces(end, &token, all.data(), _SION_INT32, 1, 0, false) || failed;
  });
}

// Finds the members of the same file: all tasks exchange their file numbers.
inline int sock_create(void** lcg, void* gcg, int grank, int gsize, int lrank, int lsize, int filenumber,
                       int) {
  return serve(gcg, [&](SocketEnd& end) {
    int mine[2] = {filenumber, lrank};
    std::vector<int> all(2 * static_cast<size_t>(gsize));
    int failed = move_pieces(end, mine, all.data(), _SION_INT32, 2, 0, true);
    failed |= send_to_all(end, all.data(), socket_bytes(_SION_INT32, 2 * gsize), 0);
    if (failed || grank != end.rank || end.calls == end.fail_at + 1)
      return 1;  // then there is nothing to free
    auto* local = new SocketEnd{lrank, std::vector<int>(static_cast<size_t>(lsize), -1)};
    for (size_t r = 0; r < end.to.size(); ++r)
      if (all[2 * r] == filenumber) local->to.at(static_cast<size_t>(all[2 * r + 1])) = end.to[r];
    *lcg = local;
    return 0;
  });
}
inline int sock_free(void* lcg) {
  delete static_cast<SocketEnd*>(lcg);
  return 0;
}

// Runs body(end) in `count` processes and returns their exit statuses in rank order. The result of `body` is
// the status. SIGALRM ends a process that takes longer than `seconds`; its status is -1.
inline std::vector<int> on_processes(int count, unsigned seconds,
                                     const std::function<int(SocketEnd&)>& body) {
  const auto n = static_cast<size_t>(count);
  std::vector<std::vector<int>> ends(n, std::vector<int>(n, -1));
  for (size_t a = 0; a < n; ++a)
    for (size_t b = a + 1; b < n; ++b) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return {};
      ends[a][b] = pair[0];
      ends[b][a] = pair[1];
    }
  const auto close_but = [&](size_t kept) {
    for (size_t a = 0; a < n; ++a)
      for (const int fd : ends[a])
        if (a != kept && fd >= 0) ::close(fd);
  };
  std::vector<pid_t> children;
  for (size_t rank = 0; rank < n; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(seconds);
      close_but(rank);
      SocketEnd end{static_cast<int>(rank), ends[rank]};
      _exit(body(end));
    }
    children.push_back(child);
  }
  close_but(n);
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return statuses;
}

}  // namespace sheaf::test
