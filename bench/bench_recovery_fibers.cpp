// Recovery of an unclosed multifile of very many tasks. A repair must find the flushed data in little memory.
// Its time is compared with reading the same bytes of metadata and journal.
//
// One row is for the time of the repair, one for that of a serial open. `peak` is the memory growth of the
// process per task.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "bench_common.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/store.hpp"

namespace {

namespace multifile = sheaf::multifile;
using bench::require;

void make(const std::string& path, int64_t tasks) {
  std::vector<int64_t> sizes(static_cast<size_t>(tasks), 64), ranks(sizes.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  multifile::Writer writer(sheaf::posix_store(), {path, sizes, ranks, 64, true},
                           multifile::parse_open_mode("w"));
  const std::vector<std::byte> record(48, std::byte{7});
  for (int64_t t = 0; t < tasks; ++t) {
    writer.select(t);
    writer.stream().write(record);
  }
  writer.commit();
}

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Runs `work` in a separate process, which holds no memory of earlier work.
template <class Work>
void measure(const char* name, const std::string& fs, int64_t tasks, double limit, Work work) {
  std::fflush(stdout);
  const pid_t child = fork();
  require(child >= 0, "cannot fork");
  if (child == 0) {
    const long before = peak_kib();
    const double start = bench::now();
    work();
    const double seconds = bench::now() - start;
    const double bytes = 1024.0 * static_cast<double>(peak_kib() - before) / static_cast<double>(tasks);
    const char* pass = limit == 0 ? "-" : seconds <= limit && bytes <= 64 ? "yes" : "no";
    std::printf(
        "RESULT name=%s fs=%s ratio=%.4g min=%.4g max=%.4g ours=%.4g peer=%.4g target=%s%.4g pass=%s\n", name,
        fs.c_str(), seconds, seconds, seconds, seconds, bytes, limit == 0 ? "" : "<=", limit, pass);
    std::printf("  %s: %lld tasks, %.3f s, %.1f bytes per task\n", name, static_cast<long long>(tasks),
                seconds, bytes);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  require(status == 0, "the measured process has failed");
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", ".");
  const int64_t tasks = options.number("--tasks", 294'912);
  options.check();
  const bench::ScratchDirectory scratch(parent, true, getpid());
  const std::string path = scratch.file("unclosed");
  const std::string fs = bench::file_system_of(scratch.path());
  if (const pid_t child = fork(); child == 0) {
    make(path, tasks);
    _exit(0);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    require(status == 0, "cannot make the multifile");
  }
  measure("recovery.open", fs, tasks, 0, [&] {
    multifile::Reader reader(sheaf::posix_store(), path, multifile::parse_open_mode("r"));
    require(reader.facts().unclosed && reader.multifile().data_bytes() == 48 * tasks,
            "the open has lost bytes");
  });
  measure("recovery.repair", fs, tasks, 2, [&] {
    multifile::WorkProgress quiet;
    const auto report = multifile::repair(sheaf::posix_store(), path, {}, quiet);
    require(report.files.front().data_bytes == 48 * tasks, "the repair has lost bytes");
  });
}
