// differential SEED COUNT DIRECTORY LOG [FIRST]: runs COUNT random cases of views, memory and calls. Writes
// one line per case: a digest of all results of MPI-IO (classes, counts, positions, sizes, memory, the file
// at the end). The logs must be the same with the MPI library's own I/O, with the drop-in, and with
// DIFFERENTIAL_MODEL=1 (test_differential.py). The model transfers unit by unit with pread and pwrite, at the
// offsets of the MPI library's MPI_File_get_byte_offset, and packs with MPI_Pack. The model exists because
// the I/O of some MPI libraries has errors.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cases.hpp"

using cases::pick;
using cases::Random;
using cases::TransferMemory;

namespace {

bool verbose = false;
bool model = false;
int rank = 0;
int tasks = 1;

struct Digest {
  uint64_t value = 1469598103934665603u;
  void add(const void* bytes, size_t length) {
    for (size_t i = 0; i < length; ++i)
      value = (value ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211u;
  }
  void add(int64_t number, const char* what) {
    if (verbose) std::printf("  [%d] %s %lld\n", rank, what, static_cast<long long>(number));
    add(&number, sizeof number);
  }
  void memory(const TransferMemory& memory) {
    Digest one;
    one.add(memory.bytes.data(), memory.bytes.size());
    add(static_cast<int64_t>(one.value), "memory");
  }
};

class DifferentialCase {
 public:
  DifferentialCase(uint64_t seed, uint64_t number, const std::string& path)
      : shared_(seed * 1000003 + number),
        own_((seed * 1000003 + number) * 977 + static_cast<uint64_t>(rank) + 1),
        path_(path) {}

  uint64_t run() {
    MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file_);
    unit_ = cases::elementary(shared_);
    new_view();
    for (int i = pick(shared_, 2, 7); i > 0; --i) step();
    MPI_Offset size = 0;
    MPI_File_sync(file_);  // the size is read below, and other tasks have written (MPI 3.1, 13.6.7)
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file_);
    MPI_File_get_size(file_, &size);
    digest_.add(size, "final size");
    MPI_File_close(&file_);
    MPI_Type_free(&view_);
    MPI_Type_free(&unit_);
    if (rank == 0) {
      const std::string all = whole_file();
      Digest contents;
      contents.add(all.data(), all.size());
      digest_.add(static_cast<int64_t>(contents.value), "file");
    }
    uint64_t joined = 0;
    const uint64_t mine = digest_.value * (2 * static_cast<uint64_t>(rank) + 1);
    MPI_Reduce(&mine, &joined, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    return joined;
  }

