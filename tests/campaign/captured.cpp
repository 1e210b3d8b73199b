// campaign_captured TURN DIR LEDGERS SEED: runs a case of the campaign over captured files (sheaf run
// --capture 'cap.*:set.sion' in DIR/SEED/TURN). The program calls only open, write, pwrite, fsync and close,
// and is linked without Sheaf. TURN is "undisturbed" or "disturbed". The undisturbed run writes the number of
// its calls to LEDGERS/SEED.calls.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "campaign/process_injection.hpp"
#include "campaign/region_ledger.hpp"

namespace sheaf::test::campaign {
namespace {

constexpr int files = 3;
constexpr int64_t file_size = 100'000;

class CapturedFile {
 public:
  CapturedFile(int number, const std::string& ledger, const RegionFacts& facts)
      : name_("cap." + std::to_string(number)), ledger_(ledger + "." + std::to_string(number), facts) {
    fd_ = ::open(name_.c_str(), O_RDWR | O_CREAT, 0644);
  }

  void write(Random& random, bool repeats) {
    if (fd_ < 0) return;
    const int64_t room = file_size - end_;
    const bool again = end_ > 0 && random.chance(4);  // overwrites existing bytes
    const int64_t at = again ? random.below(end_) : end_;
    std::string data(
        static_cast<size_t>(1 + random.below(std::min<int64_t>(random.chance(4) ? 30'000 : 900, room))), ' ');
    for (char& c : data) c = static_cast<char>(1 + random.below(255));
    ledger_.note(RegionRecord::attempted, at, data.data(), data.size());
    size_t done = 0;
    for (int tries = 1; done < data.size();) {
      const ssize_t moved =
          ::pwrite(fd_, data.data() + done, data.size() - done, at + static_cast<int64_t>(done));
      if (moved > 0) {
        ledger_.note(RegionRecord::accepted, at + static_cast<int64_t>(done), data.data() + done,
                     static_cast<size_t>(moved));
        done += static_cast<size_t>(moved);
      } else if (!repeats || ++tries > 4) {
        ledger_.note(RegionRecord::lacked, at + static_cast<int64_t>(done), data.data() + done,
                     data.size() - done);
        break;
      }
    }
    end_ = std::max(end_, at + static_cast<int64_t>(done));
  }
  void sync() const {
    if (fd_ >= 0 && ::fsync(fd_) == 0) ledger_.commit();
  }
  void close() const { ledger_.end(fd_ >= 0 && ::close(fd_) == 0); }

 private:
  const std::string name_;
  const RegionLedger ledger_;
  int fd_ = -1;
  int64_t end_ = 0;
};

// Draws the failure of a case. Draws no second job, and no failing allocations, because the program does not
// mark its calls of the library.
ProcessInjection draw_injection(uint64_t seed) {
  for (uint64_t draw = seed;; draw += 1'000'000'007) {
    const ProcessInjection drawn = draw_process_injection(draw);
    if (!drawn.needs_memory() && drawn.failure != ProcessFailure::second_job) return drawn;
  }
}

int run(const std::string& turn, const std::string& directory, const std::string& ledgers,
        const std::string& name) {
  const uint64_t seed = std::strtoull(name.c_str(), nullptr, 10);
  const FailingCalls failing;
  if (!failing.loaded()) return 2;
  const bool is_undisturbed = turn == "undisturbed";
  const ProcessInjection injection = draw_injection(seed);
  RegionFacts facts{.tasks = files, .size = file_size, .own_files = true};
  facts.may_die = !is_undisturbed && injection.may_die(1);
  facts.must_succeed = is_undisturbed || injection.must_succeed();
  facts.text = is_undisturbed ? turn : injection.describe();
  const std::string prefix = directory + "/" + name + "/" + turn + "/set.sion";
  const std::string count = ledgers + "/" + name + ".calls";
  UndisturbedCounts counted;
  if (is_undisturbed) {
    failing.count(prefix);
  } else {
    std::ifstream(count) >> counted.calls;
    failing.inject(injection, prefix, 0, 1, counted);
  }
  Random random(seed * 77 + 1);
  const bool repeats = random.chance(2);
  std::vector<std::unique_ptr<CapturedFile>> opened;
  for (int f = 0; f < files; ++f)
    opened.push_back(std::make_unique<CapturedFile>(
        f, ledgers + "/" + name + (is_undisturbed ? ".undisturbed" : ""), facts));
  for (int64_t calls = 5 + random.below(20); calls > 0; --calls) {
    CapturedFile& file = *opened[static_cast<size_t>(random.below(files))];
    file.write(random, repeats);
    if (random.chance(4)) file.sync();
  }
  for (const auto& file : opened) file->close();
  counted = failing.stop();
  if (is_undisturbed) std::ofstream(count) << counted.calls;
  return 0;
}

}  // namespace
}  // namespace sheaf::test::campaign

int main(int argc, char** argv) {
  return argc == 5 ? sheaf::test::campaign::run(argv[1], argv[2], argv[3], argv[4]) : 2;
}
