// sharedfile/hints: how a shared file is to be accessed: what the program asks for (MPI_Info), what a file of
// hints (hints_file) and the environment say, and what is used.
//
// Words of the program, as ROMIO's users know them: cb_nodes, cb_buffer_size, romio_cb_write, romio_cb_read,
// romio_ds_write, romio_ds_read (enable, disable, automatic), ind_rd_buffer_size, ind_wr_buffer_size,
// striping_unit, striping_factor, cb_config_list, romio_no_indep_rw. Environment, read on task 0, which wins
// over the program:
//
// - SHEAF_CB_NODES, SHEAF_CB_BUFFER_SIZE, SHEAF_CB_WRITE, SHEAF_CB_READ, SHEAF_DS_WRITE,
//   SHEAF_DS_READ: as the words above
// - SHEAF_BLOCK_SIZE=BYTES: file domains begin and end at multiples of it (Blue Gene/L paper, section 3.4)
// - SHEAF_IOTASKS=K: at most K tasks of a node read or write the file at once; as the hint sheaf_iotasks
// - SHEAF_MPIIO_OFF=WORD,...: switches off, for measuring: shared (no shared memory: every task counts as a
//   host), overlap (one round after the other, no reading ahead), reuse (a new plan for every call)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

enum class Choice : uint8_t { automatic, enable, disable };

// Those that are no text: tasks send them to each other as they are.
struct HintValues {
  int64_t aggregators = 0;  // cb_nodes; 0: automatic
  int64_t buffer_size = 0;  // cb_buffer_size, bytes of an aggregator's buffer; 0: automatic
  Choice collective_write = Choice::automatic;  // romio_cb_write: exchange between tasks
  Choice collective_read = Choice::automatic;
  // romio_ds_write: read, change and write back where pieces are small
  Choice sieve_write = Choice::automatic;
  Choice sieve_read = Choice::automatic;
  int64_t sieve_write_size = 512 << 10;  // ind_wr_buffer_size, bytes
  int64_t sieve_read_size = 4 << 20;     // ind_rd_buffer_size, bytes
  int64_t striping_unit = 0;             // bytes; 0: not given
  int64_t striping_factor = 0;           // 0: not given
  // Alignment of file domains in bytes; 0: striping unit, or the block of the file system
  int64_t block_size = 0;
  int64_t io_tasks = 0;  // sheaf_iotasks: tasks of a node that transfer at once; 0: all
  // romio_no_indep_rw: the program makes no independent calls. Collective transfers then always exchange:
  // romio_cb_write and romio_cb_read are enabled, whatever else is said of these.
  bool no_independent = false;

  // Optimisations that may be used.
  bool shared = true, overlap = true, reuse = true;
};

struct SHEAF_EXPORT Hints : HintValues {
  std::string config_list;        // cb_config_list, as given
  std::string file_system;        // no hint, but told with those in use; empty: not known
  std::string aggregator_list{};  // no hint either: ranks of the aggregators, separated by blanks

  // Takes over one hint; unknown keys and values that make no sense are ignored (false), as MPI asks.
  bool set(std::string_view key, std::string_view value);
  // What `set` understands for a key, in words; null for keys that it does not know, or whose values it takes
  // as they are.
  static const char* expected(std::string_view key);
  // Takes over what the environment of this process says, and leaves warnings of what it does not understand
  // (base/setting). Local.
  void apply_environment();
  // How many aggregators config_list allows on a host: entries "host", "host:n", "host:*" and the same with *
  // for all hosts that have no entry of their own; no number means 1, no entry 0. Negative: any number.
  int64_t allowed_on(std::string_view host) const;
  // All of these with their values, as words and numbers.
  std::vector<std::pair<std::string, std::string>> words() const;
};

}  // namespace sheaf