 private:
  // Returns the contents of the file and removes it.
  std::string whole_file() const {
    if (!path_.starts_with("sfio:")) {
      std::ifstream in(path_, std::ios::binary);
      std::string all((std::istreambuf_iterator<char>(in)), {});
      std::remove(path_.c_str());
      return all;
    }
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_Offset size = 0;
    MPI_File_get_size(file, &size);
    std::string all(static_cast<size_t>(size), '?');
    MPI_File_read_at(file, 0, all.data(), static_cast<int>(size), MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return all;
  }

  void new_view() {
    if (view_ != MPI_DATATYPE_NULL) MPI_Type_free(&view_);
    view_ = cases::file_type(shared_, own_, rank, tasks, unit_);
    const MPI_Offset displacement = pick(shared_, 0, 3) ? pick(shared_, 0, 5000) : 0;
    MPI_File_set_view(file_, displacement, unit_, view_, "native", MPI_INFO_NULL);
    position_ = 0;
  }

  int units() {
    const int most = pick(shared_, 0, 3) ? 120 : 3000;
    return pick(own_, 0, 6) == 0 ? 0 : pick(own_, 1, most);
  }

  MPI_Offset units_of(const TransferMemory& memory) const {
    return memory.count * cases::size_of(memory.type) / cases::size_of(unit_);
  }

  // Records the status of a call and the resulting position.
  void done(bool by_pointer, const MPI_Status& status, const TransferMemory& memory) {
    int count = memory.count;
    if (!model && memory.count > 0)
      MPI_Get_count(&status, memory.type, &count);  // libraries differ in the status of an empty transfer
    digest_.add(count, "count");
    if (by_pointer) position_ += units_of(memory);
  }

  void play(const TransferMemory& memory, MPI_Offset at, bool writes) {
    const auto unit = static_cast<size_t>(cases::size_of(unit_));
    std::vector<unsigned char> packed(static_cast<size_t>(units_of(memory)) * unit + 1);
    const int length = static_cast<int>(packed.size());
    int used = 0;
    const int file = open(path_.c_str(), O_RDWR);
    if (writes)
      MPI_Pack(memory.address, memory.count, memory.type, packed.data(), length, &used, MPI_COMM_WORLD);
    for (MPI_Offset i = 0; i < units_of(memory); ++i) {
      MPI_Offset place = 0;
      MPI_File_get_byte_offset(file_, at + i, &place);
      unsigned char* const bytes = packed.data() + static_cast<size_t>(i) * unit;
      const ssize_t moved = writes ? pwrite(file, bytes, unit, place) : pread(file, bytes, unit, place);
      if (moved != static_cast<ssize_t>(unit)) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    close(file);
    if (!writes)
      MPI_Unpack(packed.data(), length, &used, memory.address, memory.count, memory.type, MPI_COMM_WORLD);
  }

  void step() {
    const int kind = pick(shared_, 0, 19);
    if (kind == 0) return new_view();
    if (kind == 1) return seek();
    if (kind == 2) return resize();
    if (kind == 3) return ask();
    if (kind < 13) return write(kind);
    read(kind);
  }

  void seek() {
    position_ = pick(own_, 0, 200);
    if (!model) MPI_File_seek(file_, position_, MPI_SEEK_SET);
    if (pick(shared_, 0, 1)) {
      if (!model) MPI_File_seek(file_, 5, MPI_SEEK_CUR);
      position_ += 5;
    }
    told();
  }

  void told() {
    MPI_Offset where = position_;
    if (!model) MPI_File_get_position(file_, &where);
    digest_.add(where, "position");
  }

  void resize() {
    MPI_Barrier(MPI_COMM_WORLD);
    digest_.add(MPI_File_set_size(file_, pick(shared_, 0, 40000)), "set_size");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void ask() {
    MPI_Offset place = -1;
    MPI_File_get_byte_offset(file_, pick(own_, 0, 500), &place);
    digest_.add(place, "byte offset");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file_, &place);
    digest_.add(place, "size");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void write(int kind) {
    TransferMemory memory(own_, units(), unit_);
    for (auto& byte : memory.bytes) byte = static_cast<unsigned char>(own_());
    MPI_Status status{};
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Offset at = pick(own_, 0, 300);
    unsigned char* const b = memory.address;
    int result = MPI_SUCCESS;
    const bool by_pointer = kind == 6 || kind == 7;
    if (model) {
      play(memory, by_pointer ? position_ : at, true);
    } else
      switch (kind) {
        case 4:
          result = MPI_File_write_at(file_, at, b, memory.count, memory.type, &status);
          break;
        case 5:
          result = MPI_File_iwrite_at(file_, at, b, memory.count, memory.type, &request);
          MPI_Wait(&request, &status);
          break;
        case 6:
          result = MPI_File_write(file_, b, memory.count, memory.type, &status);
          break;
        case 7:
          result = MPI_File_write_all(file_, b, memory.count, memory.type, &status);
          break;
        case 8:
          result = MPI_File_iwrite_at_all(file_, at, b, memory.count, memory.type, &request);
          MPI_Wait(&request, &status);
          break;
        case 9:
          result = MPI_File_write_at_all_begin(file_, at, b, memory.count, memory.type);
          MPI_File_write_at_all_end(file_, b, &status);
          break;
        default:
          result = MPI_File_write_at_all(file_, at, b, memory.count, memory.type, &status);
      }
    digest_.add(result, "write");
    done(by_pointer, status, memory);
    told();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void read(int kind) {
    TransferMemory memory(own_, units(), unit_);
    MPI_Status status{};
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Offset at = pick(own_, 0, 300);
    // Grows the file before the read, because libraries differ in reads beyond the end of the file.
    grow(memory, at);
    unsigned char* const b = memory.address;
    int result = MPI_SUCCESS;
    const bool by_pointer = kind == 15 || kind == 16;
    if (model) {
      play(memory, by_pointer ? position_ : at, false);
    } else
      switch (kind) {
        case 13:
          result = MPI_File_read_at(file_, at, b, memory.count, memory.type, &status);
          break;
        case 14:
          result = MPI_File_iread_at(file_, at, b, memory.count, memory.type, &request);
          MPI_Wait(&request, &status);
          break;
        case 15:
          result = MPI_File_read(file_, b, memory.count, memory.type, &status);
          break;
        case 16:
          result = MPI_File_read_all(file_, b, memory.count, memory.type, &status);
          break;
        case 17:
          result = MPI_File_iread_at_all(file_, at, b, memory.count, memory.type, &request);
          MPI_Wait(&request, &status);
          break;
        case 18:
          result = MPI_File_read_at_all_begin(file_, at, b, memory.count, memory.type);
          MPI_File_read_at_all_end(file_, b, &status);
          break;
        default:
          result = MPI_File_read_at_all(file_, at, b, memory.count, memory.type, &status);
      }
    digest_.add(result, "read");
    done(by_pointer, status, memory);
    digest_.memory(memory);
    told();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void grow(const TransferMemory& memory, MPI_Offset at) {
    MPI_Offset ends[2] = {0, 0};
    MPI_File_get_byte_offset(file_, std::max(position_, at) + units_of(memory) + 1, &ends[0]);
    MPI_Allreduce(&ends[0], &ends[1], 1, MPI_OFFSET, MPI_MAX, MPI_COMM_WORLD);
    MPI_Offset size = 0;
    MPI_File_get_size(file_, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (size < ends[1] + 64) MPI_File_set_size(file_, ends[1] + 64);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  Random shared_;
  Random own_;
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Datatype unit_ = MPI_DATATYPE_NULL;
  MPI_Datatype view_ = MPI_DATATYPE_NULL;
  MPI_Offset position_ = 0;
  Digest digest_;
};

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  const char* const threads = std::getenv("DIFFERENTIAL_THREADS");
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  if (argc < 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const uint64_t first = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 0;
  verbose = std::getenv("DIFFERENTIAL_VERBOSE") != nullptr;
  model = std::getenv("DIFFERENTIAL_MODEL") != nullptr;
  std::FILE* const log = rank == 0 ? std::fopen(argv[4], "w") : nullptr;
  for (uint64_t i = first; i < first + count; ++i) {
    const uint64_t digest = DifferentialCase(seed, i, std::string(argv[3]) + "/case").run();
    if (log) {
      std::fprintf(log, "%llu %016llx\n", static_cast<unsigned long long>(i),
                   static_cast<unsigned long long>(digest));
      std::fflush(log);  // shows the progress if a slow run is stopped
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (log) std::fclose(log);
  MPI_Finalize();
  return 0;
}
