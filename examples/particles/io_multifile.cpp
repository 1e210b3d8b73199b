// Multifile restart: every task writes its own logical file; Sheaf stores them in one or a few physical
// files.
//
// Compare with io_tasklocal.cpp: fopen, fwrite and fclose are replaced by sion_paropen_mpi, sion_fwrite and
// sion_parclose_mpi. A chunk as large as the task's data keeps the data of each task contiguous.
#include <algorithm>
#include <cstddef>

#include "restart.hpp"
// sion.h must follow mpi.h, so that it declares the MPI calls.
#include "sion.h"

namespace particles {
namespace {

class MultifileWay : public RestartWay {
 public:
  MultifileWay(MPI_Comm world, int files) : world_(world), files_(files) {
    MPI_Comm_size(world, &tasks_);
    if (files_ <= 0) MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
  }
  ~MultifileWay() override {
    if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
  }
  MultifileWay(const MultifileWay&) = delete;
  MultifileWay& operator=(const MultifileWay&) = delete;

  std::string name() const override { return "multifile"; }
  std::string suffix() const override { return "sion"; }
  std::string first_file() const override { return "sion"; }

  bool write(const std::string& path, const RestartHeader& header,
             const std::vector<Particle>& particles) override {
    const auto bytes = static_cast<sion_int64>(sizeof header + particles.size() * sizeof(Particle));
    const int sid = open(path, "bw", files_ > 0 ? files_ : -1, bytes);
    if (sid < 0) return false;
    const bool ok = sion_fwrite(&header, sizeof header, 1, sid) == 1 &&
                    (particles.empty() || sion_fwrite(particles.data(), sizeof(Particle), particles.size(),
                                                      sid) == particles.size());
    return sion_parclose_mpi(sid) == SION_SUCCESS && ok;
  }

  bool read(const std::string& path, RestartPart& part) override {
    const int sid = open(path, "br", 1, 0);
    if (sid < 0) return false;
    RestartHeader& h = part.header;
    bool ok = get(sid, &h, sizeof h) && h.is_valid() && h.tasks == tasks_;
    if (ok) {
      part.particles.resize(static_cast<std::size_t>(h.count));
      ok = get(sid, part.particles.data(), part.particles.size() * sizeof(Particle)) && sion_feof(sid) == 1;
    }
    return sion_parclose_mpi(sid) == SION_SUCCESS && ok;
  }

 private:
  int open(const std::string& path, const char* mode, int files, sion_int64 chunk_size) const {
    sion_int32 block_size = -1;  // the block size of the file system
    int global_rank = 0;
    return sion_paropen_mpi(path.c_str(), mode, &files, world_, node_ == MPI_COMM_NULL ? &world_ : &node_,
                            &chunk_size, &block_size, &global_rank, nullptr, nullptr);
  }

  // Reads `bytes` bytes across chunk boundaries, because a task may have several chunks.
  static bool get(int sid, void* data, std::size_t bytes) {
    auto* at = static_cast<std::byte*>(data);
    while (bytes > 0) {
      if (sion_feof(sid) != 0) return false;
      const sion_int64 here = sion_bytes_avail_in_block(sid);
      if (here < 0) return false;
      const std::size_t n = std::min(bytes, static_cast<std::size_t>(here));
      if (n > 0 && sion_fread(at, 1, n, sid) != n) return false;
      at += n;
      bytes -= n;
    }
    return true;
  }

  MPI_Comm world_;
  MPI_Comm node_ = MPI_COMM_NULL;
  int files_;
  int tasks_ = 0;
};

}  // namespace

std::unique_ptr<RestartWay> multifile_way(MPI_Comm world, int files) {
  return std::make_unique<MultifileWay>(world, files);
}

}  // namespace particles
