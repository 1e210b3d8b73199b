// Tests the generic calls with callbacks that connect processes by sockets. Tests plain and mapped opens,
// failing callbacks, and processes that die in the middle of a callback.
#include <gtest/gtest.h>

#include "api/api_fixture.hpp"
#include "support/process_callbacks.hpp"

namespace sheaf::test::generic_process_test {
namespace {

constexpr int not_told = 50;

int64_t length_of(int task) { return 300 + 70 * task; }

class GenericProcesses : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    char name[] = "processes";
    aid_ = sion_generic_create_api(name);
    sion_generic_register_create_local_commgroup_cb(aid_, sock_create);
    sion_generic_register_free_local_commgroup_cb(aid_, sock_free);
    sion_generic_register_barrier_cb(aid_, sock_barrier);
    sion_generic_register_bcastr_cb(aid_, sock_bcastr);
    sion_generic_register_gatherr_cb(aid_, sock_gatherr);
    sion_generic_register_gathervr_cb(aid_, sock_gathervr);
    sion_generic_register_scatterr_cb(aid_, sock_scatterr);
    sion_generic_register_scattervr_cb(aid_, sock_scattervr);
  }
  void TearDown() override {
    EXPECT_EQ(sion_generic_free_api(aid_), 1);
    Api::TearDown();
  }

  // Opens a set of files. The tasks are distributed round robin over the files.
  int open(SocketEnd& end, const char* name, const char* mode, int files) {
    sion_int64 chunk = 100;
    sion_int32 block = 64;
    int filenumber = end.rank % files;
    int numfiles = files;
    const int lrank = end.rank / files;
    const int lsize = (end.size() - filenumber + files - 1) / files;
    return sion_generic_paropen(aid_, path(name).c_str(), mode, &chunk, &block, &end, end.rank, end.size(),
                                &filenumber, &numfiles, &lrank, &lsize, nullptr, nullptr);
  }

  static bool put(int sid, int task) {
    const auto data = content(task, 0, length_of(task));
    return sion_fwrite(data.data(), 1, data.size(), sid) == data.size();
  }
  static bool holds(int sid, int task) {
    std::vector<std::byte> found(static_cast<size_t>(length_of(task)) + 5);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    return found == content(task, 0, length_of(task));
  }

  // write() and read() return the exit status of a process: 0 for success, else the number of the step that
  // failed.
  int write(SocketEnd& end, const char* name, int files) {
    const int sid = open(end, name, "wb", files);
    if (sid < 0) return 1;
    if (!put(sid, end.rank)) return 2;
    return sion_generic_parclose(sid) == 1 ? 0 : 3;
  }
  int read(SocketEnd& end, const char* name, int files) {
    const int sid = open(end, name, "rb", files);
    if (sid < 0) return 4;
    if (!holds(sid, end.rank)) return 5;
    return sion_generic_parclose(sid) == 1 ? 0 : 6;
  }

  // Process p of P has the tasks p, p+P, ... The first half of the tasks is in file 0.
  int write_mapped(SocketEnd& end, const char* name, int tasks) {
    std::vector<int> ranks, files, places;
    std::vector<sion_int64> chunks;
    for (int t = end.rank; t < tasks; t += end.size()) {
      ranks.push_back(t);
      chunks.push_back(100);
      files.push_back(t >= tasks / 2);
      places.push_back(t % (tasks / 2));
    }
    int n = static_cast<int>(ranks.size());
    int nfiles = 2;
    sion_int32 block = 64;
    int *r = ranks.data(), *f = files.data(), *p = places.data();
    sion_int64* c = chunks.data();
    const int sid = sion_generic_paropen_mapped(aid_, path(name).data(), "wb", &nfiles, &end, end.rank,
                                                end.size(), &n, &r, &c, &f, &p, &block, nullptr);
    if (sid < 0) return 1;
    for (const int t : ranks)
      if (sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) != 1 || !put(sid, t)) return 2;
    return sion_generic_parclose_mapped(sid) == 1 ? 0 : 3;
  }
  int read_mapped(SocketEnd& end, const char* name, int tasks) {
    int n = -1;
    int nfiles = 0;
    sion_int32 block = 0;
    int *r = nullptr, *f = nullptr, *p = nullptr;
    sion_int64* c = nullptr;
    const int sid = sion_generic_paropen_mapped(aid_, path(name).data(), "rb", &nfiles, &end, end.rank,
                                                end.size(), &n, &r, &c, &f, &p, &block, nullptr);
    if (sid < 0) return 4;
    for (int i = 0; i < n; ++i)
      if (f[i] != (r[i] >= tasks / 2) || sion_seek(sid, r[i], 0, 0) != 1 || !holds(sid, r[i])) return 5;
    for (void* array :
         {static_cast<void*>(r), static_cast<void*>(f), static_cast<void*>(p), static_cast<void*>(c)})
      std::free(array);
    return sion_generic_parclose_mapped(sid) == 1 && nfiles == 2 ? 0 : 6;
  }

  // Returns whether the multifile is complete and holds all bytes of every task.
  bool complete(const char* name, int tasks) {
    const int sid = Api::open(path(name));
    bool good = sid >= 0;
    for (int t = 0; good && t < tasks; ++t) good = sion_seek(sid, t, 0, 0) == 1 && holds(sid, t);
    if (sid >= 0) sion_close(sid);
    return good;
  }

  int aid_ = -1;
};

