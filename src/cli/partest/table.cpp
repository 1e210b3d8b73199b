// cli/partest/table: prints the results as a table of bandwidths.
#include <fmt/format.h>

#include <utility>

#include "base/printable.hpp"
#include "cli/partest/report.hpp"

namespace sheaf::partest {

namespace {

constexpr int name_width = 28;

void row(const std::string& name, const char* operation, const Totals& t, const std::string& files) {
  fmt::print("{:<{}} {:<5} {:>11}  {:9.4f} {:9.4f} {:9.4f}  {:10.1f} {:10.1f}  {:>5}\n", name, name_width,
             operation, in_units(t.bytes), t.time[open_step], t.time[transfer_step], t.time[close_step],
             mebibytes_per_second(t.bytes, t.time[transfer_step]),
             mebibytes_per_second(t.bytes, t.all_steps()), files);
}

class TableReport : public Report {
 public:
  using Report::Report;

  void phase(const Phase& p) override {
    if (!std::exchange(headed_, true)) head();
    const char* const operation = p.writes ? "write" : "read";
    const Totals totals = totals_of(p.tasks);
    row(name_of_type(p.type, options), operation, totals, std::to_string(p.files));
    if (p.writes && options.write == 2)
      fmt::print("{:<{}} {:<5} {:>11}  {:9.4f} {:>9} {:9.4f}\n", "  its files created before", name_width, "",
                 "", totals.time[create_step], "", totals.time[create_close_step]);
    checked_ = checked_ || !p.writes;
    if (options.output.verbose) details(p, operation);
    std::fflush(stdout);
  }

  void end() override {
    if (checked_ && options.output.nochecksum == 0)
      fmt::print("\nAll data read are those that were written.\n");
  }

 private:
  void head() const {
    const Setting& s = setting;
    const Options& o = options;
    const std::string threads =
        o.tasks.threads > 0 ? fmt::format(", {} threads per process", o.tasks.threads) : "";
    fmt::print("{}: {} task{}{}, {}\n", s.program, s.ntasks, s.ntasks == 1 ? "" : "s", threads, s.mpi);
    fmt::print("{}: {} per task{}, {} per call{}\n\n", printable(o.filename), in_units(o.min_bytes(s.ntasks)),
               o.sizes.factor > 0 ? " and up" : "", in_units(o.sizes.bufsize),
               o.tasks.taskoffset != 0
                   ? fmt::format(", task t reads what task t+{} wrote", o.tasks.taskoffset)
                   : "");
    fmt::print("{:<{}} {:<5} {:>11}  {:>9} {:>9} {:>9}  {:>10} {:>10}  {:>5}\n", "", name_width, "", "data",
               "open s", "data s", "close s", "data MiB/s", "all MiB/s", "files");
  }

  static void details(const Phase& p, const char* operation) {
    if (p.files > 1 && p.files < static_cast<int>(p.tasks.size()))
      for (int file = 0; file < p.files; ++file)
        row(fmt::format("  file {}", file), operation, totals_of(of_file(p, file)), "");
    for (size_t task = 0; task < p.tasks.size(); ++task)
      row(fmt::format("  task {}", task), operation, totals_of({p.tasks[task]}), "");
  }

  bool headed_ = false;
  bool checked_ = false;
};

}  // namespace

std::unique_ptr<Report> make_table(const Setting& setting, const Options& options) {
  return std::make_unique<TableReport>(setting, options);
}

}  // namespace sheaf::partest
