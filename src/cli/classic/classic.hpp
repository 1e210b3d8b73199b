// cli/classic/classic: command lines of the classic tools. Options are single letters, anywhere; what is left
// are the file names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"

namespace sheaf::cli {

struct ClassicArguments {
  bool good = false;                    // no unknown option, as many file names as the tool takes
  std::map<char, std::string> options;  // with their values, "" where they have none
  std::vector<std::string> files;

  bool has(char option) const { return options.contains(option); }
  // The value of an option as a number, `otherwise` if it was not given. Throws
  // invalid_argument if it is none, or outside least..most.
  int64_t number(char option, int64_t otherwise, int64_t least, int64_t most) const;
};

// `letters` are the options there are, as getopt(3) has them.
ClassicArguments parse_classic(int argc, char** argv, const char* letters, size_t files);

// sionsplit and siondefrag, which print what they do.
int classic_split(const SplitOptions& options);
int classic_defrag(const DefragOptions& options, bool verbose);

}  // namespace sheaf::cli
