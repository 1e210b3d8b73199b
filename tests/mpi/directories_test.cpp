// Each task changes to its own directory while multifiles are open. In every way of writing and reading, all
// calls must use the opened files. No other file may be read, changed or left over.
#include <unistd.h>

#include <algorithm>

#include "sion_mpi_case.hpp"
#include "support/current_directory.hpp"

namespace {

using namespace sheaf::test;

constexpr sion_int64 bytes = 3000;

// The directory in which the multifiles are opened, and this task's own directory, which has files with all
// names that the library uses.
struct PlantedDirectories : TwoDirectories {
  PlantedDirectories() : TwoDirectories(path("")) {
    MPI_Barrier(MPI_COMM_WORLD);
    own = directory + "/own" + std::to_string(me);
    std::filesystem::create_directories(own);
    for (const std::string base : {"a", "a_BUDDY_00", "a.000001"})
      for (const char* suffix : {"", ".journal", ".000001", ".part"})
        std::ofstream(own + "/" + base + suffix) << "precious";
    planted = contents(own);
  }
  void go_own() const { std::filesystem::current_path(own); }
  void expect_untouched(const std::string& mode) const {
    require(contents(own) == planted, mode + ": files of the own directory");
    require(contents(elsewhere).empty(), mode + ": nothing elsewhere");
  }
  void expect_names(const std::string& mode, const std::vector<std::string>& names) const {
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<std::string> found;
    for (const auto& [name, data] : contents(here)) found.push_back(name);
    require(found == names, mode + ": names");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Removes the files in `here` after all tasks have checked them.
  void empty() const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
      for (const auto& entry : std::filesystem::directory_iterator(here)) std::filesystem::remove(entry);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::string own;
  std::map<std::string, std::string> planted;
};

int open_a(const char* mode, int files) {
  ParallelOpenCall open;
  open.file = "a";
  open.mode = mode;
  open.files = files;
  open.chunk = 1000;
  const int sid = open();
  require(sid >= 0, std::string(mode) + ": open");
  return sid;
}

void put(int sid, sion_int64 from, sion_int64 count, bool together = false) {
  const auto data = content(me, from, count);
  const auto n = static_cast<size_t>(count);
  require((together ? sion_coll_fwrite(data.data(), 1, n, sid) : sion_fwrite(data.data(), 1, n, sid)) == n,
          "write");
}

void expect_content(int sid, bool together = false) {
  std::vector<std::byte> found(static_cast<size_t>(bytes));
  require((together ? sion_coll_fread(found.data(), 1, found.size(), sid)
                    : sion_fread(found.data(), 1, found.size(), sid)) == found.size(),
          "read");
  require(found == content(me, 0, bytes), "bytes read");
}

void writing_and_reading() {
  const PlantedDirectories places;
  const bool sets = size > 1;
  for (const std::string mode :
       {"wb", "wb,durable", "wb,atomic", "wb,journal=off", "wb,iotasks=1", "wb,compress=lz4",
        "wb,collective,collsize=2", "wb,collective,collsize=2,durable", "wb,collective,cmerge"})
    for (int files = 1; files <= 1 + sets; ++files) {
      places.go_here();
      const bool together = mode.find("collective") != mode.npos;
      const bool merges = mode.find("cmerge") != mode.npos;
      const int sid = open_a(mode.c_str(), files);
      places.go_own();
      put(sid, 0, 900, together);
      if (!merges) put(sid, 900, 50);
      if (!merges) require(sion_flush(sid) == 1, mode + ": flush");
      put(sid, merges ? 900 : 950, bytes - (merges ? 900 : 950), together);
      sheaf::test::close(sid);
      places.go_here();
      places.expect_untouched(mode);
      places.expect_names(
          mode, files > 1 ? std::vector<std::string>{"a", "a.000001"} : std::vector<std::string>{"a"});
      if (!merges) {
        for (const char* reading : {"rb", "rb,collective,collsize=2"}) {
          places.go_here();
          const int back = open_a(reading, 1);
          places.go_own();
          expect_content(back, std::strlen(reading) > 2);
          sheaf::test::close(back);
        }
        places.expect_untouched(mode);
      }
      places.go_here();
      places.empty();
    }
}

void streams_of_programs_and_duplicates() {
  const PlantedDirectories places;
  for (const std::string mode : {"wb", "wb,collective,collsize=2"}) {
    places.go_here();
    const int sid = open_a(mode.c_str(), 1);
    places.go_own();
    put(sid, 0, 100);
    const auto data = content(me, 100, 200);
    FILE* stream = sion_get_fp(sid);
    require(stream && std::fwrite(data.data(), 1, 200, stream) == 200, "fwrite");
    put(sid, 300, 100);
    sheaf::test::close(sid);
    places.go_here();
    for (const std::string reading : {"rb", "rb,collective,collsize=2"}) {
      const int back = open_a(reading.c_str(), 1);
      places.go_own();
      const int copy = sion_dup(back, SION_DUP_ALL, 0, 0);
      require(copy >= 0, "dup");
      for (const int handle : {back, copy}) {
        std::vector<std::byte> found(400);
        stream = sion_get_fp(handle);
        require(stream && std::fread(found.data(), 1, 400, stream) == 400 && found == content(me, 0, 400),
                reading + ": fread");
      }
      require(sion_dedup(copy) == 1, "dedup");
      sheaf::test::close(back);
      places.go_here();
    }
    places.expect_untouched(mode);
    places.empty();
  }
}

void appending() {
  const PlantedDirectories places;
  places.go_here();
  int sid = open_a("wb", 1);
  put(sid, 0, 500);
  sheaf::test::close(sid);
  sid = open_a("append", 1);
  places.go_own();
  put(sid, 500, 1500);
  require(sion_flush(sid) == 1, "flush");
  put(sid, 2000, bytes - 2000);
  sheaf::test::close(sid);
  places.go_here();
  const int back = open_a("rb", 1);
  places.go_own();
  expect_content(back);
  sheaf::test::close(back);
  places.go_here();
  places.expect_untouched("append");
  places.expect_names("append", {"a"});
}

void mapped() {
  const PlantedDirectories places;
  const auto open = [](const char* mode, FILE** stream) {
    int files = 1;
    int count = 1;
    int rank = me;
    int number = 0;
    int local_rank = me;
    sion_int64 chunk = 1000;
    sion_int32 block = 64;
    int *ranks = &rank, *numbers = &number, *lranks = &local_rank;
    sion_int64* chunks = &chunk;
    std::string name = "a";
    return sion_paropen_mapped_mpi(name.data(), mode, &files, MPI_COMM_WORLD, &count, &ranks, &chunks,
                                   &numbers, &lranks, &block, stream);
  };
  for (const char* mode : {"wb", "wb,atomic"}) {
    places.go_here();
    const int sid = open(mode, nullptr);
    require(sid >= 0, "open");
    places.go_own();
    put(sid, 0, 1500);
    require(sion_flush(sid) == 1, "flush");
    put(sid, 1500, bytes - 1500);
    require(sion_parclose_mapped_mpi(sid) == 1, "close");
    places.go_here();
    places.expect_names(mode, {"a"});
    const int back = open("rb", nullptr);
    places.go_own();
    expect_content(back);
    require(sion_seek(back, me, 0, 0) == 1, "seek");
    std::vector<std::byte> found(1000);
    FILE* const stream = sion_get_fp(back);
    require(stream && std::fread(found.data(), 1, 1000, stream) == 1000 && found == content(me, 0, 1000),
            "fread");
    require(sion_parclose_mapped_mpi(back) == 1, "close after reading");
    places.go_here();
    places.expect_untouched(mode);
    places.empty();
  }
}

// The close makes buddy copies. An open must read a copy if the file is lost.
void buddies() {
  if (size < 2) return;
  const PlantedDirectories places;
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me < size / 2, me, &half);
  const auto open = [&](const char* mode) {
    ParallelOpenCall call;
    call.file = "a";
    call.mode = mode;
    call.files = -1;
    call.local = half;
    call.chunk = 1000;
    return call();
  };
  places.go_here();
  const int sid = open("wb,buddy");
  require(sid >= 0, "open");
  places.go_own();
  put(sid, 0, bytes);
  sheaf::test::close(sid);
  places.go_here();
  places.expect_names("buddy", {"a", "a.000001", "a_BUDDY_00", "a_BUDDY_00.000001"});
  if (me == 0) std::filesystem::remove("a.000001");
  MPI_Barrier(MPI_COMM_WORLD);
  const int back = open("rb,buddy");
  require(back >= 0, "open for reading");
  places.go_own();
  expect_content(back);
  sheaf::test::close(back);
  places.go_here();
  places.expect_untouched("buddy");
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  return run_all(argc, argv,
                 {{"writing and reading", writing_and_reading},
                  {"streams of programs and duplicates", streams_of_programs_and_duplicates},
                  {"appending", appending},
                  {"mapped", mapped},
                  {"buddies", buddies}});
}
