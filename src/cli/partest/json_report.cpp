// cli/partest/json_report: prints the results as one JSON object.
#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/partest/report.hpp"
#include "sheaf.h"

namespace sheaf::partest {

namespace {

using cli::Json;

Json steps_of(const double (&values)[step_count], bool created) {
  Json json;
  if (created) json = {{"create", values[create_step]}, {"create_close", values[create_close_step]}};
  json["open"] = values[open_step];
  json["transfer"] = values[transfer_step];
  json["close"] = values[close_step];
  return json;
}

Json set_of(const Totals& t, bool created) {
  return {{"tasks", t.tasks},
          {"bytes", t.bytes},
          {"chunks", t.chunks},
          {"seconds", steps_of(t.time, created)},
          {"spread_seconds", steps_of(t.spread, created)},
          {"barrier_seconds", steps_of(t.barrier, created)},
          {"transfer_mib_per_second", mebibytes_per_second(t.bytes, t.time[transfer_step])},
          {"mib_per_second", mebibytes_per_second(t.bytes, t.all_steps())}};
}

class JsonReport : public Report {
 public:
  JsonReport(const Setting& s, const Options& o) : Report(s, o) {
    Json given;
    for (const Parameter& p : parameters(o)) {
      const bool text = p.name == "filename";
      given[p.name] =
          text ? Json(p.value) : Json::parse(p.name == "testtype" ? "[" + p.value + "]" : p.value);
    }
    json_ = {{"program", s.program},   {"version", sheaf_version()}, {"mpi", s.mpi},
             {"tasks", s.ntasks},      {"threads", o.tasks.threads}, {"parameters", given},
             {"phases", Json::array()}};
  }

  void phase(const Phase& p) override {
    const bool created = p.writes && options.write == 2;
    Json one = {{"test", name_of_type(p.type, options)},
                {"testtype", p.type},
                {"operation", p.writes ? "write" : "read"},
                {"files", p.files},
                {"checked", !p.writes && options.output.nochecksum == 0}};
    one.set_all(set_of(totals_of(p.tasks), created));
    if (options.output.verbose) {
      one["each_task"] = Json::array();
      for (const TaskMeasurements& r : p.tasks) {
        Json task = set_of(totals_of({r}), created);
        task.remove("tasks");
        task.remove("spread_seconds");
        task["file"] = r.file;
        task["data_of_task"] = r.source;
        one["each_task"].push_back(task);
      }
    }
    json_["phases"].push_back(one);
  }

  void end() override { fmt::print("{}\n", cli::text_of(json_, 1)); }

 private:
  Json json_;
};

}  // namespace

std::unique_ptr<Report> make_json_report(const Setting& setting, const Options& options) {
  return std::make_unique<JsonReport>(setting, options);
}

}  // namespace sheaf::partest
