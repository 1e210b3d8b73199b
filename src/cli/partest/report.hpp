// cli/partest/report: prints the results as a table or as JSON on stdout, or as the lines of SIONlib's
// partest on stderr. All functions run on task 0.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/partest/run.hpp"

namespace sheaf::partest {

// Properties of the complete run.
struct Setting {
  std::string program;  // name as invoked
  std::string mpi;      // library and version
  int ntasks = 0;
};

// Totals over a set of tasks. Bytes and chunks are sums; times are in seconds.
struct Totals {
  int64_t tasks = 0;
  int64_t bytes = 0;
  int64_t chunks = 0;
  double time[step_count] = {};     // from the first task's begin to the last task's end
  double spread[step_count] = {};   // from the first task's end to the last task's end
  double barrier[step_count] = {};  // longest wait for the last task
  // Returns the sum of the times of open, transfer and close.
  double all_steps() const { return time[open_step] + time[transfer_step] + time[close_step]; }
};
Totals totals_of(const std::vector<TaskMeasurements>& tasks);
// Returns the records of the tasks of one physical file.
std::vector<TaskMeasurements> of_file(const Phase& phase, int64_t file);

// Returns the rate in MiB per second; 0 if `bytes` or `seconds` is 0.
double mebibytes_per_second(int64_t bytes, double seconds);

// Reports one run. The caller creates the object before the first phase, calls phase() after each phase, and
// calls end() if no phase has failed.
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
