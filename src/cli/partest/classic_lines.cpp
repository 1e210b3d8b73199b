// cli/partest/classic_lines: prints the results on stderr in the lines of SIONlib 1.7's partest.
#include <fmt/format.h>

#include <ctime>

#include "base/printable.hpp"
#include "cli/partest/report.hpp"
#include "sion_const.h"

namespace sheaf::partest {

namespace {

template <class... Arguments>
void line(const char* format, Arguments... arguments) {
  std::fprintf(stderr, format, arguments...);
}

// Returns "open=0.01s, write=0.02s, close=0.01s" for the steps of a phase, preceded by the creation steps if
// `created` is set.
std::string steps(const double (&t)[step_count], bool writes, bool created, int digits) {
  const auto one = [&](const char* name, PhaseStep step) {
    return fmt::format("{}={:.{}f}s", name, t[step], digits);
  };
  std::string text;
  if (created) text = one("create", create_step) + ", " + one("create_cls", create_close_step) + ", ";
  return text + one("open", open_step) + ", " + one(writes ? "write" : "read", transfer_step) + ", " +
         one("close", close_step);
}

class ClassicLines : public Report {
 public:
  ClassicLines(const Setting& s, const Options& o) : Report(s, o) {
    char now[64] = "";
    const std::time_t t = std::time(nullptr);
    std::tm local = {};
    std::strftime(now, sizeof now, "%a %b %d %H:%M:%S %Y", localtime_r(&t, &local));
    line("SION parallel file I/O benchmark '%s': start at %s\n", s.program.c_str(), now);
    for (const Parameter& p : parameters(o))
      line("partest parameter:   %4s    %-16s = %s\n", p.letter ? fmt::format("(-{})", p.letter).c_str() : "",
           p.name.c_str(), printable(p.value).c_str());
    line("partest versioninfo: SION version      = %d.%dp%d, fileformat version %d\n", SION_MAIN_VERSION,
         SION_SUB_VERSION, SION_VERSION_PATCHLEVEL, SION_FILEFORMAT_VERSION);
    line("partest versioninfo: MPI               = %s\n", s.mpi.c_str());
    line("partest filespec:    tasks             = %d\n", s.ntasks);
    line("partest filespec:    filename          = %s\n", printable(o.filename).c_str());
    line("partest filespec:    bytes of task 0   = %lld\n", static_cast<long long>(o.bytes_of(0, s.ntasks)));
  }

  void phase(const Phase& p) override {
    if (p.type == mpi_io && options.tasks.threads == 0) return mpi_io_lines(p);
    if (options.output.verbose)
      for (size_t task = 0; task < p.tasks.size(); ++task)
        four_lines(static_cast<long long>(task), "TASK", {p.tasks[task]}, p);
    if (p.files > 1)
      for (int file = 0; file < p.files; ++file) four_lines(file, "FILE", of_file(p, file), p);
    four_lines(setting.ntasks, "TOTAL", p.tasks, p);
  }

 private:
  void four_lines(long long number, const char* set, const std::vector<TaskMeasurements>& tasks,
                  const Phase& p) {
    const Totals t = totals_of(tasks);
    const char* const operation = p.writes ? "WRITE" : "READ";
    const double seconds = t.all_steps();
    const double rate = mebibytes_per_second(t.bytes, seconds);
    line(
        "timings[%06lld] T_STAT           %s %s  b=%10.2f MiB t=%10.6fs #chunks=%ld bw=%10.4f MB/s (%10.4f "
        "MiB/s) "
        "ion=%d nf=%d\n",
        number, set, operation, static_cast<double>(t.bytes) / (1 << 20), seconds,
        static_cast<long>(t.chunks), rate * (1 << 20) / 1e6, rate, 0, p.files);
    line("timings[%06lld] T_PHASE          %s %s  %s, tlog=%.4fs\n", number, set, operation,
         steps(t.time, p.writes, p.writes, 5).c_str(), 0.0);
    line("timings[%06lld] T_FILE_BARRIER   %s %s  %s\n", number, set, operation,
         steps(t.spread, p.writes, false, 4).c_str());
    line("timings[%06lld] T_GLOBAL_BARRIER %s %s  %s\n", number, set, operation,
         steps(t.barrier, p.writes, p.writes, 4).c_str());
  }

  void mpi_io_lines(const Phase& p) {
    const Totals t = totals_of(p.tasks);
    const char* const did = p.writes ? "wrote" : "read";
    const double with_barrier = t.time[transfer_step];
    const double megabytes = static_cast<double>(t.bytes) / 1e6;
    if (options.output.verbose)
      for (const TaskMeasurements& r : p.tasks)
        line("partest result: %s %10.4f MB %s %s\n", did, static_cast<double>(r.bytes) / 1e6,
             p.writes ? "to" : "from", options.filename.c_str());
    line(
        "TOTAL result: open=%10.6fs close=%10.6fs %s %10.4f MB %s+barrier=%10.6fs %s=%10.4f MB/s %s %d "
        "files\n",
        t.time[open_step], t.time[close_step], did, megabytes, p.writes ? "write" : "read", with_barrier,
        p.writes ? "bw" : "br", with_barrier > 0 ? megabytes / with_barrier : 0.0, p.writes ? "to" : "from",
        p.files);
  }
};

}  // namespace

std::unique_ptr<Report> make_classic_lines(const Setting& setting, const Options& options) {
  return std::make_unique<ClassicLines>(setting, options);
}

}  // namespace sheaf::partest
