// campaign_mpiio run DIR LEDGERS FIRST COUNT: runs cases of the campaign over MPI-IO, with the drop-in
// library in LD_PRELOAD. The programs write at random through two views that do not overlap, by independent,
// collective, blocking and nonblocking calls. This program is linked with the MPI alone. Its arguments and
// ledgers are as in campaign/process.cpp.
#include <mpi.h>

#include <cstring>

#include "campaign/region_cases.hpp"

namespace sheaf::test::campaign {
namespace {

constexpr int64_t file_size = 20'000;

struct FileProgram {
  int calls = 0;
  int piece = 1;  // bytes of one element of a task's view
  bool atomic = false, repeats = false;
  int64_t old = 0;  // bytes in the file before the program
  std::string collective, sieve;

  std::string describe() const {
    return std::to_string(calls) + " calls, pieces of " + std::to_string(piece) + " bytes" +
           (atomic ? ", atomic" : "") + (repeats ? ", failed calls are repeated" : ", failures are ignored");
  }
};

FileProgram draw(uint64_t seed) {
  Random random(seed * 104'729 + 11);
  FileProgram p;
  p.calls = 2 + static_cast<int>(random.below(8));
  p.piece = 1 + static_cast<int>(random.below(600));
  p.atomic = random.chance(5);
  p.repeats = random.chance(2);
  p.old = random.chance(2) ? 0 : random.below(file_size);
  p.collective = random.pick({"automatic", "enable", "disable"});
  p.sieve = random.pick({"automatic", "enable", "disable"});
  return p;
}

class FileTask {
 public:
  FileTask(const FileProgram& p, uint64_t seed, int rank, int tasks, const RegionLedger& ledger)
      : p_(p),
        rank_(rank),
        tasks_(tasks),
        ledger_(ledger),
        common_(seed),
        own_(seed * 31 + static_cast<uint64_t>(rank)) {}

  // Runs the program and returns whether the close succeeded.
  bool run(const std::string& path) {
    if (!open(path)) return false;
    if (p_.atomic) MPI_File_set_atomicity(file_, 1);
    for (int call = 0; call < p_.calls; ++call) {
      const bool together = common_.chance(2);
      write(together, common_.chance(2));
      if (common_.chance(3) && !any(!sync())) ledger_.commit();
    }
    const bool closed = close();
    MPI_Type_free(&type_);
    return closed;
  }

 private:
  static bool any(bool mine) {
    int all = mine;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return all != 0;
  }

  bool open(const std::string& path) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", p_.collective.c_str());
    MPI_Info_set(info, "romio_ds_write", p_.sieve.c_str());
    const int code = [&] {
      const InLibrary call;
      return MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file_);
    }();
    MPI_Info_free(&info);
    if (any(code != MPI_SUCCESS)) return false;
    MPI_Datatype piece;
    MPI_Type_contiguous(p_.piece, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, static_cast<MPI_Aint>(p_.piece) * tasks_, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&piece);
    char native[] = "native";
    const int viewed = [&] {
      const InLibrary call;
      return MPI_File_set_view(file_, static_cast<MPI_Offset>(p_.piece) * rank_, MPI_BYTE, type_, native,
                               MPI_INFO_NULL);
    }();
    if (!any(viewed != MPI_SUCCESS)) return true;
    close();
    return false;
  }
  bool sync() {
    const InLibrary call;
    return MPI_File_sync(file_) == MPI_SUCCESS;
  }
  bool close() {
    const InLibrary call;
    return MPI_File_close(&file_) == MPI_SUCCESS;
  }

  void note(RegionRecord::EntryKind kind, int64_t position, const std::string& data) const {
    for (size_t done = 0; done < data.size();) {
      const int64_t at = position + static_cast<int64_t>(done);
      const int64_t offset =
          static_cast<int64_t>(p_.piece) * (at / p_.piece * tasks_ + rank_) + at % p_.piece;
      const size_t part = std::min(data.size() - done, static_cast<size_t>(p_.piece - at % p_.piece));
      ledger_.note(kind, offset, data.data() + done, part);
      done += part;
    }
  }

  bool once(bool together, bool nonblocking, int64_t position, const std::string& data) {
    const InLibrary inside;
    const int count = static_cast<int>(data.size());
    if (!nonblocking) {
      const auto call = together ? MPI_File_write_at_all : MPI_File_write_at;
      return call(file_, position, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const auto call = together ? MPI_File_iwrite_at_all : MPI_File_iwrite_at;
    const bool begun = call(file_, position, data.data(), count, MPI_BYTE, &request) == MPI_SUCCESS;
    return MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && begun;
  }

  void write(bool together, bool nonblocking) {
    const int64_t room = (file_size - p_.piece * tasks_) / (p_.piece * tasks_) * p_.piece;
    const int64_t position = own_.below(std::max<int64_t>(1, room / 2));
    std::string data(static_cast<size_t>(own_.below(std::max<int64_t>(1, room / 2))), ' ');
    for (char& c : data) c = static_cast<char>(1 + own_.below(255));
    note(RegionRecord::attempted, position, data);
    for (int tries = 1;; ++tries) {
      const bool mine = !once(together, nonblocking, position, data);
      const bool failed = together ? any(mine) : mine;
      if (!failed) return note(RegionRecord::accepted, position, data);
      if (p_.repeats && tries < 4) continue;
      if (mine) note(RegionRecord::lacked, position, data);
      return;
    }
  }

  const FileProgram& p_;
  const int rank_, tasks_;
  const RegionLedger& ledger_;
  Random common_, own_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

RegionCase make_case(uint64_t seed, int rank, int tasks) {
  const FileProgram p = draw(seed);
  return {.facts = {.size = file_size, .text = p.describe()},
          .old = p.old,
          .body = [=](const std::string& path, const RegionLedger& ledger) {
            return FileTask(p, seed, rank, tasks, ledger).run(path);
          }};
}

}  // namespace
}  // namespace sheaf::test::campaign

int main(int argc, char** argv) {
  using namespace sheaf::test::campaign;
  if (argc != 6 || std::strcmp(argv[1], "run") != 0) return 2;
  MPI_Init(nullptr, nullptr);
  const int code = run_region_cases(argv + 2, make_case);
  MPI_Finalize();
  return code;
}