TEST_F(GenericProcesses, WriteAndRead) {
  for (const auto& [tasks, files] : {std::pair{1, 1}, {4, 1}, {4, 2}, {5, 3}}) {
    const auto statuses = on_processes(tasks, 30, [&, n = files](SocketEnd& end) {
      const int status = write(end, "set", n);
      return status ? status : read(end, "set", n);
    });
    EXPECT_EQ(statuses, std::vector<int>(static_cast<size_t>(tasks), 0))
        << tasks << " processes, " << files << " files";
    EXPECT_TRUE(complete("set", tasks));
  }
}

TEST_F(GenericProcesses, MappedByOtherNumbersOfProcesses) {
  for (const auto& [writers, readers] : {std::pair{1, 3}, {3, 1}, {2, 5}, {8, 2}}) {
    EXPECT_EQ(on_processes(writers, 30, [&](SocketEnd& end) { return write_mapped(end, "set", 6); }),
              std::vector<int>(static_cast<size_t>(writers), 0));
    EXPECT_TRUE(complete("set", 6));
    EXPECT_EQ(on_processes(readers, 30, [&](SocketEnd& end) { return read_mapped(end, "set", 6); }),
              std::vector<int>(static_cast<size_t>(readers), 0));
  }
  SocketEnd alone{0, {-1}};
  EXPECT_NE(write_mapped(alone, "no/such/directory", 2), 0);
  int none = -1;
  EXPECT_EQ(sion_generic_paropen_mapped(-1, path("a").data(), "rb", &none, &alone, 0, 1, &none, nullptr,
                                        nullptr, nullptr, nullptr, nullptr, nullptr),
            -1)
      << "no such API";
  EXPECT_EQ(sion_generic_parclose_mapped(-1), -1);
  const int plain = open(alone, "plain", "wb", 1);
  EXPECT_EQ(sion_generic_parclose_mapped(plain), 0) << "not opened mapped";
  EXPECT_EQ(sion_generic_parclose(plain), 1);
}

char* name_with_number(const char* fname, int number) {
  const std::string name = number == 0 ? fname : std::string(fname) + "-" + std::to_string(number);
  return strdup(name.c_str());
}

TEST_F(GenericProcesses, MappedFilesNamedByTheProgram) {
  EXPECT_EQ(sion_generic_register_get_multi_filename_cb(aid_, name_with_number), 0);
  EXPECT_EQ(on_processes(2, 30, [&](SocketEnd& end) { return write_mapped(end, "set", 6); }),
            (std::vector<int>{0, 0}));
  EXPECT_TRUE(std::filesystem::exists(path("set-1")));
  EXPECT_FALSE(std::filesystem::exists(path("set.000001")));
  EXPECT_EQ(on_processes(3, 30, [&](SocketEnd& end) { return read_mapped(end, "set", 6); }),
            (std::vector<int>{0, 0, 0}));
}

// In each run, one callback call fails on one task. That task must return an error if at least 8 more of its
// callback calls follow. If all tasks succeed, the multifile must be complete. No task may hang: a status of
// -1 means that the alarm ended its process.
TEST_F(GenericProcesses, AFailingCallbackHangsNobody) {
  for (const int failing : {0, 2})
    for (int at = 0; at < 200; at += at < 40 ? 1 : 9) {
      const auto statuses = on_processes(3, 20, [&](SocketEnd& end) {
        if (end.rank == failing) end.fail_at = at;
        const int status = write(end, "set", 1);
        if (end.rank != failing) return status;
        return end.calls <= at ? died : status == 0 && end.calls > at + 8 ? not_told : status;
      });
      if (statuses[static_cast<size_t>(failing)] == died) break;  // the program made fewer than `at` calls
      for (const int status : statuses)
        EXPECT_GE(status, 0) << "call " << at << " of task " << failing << " hangs somebody";
      EXPECT_NE(statuses[static_cast<size_t>(failing)], not_told) << "call " << at << " of task " << failing;
      if (statuses != std::vector<int>{0, 0, 0}) continue;
      EXPECT_TRUE(complete("set", 3))
          << "nobody was told that call " << at << " of task " << failing << " had failed";
    }
}

// One process dies in a callback. The callbacks of the other processes then fail, at different times. Each of
// the other processes must return an error, unless the multifile is complete.
TEST_F(GenericProcesses, ADyingProcessHangsNobody) {
  for (const int dying : {0, 2})
    for (int at = 0; at < 400; at += 7) {
      std::filesystem::remove(path("set"));
      const auto statuses = on_processes(3, 20, [&](SocketEnd& end) {
        if (end.rank == dying) end.die_at = at;
        return write(end, "set", 1);
      });
      if (statuses[static_cast<size_t>(dying)] != died) break;
      for (size_t r = 0; r < 3; ++r) {
        if (static_cast<int>(r) == dying) continue;
        EXPECT_TRUE(statuses[r] == 1 || statuses[r] == 3 || (statuses[r] == 0 && complete("set", 3)))
            << "task " << r << " returned " << statuses[r] << " when task " << dying << " died in call "
            << at;
      }
    }
}

}  // namespace
}  // namespace sheaf::test::generic_process_test
