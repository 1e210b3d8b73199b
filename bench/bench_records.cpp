// Small records: sion_fwrite and sion_fread against fwrite and fread on a plain file.
//
// Why this is fair: both sides transfer the same number of records of the same size from the same memory,
// with one call per record in the same loop. Both times include opening, closing and the transfers to the
// operating system. stdio runs with its defaults. Further rows cover a larger stdio buffer, and the ways in
// which a program may combine library calls with a stream that the library returned.
#include <fcntl.h>
#include <unistd.h>

#include <functional>

#include "bench_common.hpp"
#include "sion.h"

namespace {

using bench::require;
using bench::Times;

struct RecordsJob {
  size_t record;
  int64_t count;
  std::vector<char> memory;  // records are taken from here cyclically
  std::string plain;
  std::string multifile;

  size_t circle() const { return memory.size() / record * record; }
};

template <class Call>
void each_record(RecordsJob& job, Call call) {
  const size_t circle = job.circle();
  size_t at = 0;
  bool good = true;
  for (int64_t i = 0; i < job.count; ++i) {
    good &= call(job.memory.data() + at);
    at += job.record;
    if (at == circle) at = 0;
  }
  require(good, "a record was not transferred");
}

double timed(const std::function<void()>& work) {
  const double start = bench::now();
  work();
  return bench::now() - start;
}

int open_multifile(RecordsJob& job, const char* mode, FILE** stream) {
  int ntasks = 1;
  int nfiles = 1;
  sion_int64 chunk = static_cast<sion_int64>(job.record) * job.count;
  sion_int32 fsblksize = -1;
  int rank = 0;
  sion_int64* chunks = &chunk;
  int* ranks = &rank;
  const int sid =
      sion_open(job.multifile.data(), mode, &ntasks, &nfiles, &chunks, &fsblksize, &ranks, stream);
  require(sid >= 0, "sion_open failed");
  return sid;
}

FILE* open_plain(RecordsJob& job, const char* mode, size_t buffer) {
  FILE* f = std::fopen(job.plain.c_str(), mode);
  require(f, "fopen failed");
  if (buffer) require(std::setvbuf(f, nullptr, _IOFBF, buffer) == 0, "setvbuf failed");
  return f;
}

void plain_write(RecordsJob& job, size_t buffer) {
  FILE* f = open_plain(job, "wb", buffer);
  each_record(job, [&](char* r) { return std::fwrite(r, job.record, 1, f) == 1; });
  require(std::fclose(f) == 0, "fclose failed");
}

void plain_read(RecordsJob& job, size_t buffer) {
  FILE* f = open_plain(job, "rb", buffer);
  each_record(job, [&](char* r) { return std::fread(r, job.record, 1, f) == 1; });
  require(std::fclose(f) == 0, "fclose failed");
}

// Writes the same bytes in large pieces without records. The time is a lower bound for any library that ends
// in write(2).
void bare_write(RecordsJob& job) {
  const int fd = open(job.plain.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const auto total = static_cast<size_t>(job.count) * job.record;
  const size_t piece = job.memory.size() / 2;
  for (size_t done = 0; done < total; done += piece) {
    const size_t n = std::min(piece, total - done);
    require(write(fd, job.memory.data(), n) == static_cast<ssize_t>(n), "write failed");
  }
  require(close(fd) == 0, "close failed");
}

enum class RecordWriteMethod { library, library_unguarded, library_beside_stream, stream };

void multifile_write(RecordsJob& job, RecordWriteMethod method) {
  FILE* stream = nullptr;
  const bool alone = method == RecordWriteMethod::library || method == RecordWriteMethod::library_unguarded;
  const int sid = open_multifile(
      job, method == RecordWriteMethod::library_unguarded ? "wb,journal=off,checksums=off" : "wb",
      alone ? nullptr : &stream);
  if (method == RecordWriteMethod::stream) {
    each_record(job, [&](char* r) { return std::fwrite(r, job.record, 1, stream) == 1; });
  } else {
    each_record(job, [&](char* r) { return sion_fwrite(r, job.record, 1, sid) == 1; });
  }
  require(sion_close(sid) == 1, "sion_close failed");
}

void multifile_read(RecordsJob& job) {
  const int sid = open_multifile(job, "rb", nullptr);
  each_record(job, [&](char* r) { return sion_fread(r, job.record, 1, sid) == 1; });
  require(sion_close(sid) == 1, "sion_close failed");
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 7));
  const int64_t most = options.number("--bytes", 256 << 20);
  const int64_t max_records = options.number("--records", 5'000'000);
  const bool only_targets = options.flag("--only-targets");
  options.check();

  const bench::ScratchDirectory scratch(parent, true, getpid());
  const std::string fs = bench::file_system_of(scratch.path());
  const auto settle = [&] { scratch.empty(); };
  const auto keep = [] {};
  for (const size_t record : {8, 64, 1000}) {
    RecordsJob job;
    job.record = record;
    job.count = std::min(max_records, most / static_cast<int64_t>(record));
    job.memory.resize(1 << 20, 'r');
    job.plain = scratch.file("plain");
    job.multifile = scratch.file("multifile");
    const std::string size = "." + std::to_string(record) + "B";
    const auto write_ours = [&](RecordWriteMethod method) {
      return Times{timed([&] { multifile_write(job, method); })};
    };
    const auto write_peer = [&](size_t buffer) { return Times{timed([&] { plain_write(job, buffer); })}; };

    bench::compare(
        {{"sion_fwrite/fwrite" + size, false, 0.5}}, fs, pairs, true,
        [&] { return write_ours(RecordWriteMethod::library); }, [&] { return write_peer(0); }, settle);
    bench::compare(
        {{"default/no-journal-no-checksums" + size, false, record == 64 ? 1.2 : 0.0}}, fs, pairs, true,
        [&] { return write_ours(RecordWriteMethod::library); },
        [&] { return write_ours(RecordWriteMethod::library_unguarded); }, settle);
    if (only_targets) continue;
    bench::compare(
        {{"sion_fwrite/fwrite-1MiB-buffer" + size}}, fs, pairs, true,
        [&] { return write_ours(RecordWriteMethod::library); }, [&] { return write_peer(1 << 20); }, settle);
    bench::compare(
        {{"floor:write(2)/fwrite" + size}}, fs, pairs, true,
        [&] { return Times{timed([&] { bare_write(job); })}; }, [&] { return write_peer(0); }, settle);
    bench::compare(
        {{"fwrite-on-handed-stream/fwrite" + size}}, fs, pairs, true,
        [&] { return write_ours(RecordWriteMethod::stream); }, [&] { return write_peer(0); }, settle);
    plain_write(job, 0);
    multifile_write(job, RecordWriteMethod::library);
    bench::compare(
        {{"sion_fread/fread" + size}}, fs, pairs, true,
        [&] { return Times{timed([&] { multifile_read(job); })}; },
        [&] { return Times{timed([&] { plain_read(job, 0); })}; }, keep);
    // Every record is a system call in these rows, so fewer records are written.
    job.count /= 20;
    bench::compare(
        {{"sion_fwrite-beside-stream/fwrite" + size}}, fs, pairs, true,
        [&] { return write_ours(RecordWriteMethod::library_beside_stream); }, [&] { return write_peer(0); },
        settle);
  }
}
