#include "cli/partest/options.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <climits>

#include "base/parse.hpp"
#include "base/printable.hpp"
#include "cli/partest/pattern.hpp"
#include "sheaf.h"

namespace sheaf::partest {

namespace {

constexpr const char* flags[] = {"--verbose",         "--nochecksum",      "--debugtask", "--Debugtask",
                                 "--posix",           "--collwrite",       "--collread",  "--collmsa",
                                 "--hintlargeblock",  "--hintsparseacess", "--bgionode",  "--bgtasksort",
                                 "--hintsparseaccess"};

bool is_number(const std::string& word) {
  const size_t sign = word.starts_with('-') ? 1 : 0;
  return word.size() > sign && std::isdigit(static_cast<unsigned char>(word[sign]));
}

// "--verbose 1" and "-r -1" mean "--verbose=1" and, for the parser, a value although it begins with a dash.
std::vector<std::string> joined(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool flag = std::find(std::begin(flags), std::end(flags), word) != std::end(flags);
    const bool option = word.starts_with("--") && word.find('=') == std::string::npos;
    const bool letter =
        word.size() == 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1]));
    const bool negative = i + 1 < argc && argv[i + 1][0] == '-' && is_number(argv[i + 1]);
    if (i + 1 < argc && ((flag && is_number(argv[i + 1])) || (option && !flag && negative))) {
      words.push_back(word + "=" + argv[++i]);
    } else if (letter && negative) {
      words.push_back(word + argv[++i]);
    } else {
      words.push_back(word);
    }
  }
  std::reverse(words.begin(), words.end());  // as the parser wants them
  return words;
}

