// Key-value records: sion_fwrite_key and sion_fread_key, compared with the promised rate of 5 million records
// per second in a memory-backed directory (--dir; default /dev/shm).
//
// Why this is fair: our time includes opening, closing, scanning for keys, and verifying the values. Rows:
// "by key" reads all values of one key, then of the next; this order is the hardest, because records of a key
// are not adjacent in the file. "in turn" reads the keys in the order in which they were written. "iterator"
// queries the file for that order.
#include <unistd.h>

#include "bench_common.hpp"
#include "sion.h"

namespace {

using bench::require;

constexpr double promised = 5e6;  // records per second

struct KeyvalJob {
  size_t value;  // bytes
  int64_t keys;
  int64_t count;
  std::string path;

  // Sets the bytes of record i. The first eight bytes contain i.
  void fill(char* to, int64_t i) const { std::memcpy(to, &i, std::min(value, sizeof i)); }
  bool is(const char* found, int64_t i) const {
    return std::memcmp(found, &i, std::min(value, sizeof i)) == 0;
  }
};

int open_multifile(const KeyvalJob& job, const char* mode) {
  int ntasks = 1;
  int nfiles = 1;
  sion_int64 chunk = 4 << 20;
  sion_int32 fsblksize = -1;
  int rank = 0;
  sion_int64* chunks = &chunk;
  int* ranks = &rank;
  const int sid = sion_open(const_cast<char*>(job.path.c_str()), mode, &ntasks, &nfiles, &chunks, &fsblksize,
                            &ranks, nullptr);
  require(sid >= 0, "sion_open failed");
  return sid;
}

void write_records(const KeyvalJob& job) {
  const int sid = open_multifile(job, "wb,keyval");
  std::vector<char> value(job.value, 'v');
  for (int64_t i = 0; i < job.count; ++i) {
    job.fill(value.data(), i);
    require(sion_fwrite_key(value.data(), static_cast<uint64_t>(i % job.keys), job.value, 1, sid) == 1,
            "a record was not written");
  }
  require(sion_close(sid) == 1, "sion_close failed");
}

void read_one(const KeyvalJob& job, int sid, char* value, uint64_t key, int64_t i) {
  require(sion_fread_key(value, key, job.value, 1, sid) == 1, "a record was not read");
  require(job.is(value, i), "a record came back wrong");
}

void read_by_key(const KeyvalJob& job) {
  const int sid = open_multifile(job, "rb");
  std::vector<char> value(job.value);
  for (int64_t key = 0; key < job.keys; ++key)
    for (int64_t i = key; i < job.count; i += job.keys)
      read_one(job, sid, value.data(), static_cast<uint64_t>(key), i);
  require(sion_close(sid) == 1, "sion_close failed");
}

void read_in_turn(const KeyvalJob& job) {
  const int sid = open_multifile(job, "rb");
  std::vector<char> value(job.value);
  for (int64_t i = 0; i < job.count; ++i)
    read_one(job, sid, value.data(), static_cast<uint64_t>(i % job.keys), i);
  require(sion_close(sid) == 1, "sion_close failed");
}

void read_by_iterator(const KeyvalJob& job) {
  const int sid = open_multifile(job, "rb");
  std::vector<char> value(job.value);
  uint64_t key;
  size_t size;
  int64_t i = 0;
  while (sion_fread_key_iterator_next(sid, &key, &size) == 1) read_one(job, sid, value.data(), key, i++);
  require(i == job.count, "the iterator did not find all records");
  require(sion_close(sid) == 1, "sion_close failed");
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", "/dev/shm");
  const int runs = static_cast<int>(options.number("--pairs", 7));
  KeyvalJob job;
  job.count = options.number("--records", 1'000'000);
  job.keys = options.number("--keys", 100);
  job.value = static_cast<size_t>(options.number("--bytes", 32));
  const std::string only =
      options.text("--only", "");  // runs a single row, and the write whose file it reads
  const auto patience = static_cast<double>(options.number("--patience", 3));
  options.check();

  const bench::ScratchDirectory scratch(parent, true, getpid());
  const std::string fs = bench::file_system_of(scratch.path());
  job.path = scratch.file("multifile");
  const struct {
    const char* name;
    void (*work)(const KeyvalJob&);
  } rows[] = {{"write", write_records},
              {"read-by-key", read_by_key},
              {"read-in-turn", read_in_turn},
              {"read-by-iterator", read_by_iterator}};
  const double allowed = static_cast<double>(job.count) / promised;
  for (const auto& row : rows) {
    const bool wanted = only.empty() || only == row.name;
    if (!wanted && row.work != write_records) continue;
    std::vector<double> ours;
    for (int run = 0; run <= (wanted ? runs : 0); ++run) {  // the first run is not counted
      if (row.work == write_records) scratch.empty();
      bench::wait_for_idle(patience);
      const double start = bench::now();
      const double computing = bench::processor_time();
      row.work(job);
      const double computed = bench::processor_time() - computing;
      const double seconds = bench::now() - start;
      if (run == 0) continue;
      ours.push_back(seconds);
      const double millions = 1e-6 * static_cast<double>(job.count);
      std::printf("  %-28s run %2d  %7.2f million records/s, %7.2f per second of processor time\n", row.name,
                  run, millions / seconds, millions / computed);
    }
    if (!wanted) continue;
    const std::vector<double> peer(ours.size(), allowed);
    bench::print_result(
        {std::string("keyval-") + row.name + "/5-million-a-second", true, fs == "tmpfs" ? 1.0 : 0.0}, fs,
        ours, peer);
  }
}
