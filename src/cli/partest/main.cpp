// cli/partest/main: the program sheaf-partest. It compares methods of storing the data of many tasks in files
// (docs/tools/sheaf-partest.md). If it is called partest or ompi_partest, it behaves as these programs of
// SIONlib 1.7.
//
// Unlike the rest of Sheaf, the program calls MPI-IO and the operating system directly, because it compares
// multifiles with them. Multifiles are written and read through the C interface, as in an application.
#include <mpi.h>
#include <omp.h>

#include <cstdio>
#include <cstring>

#include "api/sion/families/team.hpp"
#include "base/printable.hpp"
#include "cli/partest/report.hpp"
#include "comm/agree.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/threads/hybrid_comm.hpp"
#include "sheaf.h"

namespace {

using namespace sheaf;
using namespace sheaf::partest;

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text);
  for (char& c : line)
    if (c == '\t') c = ' ';
  line = line.substr(0, line.find_first_of(",\n"));
  while (line.find("  ") != std::string::npos) line.erase(line.find("  "), 1);
  return line;
}

std::unique_ptr<Report> make_report(const Setting& setting, const Options& options) {
  if (options.json) return make_json_report(setting, options);
  if (setting.program == "sheaf-partest") return make_table(setting, options);
  return make_classic_lines(setting, options);
}

// Runs the benchmark on one task. Returns the exit code, which is the same on all tasks.
int run_task(const std::string& program, const Options& options, Comm& comm) {
  const bool first = comm.rank() == 0;
  if (const auto problem = contradiction(options, comm.size())) {
    if (first)
      std::fprintf(stderr, "%s: %s\n  (`%s --help` explains the options)\n", program.c_str(),
                   printable(*problem).c_str(), program.c_str());
    return 2;
  }
  std::unique_ptr<Report> report;
  const auto failed = attempt([&] {
    if (first) report = make_report({program, mpi_version(), comm.size()}, options);
    run(options, comm, [&](const Phase& phase) {
      if (report) report->phase(phase);
    });
    if (report) report->end();
  });
  if (failed && first) std::fprintf(stderr, "%s: %s\n", program.c_str(), failed->what());
  return failed ? 1 : 0;
}

int run_threads(const std::string& program, const Options& options) {
  int status = 1;
#pragma omp parallel num_threads(options.tasks.threads) default(shared)
  {
    const bool master = omp_get_thread_num() == 0;
    int mine = 1;
    const auto failed = attempt([&] {
      std::unique_ptr<Comm> threads = api::start_team();
      if (threads->size() != options.tasks.threads)
        throw Error(Code::mismatch, "OpenMP gives " + std::to_string(threads->size()) +
                                        " threads instead of " + std::to_string(options.tasks.threads));
      std::unique_ptr<Comm> processes = master ? mpi_comm(MPI_COMM_WORLD) : nullptr;
      const std::unique_ptr<Comm> comm = hybrid_comm(std::move(processes), std::move(threads));
      mine = run_task(program, options, *comm);
    });
    if (failed && master) std::fprintf(stderr, "%s: %s\n", program.c_str(), failed->what());
    if (master) status = mine;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const char* const slash = std::strrchr(argv[0], '/');
  const std::string program = slash ? slash + 1 : argv[0];
  sheaf_print_errors(0);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Options options;
  int status = 0;
  if (const auto refusal = parse(program, argc, argv, options)) {
    if (rank == 0) std::fputs(refusal->text.c_str(), refusal->exit_code == 0 ? stdout : stderr);
    status = refusal->exit_code;
  } else if (options.tasks.threads > 0) {
    status = run_threads(program, options);
  } else {
    const std::unique_ptr<Comm> comm = mpi_comm(MPI_COMM_WORLD);
    status = run_task(program, options, *comm);
  }
  MPI_Finalize();
  return status;
}
