// process_group: the members of a program that runs as real processes. With CAMPAIGN_MPI, each member is an
// MPI process. With CAMPAIGN_OMP, each member is a thread of a team. With both, each process has a team, and
// the members are the threads of all teams. With neither, there is one member.
#pragma once

#include <numeric>

#include "campaign/process_injection.hpp"
#include "campaign/sion_program.hpp"
#include "layout/placement.hpp"
#include "sheaf.h"
#include "sion.h"
#ifdef CAMPAIGN_MPI
#include <mpi.h>

#include "sion_mpi.h"
#endif
#ifdef CAMPAIGN_OMP
#include <omp.h>

#include "sion_omp.h"
#endif
#if defined(CAMPAIGN_MPI) && defined(CAMPAIGN_OMP)
#include "sion_ompi.h"
#endif

namespace sheaf::test::campaign {

using Bytes = std::vector<std::byte>;

// The MPI processes, or one process without CAMPAIGN_MPI.
struct Processes {
  int rank = 0, count = 1;

  static Processes start() {
    Processes found;
#ifdef CAMPAIGN_MPI
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &found.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &found.count);
#endif
    return found;
  }
  static void stop() {
#ifdef CAMPAIGN_MPI
    MPI_Finalize();
#endif
  }
  static bool any(bool mine) {
    int all = mine;
#ifdef CAMPAIGN_MPI
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
#endif
    return all != 0;
  }
  Bytes from(int process, Bytes mine) const {
#ifdef CAMPAIGN_MPI
    auto size = static_cast<int>(mine.size());
    MPI_Bcast(&size, 1, MPI_INT, process, MPI_COMM_WORLD);
    mine.resize(static_cast<size_t>(size));
    MPI_Bcast(mine.data(), size, MPI_BYTE, process, MPI_COMM_WORLD);
#else
    (void)process;
#endif
    return mine;
  }
};

// State that the members of one process share.
struct Team {
  Processes processes;
  const FailingCalls& failing;
  int threads = 1;
  bool said = false;
  Bytes bytes{};
};

class ProcessGroup final : public ProgramGroup {
 public:
  ProcessGroup(Team& team, int thread) : team_(team), thread_(thread) {}

  int rank() const override { return team_.processes.rank * team_.threads + thread_; }
  const Processes& processes() const { return team_.processes; }
  int members() const { return team_.processes.count * team_.threads; }
  void inside(bool now) override { team_.failing.inside(now); }

  bool any(bool mine) override {
    if (thread_ == 0) team_.said = false;
    meet();
#ifdef CAMPAIGN_OMP
#pragma omp critical
#endif
    team_.said |= mine;
    meet();
    if (thread_ == 0) team_.said = team_.processes.any(team_.said);
    meet();
    const bool all = team_.said;
    meet();
    return all;
  }

  Bytes from(int from, const Bytes& mine) override {
    meet();
    if (from == rank()) team_.bytes = mine;
    meet();
    if (thread_ == 0) team_.bytes = team_.processes.from(from / team_.threads, std::move(team_.bytes));
    meet();
    Bytes found = team_.bytes;
    meet();
    return found;
  }

  int open(const SionProgram& p, const std::string& path) override {
    is_mapped_ = p.open == SionProgram::OpenForm::mapped;
    is_async_ = p.async;
    const std::string mode = p.mode();
    sion_int32 block = 512;
    int rank = this->rank();
#if !defined(CAMPAIGN_MPI) && !defined(CAMPAIGN_OMP)
    // The memory of this program does not fail.
    std::vector<sion_int64> chunks(static_cast<size_t>(p.tasks_each), p.chunk);
    std::vector<int> ranks(chunks.size(), rank);
    std::iota(ranks.begin(), ranks.end(), 0);
#endif
    inside(true);
    int sid = -1;
#if defined(CAMPAIGN_MPI) && defined(CAMPAIGN_OMP)
    int files = std::min(p.files, team_.processes.count);
    sion_int64 chunk = p.chunk;
    MPI_Comm local = MPI_COMM_NULL;
    sid = sion_paropen_ompi(path.c_str(), mode.c_str(), &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank,
                            nullptr, nullptr);
#elif defined(CAMPAIGN_OMP)
    sion_int64 chunk = p.chunk;
    sid = sion_paropen_omp(path.c_str(), mode.c_str(), &chunk, &block, &rank, nullptr, nullptr);
#elif defined(CAMPAIGN_MPI)
    int files = p.files;
    sion_int64 chunk = p.chunk;
    MPI_Comm local = MPI_COMM_NULL;
    sid = is_mapped_ ? open_mapped(p, path)
                     : sion_paropen_mpi(path.c_str(), mode.c_str(), &files, MPI_COMM_WORLD, &local, &chunk,
                                        &block, &rank, nullptr, nullptr);
#else
    int ntasks = p.tasks_each, files = 1;
    sion_int64* chunk_table = chunks.data();
    int* rank_table = ranks.data();
    sid = sion_open(const_cast<char*>(path.c_str()), mode.c_str(), &ntasks, &files, &chunk_table, &block,
                    &rank_table, nullptr);
#endif
    inside(false);
    return sid;
  }

  int close(int sid) override {
    if (is_async_) return save(sid);
    inside(true);
#if defined(CAMPAIGN_MPI) && defined(CAMPAIGN_OMP)
    const int closed = sion_parclose_ompi(sid);
#elif defined(CAMPAIGN_OMP)
    const int closed = sion_parclose_omp(sid);
#elif defined(CAMPAIGN_MPI)
    const int closed = is_mapped_ ? sion_parclose_mapped_mpi(sid) : sion_parclose_mpi(sid);
#else
    const int closed = sion_close(sid);
#endif
    inside(false);
    return closed;
  }

 private:
  int save(int sid) {
    inside(true);
    sheaf_save* const handle = sheaf_parclose_async(sid);
    const bool is_durable = handle && sheaf_save_wait(handle, SHEAF_SAVE_DURABLE) == 1;
    sheaf_save_free(handle);
    inside(false);
    return is_durable ? SION_SUCCESS : SION_NOT_SUCCESS;
  }
  void meet() const {
#ifdef CAMPAIGN_OMP
#pragma omp barrier
#endif
  }
#if defined(CAMPAIGN_MPI) && !defined(CAMPAIGN_OMP)
  int open_mapped(const SionProgram& p, const std::string& path) const {
    int files = p.files, mine = p.tasks_each;
    sion_int32 block = 512;
    std::vector<int> ranks, numbers, places;
    for (int t = rank() * mine; t < (rank() + 1) * mine; ++t) {
      const auto place = layout::place_blockwise(t, p.ntasks(), p.files);
      ranks.push_back(t);
      numbers.push_back(place.file);
      places.push_back(place.local_rank);
    }
    std::vector<sion_int64> chunks(ranks.size(), p.chunk);
    int *rank_table = ranks.data(), *number_table = numbers.data(), *place_table = places.data();
    sion_int64* chunk_table = chunks.data();
    return sion_paropen_mapped_mpi(const_cast<char*>(path.c_str()), p.mode().c_str(), &files, MPI_COMM_WORLD,
                                   &mine, &rank_table, &chunk_table, &number_table, &place_table, &block,
                                   nullptr);
  }
#endif

  Team& team_;
  const int thread_;
  bool is_mapped_ = false, is_async_ = false;
};

}  // namespace sheaf::test::campaign
