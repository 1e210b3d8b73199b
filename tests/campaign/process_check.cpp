// campaign_check: checks the results of COUNT campaign programs (campaign/process.cpp) from seed FIRST on.
//
//   campaign_check check DIR LEDGERS FIRST COUNT    multifiles, against their ledgers
//   campaign_check regions DIR LEDGERS FIRST COUNT  files of programs with ledgers of regions
//   campaign_check images DIR LEDGERS FIRST COUNT   multifiles after a loss of power
//   campaign_check second PATH                      opens PATH for writing as a second job
//
// `check` and `regions` print a line for each case: SEED right, SEED absent, or SEED and the violation.
// `images` prints violations only. The exit code is 1 if there is a violation; for `second`, 0 if the open is
// refused and 1 if it succeeds.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "campaign/process_ledger.hpp"
#include "campaign/region_check.hpp"
#include "sheaf.h"
#include "sion.h"

namespace sheaf::test::campaign {
namespace {

int check(bool (*check_one)(const std::string& ledgers, const std::string& name), char** words) {
  const std::string directory = words[0], ledgers = words[1];
  const uint64_t first = std::strtoull(words[2], nullptr, 10);
  const uint64_t count = std::strtoull(words[3], nullptr, 10);
  int code = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string name = std::to_string(seed);
    std::string said = "right";
    try {
      const bool undisturbed =
          check_one(ledgers + "/" + name + ".undisturbed", directory + "/" + name + "/undisturbed/multifile");
      const bool disturbed = check_one(ledgers + "/" + name, directory + "/" + name + "/disturbed/multifile");
      if (disturbed && !undisturbed) throw std::runtime_error("the undisturbed program did not begin");
      if (undisturbed && !disturbed) throw std::runtime_error("the program ended between its two runs");
      if (!disturbed) said = "absent";
    } catch (const std::exception& e) {
      said = e.what();
      code = 1;
    }
    std::printf("%s %s\n", name.c_str(), said.c_str());
  }
  return code;
}

int check_images(char** words) {
  int code = 0;
  const uint64_t first = std::strtoull(words[2], nullptr, 10);
  for (uint64_t seed = first; seed < first + std::strtoull(words[3], nullptr, 10); ++seed) {
    const std::string name = std::to_string(seed);
    try {
      check_image(std::string(words[1]) + "/" + name, std::string(words[0]) + "/" + name + "/multifile");
    } catch (const std::exception& e) {
      std::printf("%s %s\n", name.c_str(), e.what());
      code = 1;
    }
  }
  return code;
}

int second_job(char* path) {
  int ntasks = 1, files = 1, rank = 0, *ranks = &rank;
  sion_int32 block = 512;
  sion_int64 chunk = 100, *chunks = &chunk;
  const int sid = sion_open(path, "wb", &ntasks, &files, &chunks, &block, &ranks, nullptr);
  if (sid < 0) return 0;
  sion_fwrite("of the second job", 1, 17, sid);
  sion_close(sid);
  return 1;
}

}  // namespace
}  // namespace sheaf::test::campaign

int main(int argc, char** argv) {
  using namespace sheaf::test::campaign;
  sheaf_print_errors(0);
  if (argc == 6 && std::strcmp(argv[1], "check") == 0) return check(check_case, argv + 2);
  if (argc == 6 && std::strcmp(argv[1], "regions") == 0) return check(check_regions, argv + 2);
  if (argc == 6 && std::strcmp(argv[1], "images") == 0) return check_images(argv + 2);
  if (argc == 3 && std::strcmp(argv[1], "second") == 0) return second_job(argv[2]);
  std::fputs("campaign_check: check, regions or images DIR LEDGERS FIRST COUNT, or second PATH\n", stderr);
  return 2;
}
