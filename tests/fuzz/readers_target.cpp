// Reads a multifile in every way and compares the results.
#include "fuzz/memory_bound.hpp"
#include "fuzz/reading.hpp"
#include "fuzz/targets.hpp"

namespace sheaf::fuzz {

void fuzz_readers(std::span<const std::byte> input) {
  const PackedFiles files = unpack(input);
  if (files.files.empty() || files.holes_hold_metadata()) return;
  const MemoryBound bound(MemoryBound::for_files(files.bytes()));
  SpanStore store = files_to_read(files);
  const ReadSettings settings{files.processes(), files.buffer_bytes()};

  const ReadOutcome serial = read_serially(store, settings);
  const int64_t ntasks = serial.error ? 4 : serial.contents.ntasks;
  const ReadOutcome single = read_by_task(store, ntasks, settings);
  const ReadOutcome parallel = read_in_parallel(store, files.option(0) ? 0 : ntasks, settings);
  const ReadOutcome mapped = read_mapped(store, settings);
  if (!serial.error) {
    require(single.contents.tasks.size() == serial.contents.tasks.size(),
            "single tasks that the serial reader has");
    require_same(serial.contents, single.contents, "single tasks");
    if (!parallel.error) require_same(serial.contents, parallel.contents, "in parallel");
    if (!mapped.error) require_same(serial.contents, mapped.contents, "mapped");
  }
  if (!parallel.error && !mapped.error)
    require_same(parallel.contents, mapped.contents, "parallel and mapped");
}

}  // namespace sheaf::fuzz
