// mpiio/file/hints: the access hints of a shared file. Sources are the program (MPI_Info), a file of hints
// (hints_file) and the environment.
//
// Keys of the program are those of ROMIO: cb_nodes, cb_buffer_size, romio_cb_write, romio_cb_read,
// romio_ds_write, romio_ds_read (enable, disable, automatic), ind_rd_buffer_size, ind_wr_buffer_size,
// striping_unit, striping_factor, cb_config_list, romio_no_indep_rw. Task 0 reads the environment, which
// overrides the program:
//
// - SHEAF_CB_NODES, SHEAF_CB_BUFFER_SIZE, SHEAF_CB_WRITE, SHEAF_CB_READ, SHEAF_DS_WRITE,
//   SHEAF_DS_READ: as the keys above
// - SHEAF_HOLD_WRITES: enable, disable or automatic (hint sheaf_hold_writes)
// - SHEAF_BLOCK_SIZE=BYTES: file domains begin and end at multiples of BYTES (Blue Gene/L paper, section 3.4)
// - SHEAF_IOTASKS=K: at most K tasks of a host read or write the file at once (hint sheaf_iotasks)
// - SHEAF_EXCHANGE=WORD,...: how tasks exchange data and ranges (hint sheaf_exchange)
// - SHEAF_MPIIO_OFF=WORD,...: switches optimisations off for measurements: shared (no shared memory: every
//   task counts as a host), overlap (rounds one by one, no read-ahead), reuse (a new plan for every call),
//   and those of the Blue Gene/L paper: psets, aligned, alltoall, allreduce (exchange/collective_options.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/export.hpp"
#include "exchange/collective_options.hpp"

namespace sheaf::mpiio {

enum class Choice : uint8_t { automatic, enabled, disabled };

// Hints about read-modify-write of small extents (data sieving).
struct SievingHints {
  Choice sieve_write = Choice::automatic;  // romio_ds_write
  Choice sieve_read = Choice::automatic;   // romio_ds_read
  int64_t sieve_write_size = 512 << 10;    // ind_wr_buffer_size, bytes
  int64_t sieve_read_size = 4 << 20;       // ind_rd_buffer_size, bytes
};

// Hints with values of fixed size. Task 0 broadcasts this struct as bytes.
struct HintValues : SievingHints, exchange::TransferSwitches, exchange::ExchangeMethods {
  int64_t aggregators = 0;  // cb_nodes; 0: automatic
  int64_t buffer_size = 0;  // cb_buffer_size, bytes of an aggregator's buffer; 0: automatic
  Choice collective_write = Choice::automatic;  // romio_cb_write: exchange between tasks
  Choice collective_read = Choice::automatic;
  int64_t striping_unit = 0;    // bytes; 0: not given
  int64_t striping_factor = 0;  // 0: not given
  // Alignment of file domains in bytes; 0: the striping unit, or the file system's block size.
  int64_t block_size = 0;
  int64_t io_tasks = 0;  // sheaf_iotasks: tasks of a host that transfer at once; 0: unlimited
  // sheaf_hold_writes: small independent writes wait in memory (exchange/transfer/held_writes); automatic:
  // those of many pieces. Disabled unless a hint enables it, because programs query the size of a file after
  // a barrier alone.
  Choice hold_writes = Choice::disabled;
  // romio_no_indep_rw: the program makes no independent calls. Collective transfers then always exchange;
  // romio_cb_write and romio_cb_read count as enabled, even if they are set otherwise.
  bool no_independent = false;
};

struct SHEAF_EXPORT Hints : HintValues {
  std::string config_list;  // cb_config_list, as given
  std::string file_system;  // not a hint, but reported with the hints in use; empty: unknown
  // Ranks of the aggregators, separated by blanks. Not a hint, but reported with the hints in use.
  std::string aggregator_list{};

  // Sets one hint. Unknown keys and invalid values are ignored and return false, as MPI requires.
  bool set(std::string_view key, std::string_view value);
  // Returns a description of the valid values of a key. Returns null for unknown keys and for keys that
  // accept any value.
  static const char* expected(std::string_view key);
  // Local. Applies the hints in the environment of this process. Invalid values leave warnings
  // (base/setting).
  void apply_environment();
  // Switches the optimisation off that a word of SHEAF_MPIIO_OFF names. Returns false if no optimisation has
  // that name.
  bool switch_off(std::string_view word);
  // Returns the number of aggregators that config_list allows on a host; a negative number means no limit.
  // Entries are "host", "host:n" and "host:*". An entry with * instead of a host name applies to all hosts
  // without an entry of their own. An entry without a number allows 1 aggregator. A host without any entry
  // has none.
  int64_t allowed_on(std::string_view host) const;
  // Returns all hints with their values, as text.
  std::vector<std::pair<std::string, std::string>> words() const;
};

}  // namespace sheaf::mpiio