// Hash of a task number in [0, 1).
double chance(int64_t task) {
  return static_cast<double>(mixed(static_cast<uint64_t>(task) + 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

template <class Value>
void add_size(CLI::App& app, const std::string& names, Value& value, const char* text, int64_t least,
              int64_t most) {
  app.add_option_function<std::string>(
         names,
         [&value, names, least, most](const std::string& given) {
           // Negative numbers stand for sizes that the library chooses.
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
  std::optional<int> least{};  // none: -v and --verbose switch on, --verbose=0 off
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

void add_options(CLI::App& app, Options& o) {
  app.option_defaults()->take_last();
  app.add_option("-f,--filename", o.filename, "the file; with one per task NAME.000000, ...")
      ->type_name("NAME")
      ->capture_default_str();
  add(app, {{"-n,--numfiles", o.numfiles, "physical files of the multifile; 0: one per node", INT_MIN}});
  add_size(app, "-r,--chunksize", o.chunksize, "chunk size [20MiB]; negative: the data of the task",
           INT64_MIN, INT64_MAX);
  add_size(app, "-q,--fsblksize", o.fsblksize, "block size [2MiB]; negative: the file system's", INT64_MIN,
           INT32_MAX);
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
  add_size(app, "-b,--bufsize", o.bufsize, "bytes per call [10MiB]", 1, INT32_MAX);
  add_size(app, "-g,--totalsize", o.totalsize, "data of all tasks together, instead of -s", 0, INT64_MAX);
  add_size(app, "-s,--localsize", o.localsize, "data per task [20MiB]", 0, INT64_MAX);
  app.add_option("-F,--factor", o.factor, "tasks have up to X times more data, by chance")
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
  add(app, {{"-v,--verbose", o.verbose, "results of every task"},
            {"-C,--nochecksum", o.nochecksum, "do not check what is read"},
            {"-d,--debugtask", o.debugtask, "say on stderr what the first task does"},
            {"-D,--Debugtask", o.debuglast, "the same for the last task"},
            {"-L,--posix", o.posix, "descriptors instead of stdio streams"},
            {"-M,--collwrite", o.collwrite, "write with the collective calls (SION_COLLSIZE)"},
            {"-m,--collread", o.collread, "read with the collective calls (SION_COLLSIZE)"},
            {"-c,--collmsa", o.collmsa, "add collmsa to the mode"}});
  app.add_option("-Z,--taskoffset", o.taskoffset,
                 "task t reads what task t+N wrote, not what its node may hold")
      ->type_name("N")
      ->capture_default_str();
  add_size(app, "-O,--byteoffset", o.byteoffset,
           "bytes of the first call, so that others are not aligned [0]", 0, INT32_MAX);
  add(app, {{"-j,--serialized", o.serialized, "so many tasks at a time; -1: all; -2: transactions", -2},
            {"-X,--unlinkfiles", o.unlinkfiles, "1: remove the files afterwards", 0},
            {"--bgionode", o.bgionode, "accepted; there is no Blue Gene here"},
            {"--bgtaskperionode", o.tasks_per_file, "with -n 0: one physical file for every N tasks", 0},
            {"--bgtasksort", o.bgtasksort, "accepted; there is no Blue Gene here"},
            {"-w,--hintlargeblock", o.hintlargeblock, "MPI-IO hint IBM_largeblock_io"},
            {"-Q,--hintiobufsize", o.hintiobufsize, "MPI-IO hint IBM_io_buffer_size, in KB", -1},
            {"-x,--hintsparseaccess", o.hintsparseaccess, "MPI-IO hint IBM_sparse_access"}});
  add(app, {{"--hintsparseacess", o.hintsparseaccess, "as the original spells it"},
            {"--threads", o.threads, "every process has N threads, and every thread is a task", 0},
            {"--iotasks", o.iotasks,
             "at most N tasks of a node transfer at once (multifile, MPI-IO of Sheaf)", 0}});
  app.get_option("--hintsparseacess")->group("");
  app.add_flag("--json", o.json, "the results as JSON");
  app.set_version_flag("-V,--version", "sheaf " + std::string(sheaf_version()), "print the version");
  app.set_help_flag("-h,--help", "print this");
}

const char* const footer =
    "Sizes: a number of bytes with k, M, G or T (powers of 1024; also Ki, KiB) or kB, MB, GB, TB (powers of "
    "1000).\n"
    "Examples: mpirun -n 4 sheaf-partest -f /scratch/x -s 100M -T 0,2,3 -Z 1 -X 1\n"
    "          mpirun -n 8 sheaf-partest -s 1M -b 4k -n 2 --json\n"
    "Exit codes: 0 success, 1 a problem with a file or its data, 2 a mistake in the command line.";

}  // namespace

int64_t Options::bytes_of(int64_t task, int64_t ntasks) const {
  const int64_t bytes = least_bytes(ntasks) + (totalsize && task < *totalsize % ntasks ? 1 : 0);
  return bytes + static_cast<int64_t>(static_cast<double>(bytes) * factor * chance(task));
}

std::optional<Refusal> parse(const std::string& name, int argc, char** argv, Options& options) {
  CLI::App app("Bandwidth of parallel writing and reading: multifiles, MPI-IO and one file per task.", name);
  app.footer(footer);
  if (name == "ompi_partest") options.threads = omp_get_max_threads();
  add_options(app, options);
  try {
    app.parse(joined(argc, argv));
  } catch (const CLI::CallForHelp&) {
    return Refusal{app.help(), 0};
  } catch (const CLI::CallForVersion& version) {
    return Refusal{std::string(version.what()) + "\n", 0};
  } catch (const CLI::ParseError& error) {
    return Refusal{name + ": " + printable(error.what()) + "\n  (`" + name + " --help` shows the options)\n",
                   2};
  }
  return std::nullopt;
}

std::optional<std::string> contradiction(const Options& o, int ntasks) {
  const bool threads = o.threads > 0;
  const int processes = threads ? ntasks / o.threads : ntasks;
  if (o.numfiles > processes)
    return "-n: " + std::to_string(o.numfiles) + " physical files for " + std::to_string(processes) +
           (threads ? " processes" : " tasks");
  if (o.serialized == 0) return "-j: 0 tasks at a time would never end";
  if (o.serialized != -1 && (o.collwrite || o.collread))
    return "-j: tasks that wait for their turn cannot take part in collective calls (-M, -m)";
  for (const int type : o.testtypes) {
    if (threads && type > task_local)
      return "-T " + std::to_string(type) + ": only MPI tasks without threads have this organisation";
    if (o.serialized > 0 && type == one_task) return "-j: with -T 4 all tasks take part in every transfer";
    if (o.serialized == -2 && (threads || type >= mpi_io))
      return "-j -2: transactions exist for multifiles of MPI tasks only (-T 0, -T 1)";
  }
  if (o.chunksize == 0 && (o.totalsize ? *o.totalsize : o.localsize) > 0)
    return "-r: chunks of 0 bytes take no data";
  if (o.write == 0 && o.read == 0) return "nothing to do: -W 0 and -R 0";
  return std::nullopt;
}

std::vector<Parameter> parameters(const Options& o) {
  const auto text = [](auto number) { return std::to_string(number); };
  std::string types;
  for (const int type : o.testtypes) types += (types.empty() ? "" : ",") + text(type);
  return {
      {'f', "filename", o.filename},
      {'n', "numfiles", text(o.numfiles)},
      {'r', "chunksize", text(o.chunksize)},
      {'q', "fsblksize", text(o.fsblksize)},
      {'T', "testtype", types},
      {'b', "bufsize", text(o.bufsize)},
      {'g', "totalsize", text(o.totalsize.value_or(-1))},
      {'s', "localsize", text(o.localsize)},
      {'F', "factor", fmt::format("{}", o.factor)},
      {'R', "read", text(o.read)},
      {'W', "write", text(o.write)},
      {'v', "verbose", text(o.verbose)},
      {'C', "nochecksum", text(o.nochecksum)},
      {'d', "debugtask", text(o.debugtask)},
      {'D', "Debugtask", text(o.debuglast)},
      {'L', "posix", text(o.posix)},
      {'M', "collwrite", text(o.collwrite)},
      {'m', "collread", text(o.collread)},
      {'c', "collmsa", text(o.collmsa)},
      {'Z', "taskoffset", text(o.taskoffset)},
      {'O', "byteoffset", text(o.byteoffset)},
      {'j', "serialized", text(o.serialized)},
      {'X', "unlinkfiles", text(o.unlinkfiles)},
      {0, "bgionode", text(o.bgionode)},
      {0, "bgtaskperionode", text(o.tasks_per_file)},
      {0, "bgtasksort", text(o.bgtasksort)},
      {'w', "hintlargeblock", text(o.hintlargeblock)},
      {'Q', "hintiobufsize", text(o.hintiobufsize)},
      {'x', "hintsparseaccess", text(o.hintsparseaccess)},
      {0, "threads", text(o.threads)},
      {0, "iotasks", text(o.iotasks)},
  };
}

}  // namespace sheaf::partest
