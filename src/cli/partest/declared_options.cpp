#include "cli/partest/declared_options.hpp"

#include <CLI/App.hpp>
#include <climits>

#include "base/parse.hpp"
#include "sheaf.h"

namespace sheaf::partest {

namespace {

template <class Value>
void add_size(CLI::App& app, const std::string& names, Value& value, const char* text, int64_t least,
              int64_t most) {
  app.add_option_function<std::string>(
         names,
         [&value, names, least, most](const std::string& given) {
           // A negative number lets the library choose the size.
           const std::optional<int64_t> bytes =
               given.starts_with('-') ? parse_number(given) : parse_bytes(given);
           if (!bytes)
             throw CLI::ValidationError(names, "'" + given + "' is no size, such as 4096, 64k or 20MiB");
           if (*bytes < least || *bytes > most)
             throw CLI::ValidationError(names, "'" + given + "' is not between " + std::to_string(least) +
                                                   " and " + std::to_string(most) + " bytes");
           value = *bytes;
         },
         text)
      ->type_name("SIZE");
}

struct Numeric {
  const char* names;
  int& value;
  const char* text;
  std::optional<int> least{};  // nullopt: -v and --verbose switch on, --verbose=0 off
};

void add(CLI::App& app, std::initializer_list<Numeric> options) {
  for (const auto& [names, value, text, least] : options)
    if (!least)
      app.add_flag_function(
          names, [&given = value](int64_t times) { given = times > 0 ? 1 : 0; }, text);
    else
      app.add_option(names, value, text)
          ->check(CLI::Range(*least, INT_MAX).description(""))
          ->type_name("N")
          ->capture_default_str();
}

}  // namespace

void add_options(CLI::App& app, Options& o) {
  app.option_defaults()->take_last();
  app.add_option("-f,--filename", o.filename, "the file; with one per task NAME.000000, ...")
      ->type_name("NAME")
      ->capture_default_str();
  add(app, {{"-n,--numfiles", o.numfiles, "physical files of the multifile; 0: one per node", INT_MIN}});
  add_size(app, "-r,--chunksize", o.sizes.chunksize, "chunk size [20MiB]; negative: the data of the task",
           INT64_MIN, INT64_MAX);
  add_size(app, "-q,--fsblksize", o.sizes.fsblksize, "block size [2MiB]; negative: the file system's",
           INT64_MIN, INT32_MAX);
  app.add_option("-T,--testtype", o.testtypes,
                 "what to measure, N or N,N,... [0]:\n"
                 " 0  multifile\n"
                 " 1  multifile; every task opens its part by itself to read\n"
                 " 2  MPI-IO\n"
                 " 3  one file per task\n"
                 " 4  one file, written and read by the first task for all\n"
                 " 5  one file, through the calls of the system (POSIX shared)\n"
                 "with threads: 0, 1 one multifile; 2, 3 one per process (OpenMP)")
      ->type_name("N")
      ->take_all()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 5).description(""));
  add_size(app, "-b,--bufsize", o.sizes.bufsize, "bytes per call [10MiB]", 1, INT32_MAX);
  add_size(app, "-g,--totalsize", o.sizes.totalsize, "data of all tasks together, instead of -s", 0,
           INT64_MAX);
  add_size(app, "-s,--localsize", o.sizes.localsize, "data per task [20MiB]", 0, INT64_MAX);
  app.add_option("-F,--factor", o.sizes.factor, "tasks have up to X times more data, by chance")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->capture_default_str();
  app.add_option("-R,--read", o.read, "1: read phase")
      ->type_name("0|1")
      ->check(CLI::Range(0, 1).description(""))
      ->capture_default_str();
  app.add_option("-W,--write", o.write, "1: write phase; 2: the files are created in a step before")
      ->type_name("0|1|2")
      ->check(CLI::Range(0, 2).description(""))
      ->capture_default_str();
  add(app, {{"-v,--verbose", o.output.verbose, "results of every task"},
            {"-C,--nochecksum", o.output.nochecksum, "do not check what is read"},
            {"-d,--debugtask", o.output.debugtask, "say on stderr what the first task does"},
            {"-D,--Debugtask", o.output.debuglast, "the same for the last task"},
            {"-L,--posix", o.calls.posix, "descriptors instead of stdio streams"},
            {"-M,--collwrite", o.calls.collwrite, "write with the collective calls (SION_COLLSIZE)"},
            {"-m,--collread", o.calls.collread, "read with the collective calls (SION_COLLSIZE)"},
            {"-c,--collmsa", o.calls.collmsa, "add collmsa to the mode"}});
  app.add_option("-Z,--taskoffset", o.tasks.taskoffset,
                 "task t reads what task t+N wrote, not what its node may hold")
      ->type_name("N")
      ->capture_default_str();
  add_size(app, "-O,--byteoffset", o.tasks.byteoffset,
           "bytes of the first call, so that others are not aligned [0]", 0, INT32_MAX);
  add(app,
      {{"-j,--serialized", o.tasks.serialized, "so many tasks at a time; -1: all; -2: transactions", -2},
       {"-X,--unlinkfiles", o.unlinkfiles, "1: remove the files afterwards", 0},
       {"--bgionode", o.tasks.bgionode, "accepted; there is no Blue Gene here"},
       {"--bgtaskperionode", o.tasks.tasks_per_file, "with -n 0: one physical file for every N tasks", 0},
       {"--bgtasksort", o.tasks.bgtasksort, "accepted; there is no Blue Gene here"},
       {"-w,--hintlargeblock", o.hints.largeblock, "MPI-IO hint IBM_largeblock_io"},
       {"-Q,--hintiobufsize", o.hints.iobufsize, "MPI-IO hint IBM_io_buffer_size, in KB", -1},
       {"-x,--hintsparseaccess", o.hints.sparseaccess, "MPI-IO hint IBM_sparse_access"}});
  add(app, {{"--hintsparseacess", o.hints.sparseaccess, "as the original spells it"},
            {"--threads", o.tasks.threads, "every process has N threads, and every thread is a task", 0},
            {"--iotasks", o.tasks.iotasks,
             "at most N tasks of a node transfer at once (multifile, MPI-IO of Sheaf)", 0}});
  app.get_option("--hintsparseacess")->group("");
  app.add_flag("--json", o.json, "the results as JSON");
  app.set_version_flag("-V,--version", "sheaf " + std::string(sheaf_version()), "print the version");
  app.set_help_flag("-h,--help", "print this");
}

}  // namespace sheaf::partest
