#include "cli/partest/options.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>

#include "base/printable.hpp"
#include "cli/command_line/command_line.hpp"
#include "cli/partest/declared_options.hpp"
#include "cli/partest/pattern.hpp"

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

// Returns the arguments of the command line in the form that the parser requires. Joins "--verbose 1" to
// "--verbose=1", and "-r -1" to one word, so that the parser takes -1 as a value.
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
  std::reverse(words.begin(), words.end());  // the parser expects the last argument first
  return words;
}

// Returns a pseudo-random number in [0, 1) that depends only on the task number.
double chance(int64_t task) {
  return static_cast<double>(mixed(static_cast<uint64_t>(task) + 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

const char* const footer =
    "Sizes: a number of bytes with k, M, G or T (powers of 1024; also Ki, KiB) or kB, MB, GB, TB (powers of "
    "1000).\n"
    "Examples: mpirun -n 4 sheaf-partest -f /scratch/x -s 100M -T 0,2,3 -Z 1 -X 1\n"
    "          mpirun -n 8 sheaf-partest -s 1M -b 4k -n 2 --json\n"
    "Exit codes: 0 success, 1 a problem with a file or its data, 2 a mistake in the command line.";

// A conflict between options, if `applies`; `text` describes it.
struct OptionConflict {
  bool applies;
  std::string text;
};

std::optional<std::string> first_of(std::initializer_list<OptionConflict> all) {
  for (const auto& [applies, text] : all)
    if (applies) return text;
  return std::nullopt;
}

std::optional<std::string> contradiction_of_type(const Options& o, int type) {
  const bool threads = o.tasks.threads > 0;
  return first_of(
      {{threads && type > task_local,
        "-T " + std::to_string(type) + ": only MPI tasks without threads have this organisation"},
       {o.tasks.serialized > 0 && type == one_task, "-j: with -T 4 all tasks take part in every transfer"},
       {o.tasks.serialized == -2 && (threads || type >= mpi_io),
        "-j -2: transactions exist for multifiles of MPI tasks only (-T 0, -T 1)"}});
}

}  // namespace

int64_t Options::bytes_of(int64_t task, int64_t ntasks) const {
  const bool more = sizes.totalsize && task < *sizes.totalsize % ntasks;
  const int64_t bytes = min_bytes(ntasks) + (more ? 1 : 0);
  return bytes + static_cast<int64_t>(static_cast<double>(bytes) * sizes.factor * chance(task));
}

std::optional<Refusal> parse(const std::string& name, int argc, char** argv, Options& options) {
  const auto made = cli::new_app(
      "Bandwidth of parallel writing and reading: multifiles, MPI-IO and one file per task.", name);
  CLI::App& app = *made;
  app.footer(footer);
  if (name == "ompi_partest") options.tasks.threads = omp_get_max_threads();
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
  const bool threads = o.tasks.threads > 0;
  const int processes = threads ? ntasks / o.tasks.threads : ntasks;
  auto found =
      first_of({{o.numfiles > processes, "-n: " + std::to_string(o.numfiles) + " physical files for " +
                                             std::to_string(processes) + (threads ? " processes" : " tasks")},
                {o.tasks.serialized == 0, "-j: 0 tasks at a time would never end"},
                {o.tasks.serialized != -1 && (o.calls.collwrite || o.calls.collread),
                 "-j: tasks that wait for their turn cannot take part in collective calls (-M, -m)"}});
  for (const int type : o.testtypes)
    if (!found) found = contradiction_of_type(o, type);
  if (found) return found;
  return first_of({{o.sizes.chunksize == 0 && o.sizes.totalsize.value_or(o.sizes.localsize) > 0,
                    "-r: chunks of 0 bytes take no data"},
                   {o.write == 0 && o.read == 0, "nothing to do: -W 0 and -R 0"}});
}

std::vector<Parameter> parameters(const Options& o) {
  const auto text = [](auto number) { return std::to_string(number); };
  std::string types;
  for (const int type : o.testtypes) types += (types.empty() ? "" : ",") + text(type);
  return {
      {'f', "filename", o.filename},
      {'n', "numfiles", text(o.numfiles)},
      {'r', "chunksize", text(o.sizes.chunksize)},
      {'q', "fsblksize", text(o.sizes.fsblksize)},
      {'T', "testtype", types},
      {'b', "bufsize", text(o.sizes.bufsize)},
      {'g', "totalsize", text(o.sizes.totalsize.value_or(-1))},
      {'s', "localsize", text(o.sizes.localsize)},
      {'F', "factor", fmt::format("{}", o.sizes.factor)},
      {'R', "read", text(o.read)},
      {'W', "write", text(o.write)},
      {'v', "verbose", text(o.output.verbose)},
      {'C', "nochecksum", text(o.output.nochecksum)},
      {'d', "debugtask", text(o.output.debugtask)},
      {'D', "Debugtask", text(o.output.debuglast)},
      {'L', "posix", text(o.calls.posix)},
      {'M', "collwrite", text(o.calls.collwrite)},
      {'m', "collread", text(o.calls.collread)},
      {'c', "collmsa", text(o.calls.collmsa)},
      {'Z', "taskoffset", text(o.tasks.taskoffset)},
      {'O', "byteoffset", text(o.tasks.byteoffset)},
      {'j', "serialized", text(o.tasks.serialized)},
      {'X', "unlinkfiles", text(o.unlinkfiles)},
      {0, "bgionode", text(o.tasks.bgionode)},
      {0, "bgtaskperionode", text(o.tasks.tasks_per_file)},
      {0, "bgtasksort", text(o.tasks.bgtasksort)},
      {'w', "hintlargeblock", text(o.hints.largeblock)},
      {'Q', "hintiobufsize", text(o.hints.iobufsize)},
      {'x', "hintsparseaccess", text(o.hints.sparseaccess)},
      {0, "threads", text(o.tasks.threads)},
      {0, "iotasks", text(o.tasks.iotasks)},
  };
}

}  // namespace sheaf::partest
