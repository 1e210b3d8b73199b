// cli/partest/report: what the results look like: a table or JSON on stdout, or the lines of partest of
// SIONlib on stderr. All on task 0.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/partest/run.hpp"

namespace sheaf::partest {

// About the run as a whole.
struct Setting {
  std::string program;  // as it was called
  std::string mpi;      // library and version
  int ntasks = 0;
};

// A set of tasks as one: sums of bytes and chunks; times in seconds.
struct Totals {
  int64_t tasks = 0;
  int64_t bytes = 0;
  int64_t chunks = 0;
  double time[step_count] = {};     // from the first task that begins to the last that ends
  double spread[step_count] = {};   // from the first task that ends to the last
  double barrier[step_count] = {};  // longest wait for the last task of all
  // The steps from open to close, one after the other.
  double all_steps() const { return time[open_step] + time[transfer_step] + time[close_step]; }
};
Totals totals_of(const std::vector<Record>& tasks);
// The records of the tasks of one physical file.
std::vector<Record> of_file(const Phase& phase, int64_t file);

// Bytes per second in MiB; 0 if there was nothing to do.
double mebibytes_per_second(int64_t bytes, double seconds);

// One for a run: made before the first phase, told of each, and of the end if nothing has failed.
class Report {
 public:
  Report(Setting s, const Options& o) : setting(std::move(s)), options(o) {}
  virtual ~Report() = default;
  virtual void phase(const Phase&) = 0;
  virtual void end() {}

 protected:
  const Setting setting;
  const Options& options;
};

std::unique_ptr<Report> make_table(const Setting& setting, const Options& options);
std::unique_ptr<Report> make_json_report(const Setting& setting, const Options& options);
std::unique_ptr<Report> make_classic_lines(const Setting& setting, const Options& options);

}  // namespace sheaf::partest
