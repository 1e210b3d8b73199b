// campaign_sfio run DIR LEDGERS FIRST COUNT: runs cases of the campaign over striped files (sfio.h). Every
// task runs an I/O listener with a failing disk in a thread. Each task writes to its own part of the file by
// all calls that write. Arguments and ledgers are as in campaign/process.cpp.
#include <cstring>

#include "campaign/region_cases.hpp"
#include "sfio.h"
#include "sheaf.h"

namespace sheaf::test::campaign {
namespace {

constexpr int64_t file_size = 12'000;

struct SfioProgram {
  int calls = 1, unit = 1;
  bool repeats = false;
};

SfioProgram draw(uint64_t seed) {
  Random random(seed * 911 + 7);
  SfioProgram p;
  p.calls = 2 + static_cast<int>(random.below(8));
  p.unit = 1 + static_cast<int>(random.below(500));
  p.repeats = random.chance(2);
  return p;
}

bool any(bool mine) {
  int all = mine;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LOR, sfio_comm());
  return all != 0;
}

class StripedTask {
 public:
  StripedTask(const SfioProgram& p, uint64_t seed, int rank, int tasks, const RegionLedger& ledger)
      : p_(p),
        part_(file_size / tasks),
        begin_(part_ * rank),
        ledger_(ledger),
        common_(seed),
        own_(seed * 57 + static_cast<uint64_t>(rank)) {}

  bool run(const std::string& path) {
    std::string name;
    for (int l = 0; l < sfio_listeners(); ++l)
      name += std::string(sfio_listener_name(l)) + "," + path + "." + std::to_string(l) + ";";
    file_ = [&] {
      const InLibrary call;
      return sfio_mopen(name.c_str(), p_.unit);
    }();
    if (!file_) return false;
    for (int call = 0; call < p_.calls; ++call) write(common_.below(6));
    const InLibrary call;
    return sfio_mclose(file_) == 0;
  }

 private:
  struct SfioBlock {
    int64_t offset;
    std::string text;
  };

  std::vector<SfioBlock> draw_blocks(bool several) {
    std::vector<SfioBlock> blocks;
    for (int64_t at = own_.below(100); at < part_ && blocks.size() < (several ? 20 : 1);
         at += 1 + own_.below(300)) {
      const int64_t length = 1 + own_.below(std::min<int64_t>(part_ - at, several ? 250 : 2000));
      blocks.push_back(
          {begin_ + at, std::string(static_cast<size_t>(length), static_cast<char>('a' + own_.below(26)))});
      at += length;
    }
    return blocks;
  }

  // Makes one call of the kind `how`. Returns whether the call succeeded.
  bool once(int64_t how, const std::vector<SfioBlock>& blocks) {
    const SfioBlock& first = blocks.front();
    std::vector<int64_t> offsets;
    std::vector<const void*> buffers;
    std::vector<size_t> sizes;
    for (const SfioBlock& b : blocks) {
      offsets.push_back(b.offset);
      buffers.push_back(b.text.data());
      sizes.push_back(b.text.size());
    }
    const auto number = static_cast<unsigned>(blocks.size());
    sfio_request* request = nullptr;
    const InLibrary inside;
    switch (how) {
      case 0:
        return sfio_mwrite(file_, first.offset, first.text.data(), first.text.size()) >= 0;
      case 1:
        return sfio_mwritec(file_, first.offset, first.text.data(), first.text.size()) >= 0;
      case 2:
        return sfio_mwriteb(file_, number, offsets.data(), buffers.data(), sizes.data()) >= 0;
      case 3:
        return sfio_mwriteb_all(file_, number, offsets.data(), buffers.data(), sizes.data()) >= 0;
      case 4:
        return sfio_mwritec_all(file_, first.offset, first.text.data(), first.text.size()) >= 0;
      default:
        return sfio_iwriteb(file_, number, offsets.data(), buffers.data(), sizes.data(), &request) == 0 &&
               sfio_wait(&request) >= 0;
    }
  }

  void note(RegionRecord::EntryKind kind, const std::vector<SfioBlock>& blocks) const {
    for (const SfioBlock& b : blocks) ledger_.note(kind, b.offset, b.text.data(), b.text.size());
  }

  void write(int64_t how) {
    const auto blocks = draw_blocks(how == 2 || how == 3 || how == 5);
    const bool together = how == 3 || how == 4;
    note(RegionRecord::attempted, blocks);
    for (int tries = 1;; ++tries) {
      const bool mine = !once(how, blocks);
      if (!(together ? any(mine) : mine)) return note(RegionRecord::accepted, blocks);
      if (p_.repeats && tries < 4) continue;
      if (mine) note(RegionRecord::lacked, blocks);
      return;
    }
  }

  const SfioProgram& p_;
  const int64_t part_, begin_;
  const RegionLedger& ledger_;
  Random common_, own_;
  MFILE* file_ = nullptr;
};

RegionCase make_case(uint64_t seed, int rank, int tasks) {
  const SfioProgram p = draw(seed);
  return {
      .facts = {.size = file_size,
                .unit = p.unit,
                .subfiles = sfio_listeners(),
                .text = std::to_string(p.calls) + " calls, stripes of " + std::to_string(p.unit) + " bytes" +
                        (p.repeats ? ", failed calls are repeated" : ", failures are ignored")},
      .body = [=](const std::string& path, const RegionLedger& ledger) {
        return StripedTask(p, seed, rank, tasks, ledger).run(path);
      }};
}

}  // namespace
}  // namespace sheaf::test::campaign

int main(int argc, char** argv) {
  using namespace sheaf::test::campaign;
  if (argc != 6 || std::strcmp(argv[1], "run") != 0) return 2;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  sheaf_print_errors(0);
  int code = 2;
  if (sfio_start(MPI_COMM_WORLD, "thread", nullptr) == 0) {
    code = run_region_cases(argv + 2, make_case);
    sfio_stop();
  }
  MPI_Finalize();
  return code;
}
