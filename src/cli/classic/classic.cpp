#include "cli/classic/classic.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>

#include "base/parse.hpp"
#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "storage/store.hpp"

namespace sheaf::cli {

namespace {

struct Tool {
  const char* letters;
  size_t files;
  const char* usage;  // behind the name
};

constexpr Tool dump_tool = {"amMlkKSvVh", 1,
                            "[-a] [-m] [-M] [-l] [-k] [-K] [-S] [-v] [-V] [-h] FILE\n"
                            "  -a  table of blocks per task\n"
                            "  -l  table in bytes instead of MB\n"
                            "  -m  mapping as a list (sets of several files)\n"
                            "  -M  mapping per file (sets of several files)\n"
                            "  -k  key-value statistics per task\n"
                            "  -K  key-value records per task\n"
                            "  -S  size of internal structures\n"};
constexpr Tool split_tool = {"vgd:Vh", 2,
                             "[-v] [-g] [-d N] [-V] [-h] FILE PREFIX\n"
                             "  -g    number the outputs by global rank\n"
                             "  -d N  digits of the number (5)\n"};
constexpr Tool defrag_tool = {"q:Q:n:vVh", 2,
                              "[-q BYTES] [-Q MB] [-n N] [-v] [-V] [-h] IN OUT\n"
                              "  -q BYTES  block size of the new file; 1: no gaps\n"
                              "  -Q MB     the same in MB\n"
                              "  -n N      number of physical files: only 1\n"};
constexpr Tool cat_tool = {"vt:b:o:Vh", 1,
                           "[-v] [-t TASK] [-b BLOCK] [-o OUTFILE] [-V] [-h] FILE\n"
                           "  -t TASK     only this task\n"
                           "  -b BLOCK    only this block of each task\n"
                           "  -o OUTFILE  write there instead of to standard output\n"
                           "  -v          information on standard error\n"};

int run_dump(const ClassicArguments& a) {
  DumpOptions o;
  o.path = a.files[0];
  o.blocks = a.has('a');
  o.bytes = a.has('l');
  o.mapping = a.has('m');
  o.mapping_by_file = a.has('M');
  o.keys = a.has('k');
  o.records = a.has('K');
  o.internals = a.has('S');
  return dump(o);
}

int run_split(const ClassicArguments& a) {
  SplitOptions o;
  o.path = a.files[0];
  o.request.prefix = a.files[1];
  o.request.digits = static_cast<int>(a.number('d', 5, 1, 200));
  o.request.global_ranks = a.has('g');
  o.request.replace = true;
  return classic_split(o);
}

int run_defrag(const ClassicArguments& a) {
  if (a.number('n', 1, INT_MIN, INT_MAX) > 1)
    throw Error(Code::invalid_argument, "-n: the result is always one physical file");
  DefragOptions o;
  o.path = a.files[0];
  o.request.output = a.files[1];
  o.request.fsblksize = static_cast<int32_t>(a.number('q', 0, -1, INT32_MAX));
  if (a.has('Q'))
    o.request.fsblksize = static_cast<int32_t>(a.number('Q', 0, -1, INT32_MAX >> 20) * (1 << 20));
  o.request.replace = true;
  return classic_defrag(o, a.has('v'));
}

int run_cat(const ClassicArguments& a) {
  CatOptions o;
  o.path = a.files[0];
  if (a.has('t')) o.task = a.number('t', 0, INT64_MIN, INT64_MAX);
  if (a.has('b')) o.block = a.number('b', 0, INT64_MIN, INT64_MAX);
  if (a.has('o')) o.output = a.options.at('o');
  if (!o.output.empty() && posix_store().status(o.output).is_special) {
    // A pipe or device is written to, not replaced.
    if (!std::freopen(o.output.c_str(), "w", stdout)) throw os_error("cannot open", o.output, errno);
    o.output.clear();
  }
  o.replace = true;
  o.verbose = a.has('v');
  return cat(o);
}

}  // namespace

int64_t ClassicArguments::number(char option, int64_t otherwise, int64_t least, int64_t most) const {
  const auto found = options.find(option);
  if (found == options.end()) return otherwise;
  const std::string& text = found->second;
  const auto value = parse_number(text);
  if (!value || *value < least || *value > most)
    throw Error(Code::invalid_argument,
                std::string("-") + option + ": '" + text + "' is not a number that is possible here");
  return *value;
}

ClassicArguments parse_classic(int argc, char** argv, std::string_view letters, size_t files) {
  ClassicArguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--force") {
      // What it asks for, the classic tools do anyway.
    } else if (argument.size() == 2 && argument[0] == '-') {
      const size_t at = argument[1] == ':' ? std::string_view::npos : letters.find(argument[1]);
      if (at == std::string_view::npos) return a;
      const bool takes_value = at + 1 < letters.size() && letters[at + 1] == ':';
      if (takes_value && i + 1 == argc) return a;
      a.options[argument[1]] = takes_value ? argv[++i] : "";
    } else if (argument.size() > 1 && argument[0] == '-') {
      return a;
    } else {
      a.files.emplace_back(argument);
    }
  }
  a.good = a.files.size() == files;
  return a;
}

std::optional<int> run_classic(const std::string& name, int argc, char** argv) {
  if (name == "sionversion") {
    std::printf("SIONlib Version 1.7.6 (git_rev sheaf-%s), fileformat version %d (%s)\n", SHEAF_VERSION,
                format::newest_version, printable(argv[0]).c_str());
    return 0;
  }
  const Tool* tool = name == "siondump"     ? &dump_tool
                     : name == "sionsplit"  ? &split_tool
                     : name == "siondefrag" ? &defrag_tool
                     : name == "sioncat"    ? &cat_tool
                                            : nullptr;
  if (!tool) return std::nullopt;
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
  if (tool == &dump_tool) return run_dump(arguments);
  if (tool == &split_tool) return run_split(arguments);
  if (tool == &defrag_tool) return run_defrag(arguments);
  return run_cat(arguments);
}

}  // namespace sheaf::cli
