// hosts_tally: records which task wrote which bytes of a file between its open and its last close, for tests
// that check sharing between hosts.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sheaf::test {

// A task of a program and its simulated host.
struct HostedTask {
  int host = 0;
  int64_t task = 0;
  auto operator<=>(const HostedTask&) const = default;
};

struct HostsCounts {
  int64_t shared_units = 0;   // units of a file that two hosts wrote to between its open and its last close
  int64_t mixed_units = 0;    // writes to a unit with bytes of another host, not yet closed or synced
  int64_t foreign_bytes = 0;  // bytes read that a task of another host wrote, without a close or sync by the
                              // writer followed by an open by the reader
  int64_t neighbour_bytes = 0;  // like foreign_bytes, for another task on the reader's host
  int64_t stale_handles = 0;    // calls that failed with ESTALE
  int64_t server_writes = 0;    // requests that reached the server
  int64_t server_reads = 0;
  std::vector<std::string> examples;  // the first few cases of the first four counters
};

// Tally of one file. Several files may share `counts` and `clock`. The caller serializes access and keeps
// both alive.
class HostsTally {
 public:
  HostsTally(int64_t unit, HostsCounts& counts, int64_t& clock)
      : unit_(unit), counts_(counts), clock_(clock) {}

  // Returns the time of the open; bytes closed or synced before it may be read.
  int64_t opened();
  void closed(HostedTask who);  // after published()
  void wrote(const std::string& path, HostedTask who, int64_t offset, int64_t length);
  void published(HostedTask who) {
    published_[who].push_back(++clock_);
  }  // all bytes that the task wrote so far were closed or synced
  // Records a read. With own_host, bytes that other tasks of the same host wrote count as well.
  void read(const std::string& path, HostedTask who, int64_t since, int64_t offset, int64_t length,
            bool own_host = true);

 private:
  struct Span {
    int64_t end;
    HostedTask who;
    int64_t when;
  };
  void cut(int64_t at);
  bool may_be_read(const Span& span, int64_t since) const;
  std::string mixed(const std::string& path, HostedTask who, int64_t offset, int64_t end) const;
  void tell(int64_t& count, int64_t more, const std::string& text);

  const int64_t unit_;
  HostsCounts& counts_;
  int64_t& clock_;
  int64_t open_ = 0;
  std::map<int64_t, Span> spans_;                         // by their first byte; without overlaps
  std::map<int64_t, int> host_of_unit_;                   // -1: several hosts, already counted
  std::map<HostedTask, std::vector<int64_t>> published_;  // times of publication, ascending
};

}  // namespace sheaf::test
