// exchange/pieces/constants: the constants of src/exchange and its subdirectories, each with unit and reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf::exchange {

// --- Cost of a request, in bytes that could be moved in the same time. The kernel copies about 2 KiB during
// one system call. A request to a server, or a message, costs as much as moving a hundred KiB.
inline constexpr int64_t bytes_per_write = 2 << 10;  // write sieving: the cost of reading and writing back
inline constexpr int64_t bytes_per_read = 4 << 10;   // read sieving: gaps are read as well
inline constexpr int64_t gap_worth_a_request = 4 << 10;   // writes skip larger gaps instead of filling them
inline constexpr int64_t gap_worth_a_message = 64 << 10;  // likewise for requests to a server
// A window with at least this many gaps is filled, since each gap costs one more request. With fewer gaps,
// filling would cost more: it locks out other handles, flushes and revalidates on all hosts, and reads the
// window.
inline constexpr int64_t gaps_worth_filling = 16;
inline constexpr int64_t gap_worth_reading = 16 << 10;  // reads into separate memory skip larger gaps
static_assert(bytes_per_write * 2 == gap_worth_a_request && gap_worth_a_request <= gap_worth_reading);
static_assert(gap_worth_reading <= gap_worth_a_message);

// Bytes of an aligned block that a read-modify-write does not write back unless it contains bytes of the
// access. So no task loses a write of whole blocks, and such writes need no lock. All processes that have the
// file open must use the same value.
inline constexpr int64_t sieve_block = 4 << 10;

// --- Memory of an independent transfer, in bytes.
inline constexpr int64_t packed_bytes = 1 << 20;      // packed at once from non-contiguous memory
inline constexpr int64_t scattered_bytes = 16 << 20;  // likewise where each request costs a message
inline constexpr int64_t max_read_length = 16 << 20;  // maximum length of segments that are read together
inline constexpr int64_t mover_bytes = 16 << 10;      // between two type maps: fits into the L1 cache
static_assert(mover_bytes < packed_bytes && packed_bytes < scattered_bytes);

// --- Independent writes that wait in memory where each request is a message (transfer/held_writes).
inline constexpr int64_t held_memory = 16 << 20;  // bytes of a task
// Pieces of at least this mean length are worth a request of their own.
inline constexpr int64_t max_held_piece = gap_worth_a_message;
// By default, writes of at least this many pieces wait. HDF5 writes its metadata in single pieces, which
// other tasks read without a sync.
inline constexpr int64_t pieces_worth_holding = 16;
// A task writes fewer extents than this by itself: they cost less than an exchange of all tasks.
inline constexpr int64_t extents_worth_an_exchange = 5;
static_assert(held_memory <= scattered_bytes && pieces_worth_holding > extents_worth_an_exchange);

// Maximum number of attempts for a write under a shared lock. The write is repeated if a read-modify-write of
// another task may have overwritten it. The bound ends a race with a program that takes and releases a lock
// of its own all the time.
inline constexpr int max_guarded_writes = 8;
// Largest page size of any host, in bytes. Extents that are locked against other hosts are whole pages.
inline constexpr int64_t max_host_page = 64 << 10;

// --- Independent transfer or exchange (exchange/collective_planner). If all tasks share a page cache,
// extents of at least this size are transferred independently: a request costs less than another copy.
inline constexpr int64_t piece_worth_a_write = 32 << 10;
inline constexpr int64_t piece_worth_a_read = 16 << 10;
static_assert(piece_worth_a_read >= gap_worth_reading && piece_worth_a_read <= piece_worth_a_write);
// An exchange pays if the tasks access at least 1/`sparse` of the range, or if reading the mean gap costs
// less than a request. If the program requests an exchange, 1/`very_sparse` suffices. Where each unit must
// have one writer, writes are exchanged however sparse they are, unless they need `max_windows` windows or
// more.
inline constexpr int64_t sparse = 8;
inline constexpr int64_t very_sparse = 256;
inline constexpr int64_t max_windows = 1 << 20;
static_assert(sparse < very_sparse);

// --- The window pool of one host. Windows are short, because the page cache of the host merges requests.
inline constexpr int64_t usual_window = 128 << 10;  // bytes; the first call of a program touches all slots
inline constexpr int64_t dear_window = 1 << 20;     // where each request costs a message
inline constexpr int64_t largest_window = 8 << 20;  // for files with blocks of that size
inline constexpr int window_slots = 16;             // a power of two; 2 MiB with the usual window
inline constexpr int max_tokens = 8;                // maximum number of tasks that access the file at once
inline constexpr uint64_t windows_ahead = 3;        // windows that a task reads ahead
static_assert((window_slots & (window_slots - 1)) == 0 && window_slots > max_tokens + windows_ahead);
static_assert(usual_window < dear_window && dear_window < largest_window);

// --- The window pools of several hosts.
inline constexpr int max_channels = 4;  // maximum number of aggregators of a host
inline constexpr int64_t max_aggregators =
    1024;  // maximum number of aggregators of windows; more writers gain nothing
inline constexpr int64_t hosts_window = 1 << 20;  // bytes; makes requests to servers, and messages, long
inline constexpr int64_t min_hosts_window = 64 << 10;
// A short range has at least this many windows per aggregator, unless they would be shorter than
// `short_window`. The first exchange of a write and its last request overlap with nothing, so with 16 windows
// each adds 1/16 to the time. Short windows also divide the range evenly.
inline constexpr int64_t windows_of_an_aggregator = 16;
inline constexpr int64_t short_window = 256 << 10;        // bytes
inline constexpr int64_t memory_of_a_channel = 48 << 20;  // bytes of windows per channel, on every host
// Bytes of a plan's code that are sent in the same message as the length of the code, so that short codes
// take one message.
inline constexpr size_t short_code = 4 << 10;
inline constexpr int rounds_under_way = 3;  // one is filled, one is in flight, one is written
static_assert(max_channels * memory_of_a_channel >= rounds_under_way * max_aggregators * min_hosts_window);
static_assert(min_hosts_window <= short_window && short_window <= hosts_window);

// --- The method of exchange (exchange/exchange_method), if no hint selects one. MPI's collective calls
// schedule the messages of all hosts. That pays if each host sends many short messages; smaller channels have
// too few.
inline constexpr int hosts_worth_alltoallv = 32;
inline constexpr int64_t sparse_links = 2;  // dense: at least half of all pairs of hosts exchange data
inline constexpr int64_t short_message = 64 << 10;  // bytes, on average

// --- Other handles of a file (transfer/concurrent_openers). If this many random marks in a row are locked,
// another handle that fills gaps probably holds every mark. The task then waits for that handle, for at most
// filler_timeout, before the open fails.
inline constexpr int tries_at_once = 4;
inline constexpr std::chrono::seconds filler_timeout{60};

inline constexpr size_t window_page = 4096;  // sections of a window pool begin on pages

}  // namespace sheaf::exchange
