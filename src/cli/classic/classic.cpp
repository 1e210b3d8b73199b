// cli/classic/classic: parses the command lines of the classic tools and runs the tools.
#include "cli/classic/classic.hpp"

#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse.hpp"
#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "storage/store.hpp"

namespace sheaf::cli {

namespace {

// Parsed arguments. Options are single letters at any position; the remaining arguments are file names.
struct ClassicArguments {
  bool good = false;                    // all options are known, and the number of files is right
  std::map<char, std::string> options;  // values of the options; "" for options without a value
  std::vector<std::string> files;

  bool has(char option) const { return options.contains(option); }
  // Returns the value of an option as a number, or `otherwise` if the option was not given. Throws
  // `invalid_argument` if the value is no number, or is outside [least, most].
  int64_t number(char option, int64_t otherwise, int64_t least, int64_t most) const {
    const auto found = options.find(option);
    if (found == options.end()) return otherwise;
    const std::string& text = found->second;
    const auto value = parse_number(text);
    if (!value || *value < least || *value > most)
      throw Error(Code::invalid_argument,
                  std::string("-") + option + ": '" + text + "' is not a number that is possible here");
    return *value;
  }
};

// Parses the command line of a classic tool. `letters`: the known options in the notation of getopt(3).
// `files`: the number of file names that the tool requires.
ClassicArguments parse_classic(int argc, char** argv, const char* letters, size_t files) {
  // --force is accepted and ignored: the classic tools always overwrite.
  static constexpr option words[] = {{"force", no_argument, nullptr, 0}, {}};
  ClassicArguments a;
  opterr = 0;
  for (int letter = 0; (letter = getopt_long(argc, argv, letters, words, nullptr)) != -1;) {
    if (letter == '?') return a;
    if (letter != 0) a.options[static_cast<char>(letter)] = optarg ? optarg : "";
  }
  a.files.assign(argv + optind, argv + argc);
  a.good = a.files.size() == files;
  return a;
}

int run_dump(const ClassicArguments& a) {
  return dump({.path = a.files[0],
               .blocks = a.has('a'),
               .bytes = a.has('l'),
               .mapping = a.has('m'),
               .mapping_by_file = a.has('M'),
               .keys = a.has('k'),
               .records = a.has('K'),
               .internals = a.has('S')});
}

int run_split(const ClassicArguments& a) {
  return classic_split({.path = a.files[0],
                        .request = {.prefix = a.files[1],
                                    .digits = static_cast<int>(a.number('d', 5, 1, 200)),
                                    .global_ranks = a.has('g'),
                                    .replace = true}});
}

int run_defrag(const ClassicArguments& a) {
  const int64_t bytes = a.number('q', 0, -1, INT32_MAX);
  const int64_t megabytes = a.number('Q', 0, -1, INT32_MAX >> 20);
  const auto fsblksize = static_cast<int32_t>(a.has('Q') ? megabytes * (1 << 20) : bytes);
  return classic_defrag(
      {.path = a.files[0],
       .request = {.output = a.files[1],
                   .fsblksize = fsblksize,
                   .replace = true,
                   .nfiles = static_cast<int32_t>(std::max<int64_t>(a.number('n', 1, INT_MIN, INT_MAX), 1))}},
      a.has('v'));
}

int run_cat(const ClassicArguments& a) {
  CatOptions o{.path = a.files[0], .replace = true, .verbose = a.has('v')};
  if (a.has('t')) o.task = a.number('t', 0, INT64_MIN, INT64_MAX);
  if (a.has('b')) o.block = a.number('b', 0, INT64_MIN, INT64_MAX);
  if (a.has('o')) o.output = a.options.at('o');
  if (!o.output.empty() && posix_store().status(o.output).is_special) {
    // Write to a pipe or device instead of replacing it.
    if (!std::freopen(o.output.c_str(), "w", stdout)) throw os_error("cannot open", o.output, errno);
    o.output.clear();
  }
  return cat(o);
}

struct Tool {
  std::string_view name;
  int (*run)(const ClassicArguments&);
  const char* letters;  // in the notation of getopt(3)
  size_t files;
  const char* usage;  // without the name
};

constexpr Tool tools[] = {{"siondump", run_dump, "amMlkKSvVh", 1,
                           "[-a] [-m] [-M] [-l] [-k] [-K] [-S] [-v] [-V] [-h] FILE\n"
                           "  -a  table of blocks per task\n"
                           "  -l  table in bytes instead of MB\n"
                           "  -m  mapping as a list (sets of several files)\n"
                           "  -M  mapping per file (sets of several files)\n"
                           "  -k  key-value statistics per task\n"
                           "  -K  key-value records per task\n"
                           "  -S  size of internal structures\n"},
                          {"sionsplit", run_split, "vgd:Vh", 2,
                           "[-v] [-g] [-d N] [-V] [-h] FILE PREFIX\n"
                           "  -g    number the outputs by global rank\n"
                           "  -d N  digits of the number (5)\n"},
                          {"siondefrag", run_defrag, "q:Q:n:vVh", 2,
                           "[-q BYTES] [-Q MB] [-n N] [-v] [-V] [-h] IN OUT\n"
                           "  -q BYTES  block size of the new file; 1: no gaps\n"
                           "  -Q MB     the same in MB\n"
                           "  -n N      number of physical files of the new multifile (1)\n"},
                          {"sioncat", run_cat, "vt:b:o:Vh", 1,
                           "[-v] [-t TASK] [-b BLOCK] [-o OUTFILE] [-V] [-h] FILE\n"
                           "  -t TASK     only this task\n"
                           "  -b BLOCK    only this block of each task\n"
                           "  -o OUTFILE  write there instead of to standard output\n"
                           "  -v          information on standard error\n"}};

}  // namespace

std::optional<int> run_classic(const std::string& name, int argc, char** argv) {
  if (name == "sionversion") {
    std::printf("SIONlib Version 1.7.6 (git_rev sheaf-%s), fileformat version %d (%s)\n", SHEAF_VERSION,
                format::newest_version, printable(argv[0]).c_str());
    return 0;
  }
  const auto* const tool = std::ranges::find(tools, name, &Tool::name);
  if (tool == std::end(tools)) return std::nullopt;
  const ClassicArguments arguments = parse_classic(argc, argv, tool->letters, tool->files);
  if (arguments.has('V') && !arguments.has('h')) {
    std::fprintf(stderr, "SIONlib utility %s (Version 1.7p6, fileformat version %d)\n",
                 printable(argv[0]).c_str(), format::newest_version);
    return 1;
  }
  if (!arguments.good || arguments.has('h')) {
    std::fprintf(stderr, "usage: %s %s", printable(argv[0]).c_str(), tool->usage);
    return 1;
  }
  return tool->run(arguments);
}

}  // namespace sheaf::cli
